#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/error.h"
#include "core/base/time.h"
#include "real/rpc/handshake.h"
#include "real/rpc/loop.h"
#include "real/rpc/socket.h"

namespace larder::real {

// Takes over connections whose handshake is done. Called on the listener's loop.
class Doors {
 public:
  // Errors, which the peer is told: busy (as many as may be have entered); anything else: this
  // process has no such door. An unknown role is asked for too.
  virtual Status admits(Role role) const = 0;
  virtual void enter(Role role, Socket socket, Hello hello) = 0;
  // Of a connection whose first bytes are no handshake: it is taken over, with `socket` moved from,
  // or it is closed.
  virtual bool enter_other(Socket& /*socket*/, std::string_view /*first*/) { return false; }

 protected:
  ~Doors() = default;
};

struct GuestsConfig {
  Duration deadline = std::chrono::seconds(2);  // a peer that says nothing for so long goes
  std::size_t max = 1024;                       // at once
};

// Connections that have come and not said yet what they want. Whoever does not begin with a good
// handshake, or with something else that the doors take, is closed. A newcomer always gets in:
// where there are as many as may be, the one that has been silent for longest makes way for it.
// Confined to its loop.
class Guests {
 public:
  Guests(Loop& loop, GuestsConfig config, Doors& doors);
  ~Guests();  // closes all of them
  Guests(const Guests&) = delete;
  Guests& operator=(const Guests&) = delete;

  void welcome(Socket socket);
  // Closes the one that came first. False: there is none.
  bool give_up_oldest();

  std::size_t size() const;
  std::uint64_t came_too_late() const;  // closed since they did not say in time what they want
  std::uint64_t made_way() const;       // closed for newcomers

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace larder::real
