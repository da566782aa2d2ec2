#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "sim/fabric/network.h"

namespace larder::sim {

// A TCP-like connection between two processes: what one end sends arrives once and in order, and
// what the network loses is sent again, until the connection ends. It ends when an end closes it (a
// process that dies closes it too), or for an end whose message has not arrived for `give_up`. An
// end that has closed hears nothing any more; the other one first hears what was sent before.
// A message that arrives broken ends it at the receiver, who closes it. Behind a blocked route an
// end does not learn that the other one is gone.
//
// Held by shared pointers; it also holds itself while something is on its way, and what `deliver`
// captures, which may be the connection: Network::drop_all() undoes that.
class Connection final : public std::enable_shared_from_this<Connection>,
                         private Network::Droppable {
 public:
  enum class End : std::uint8_t { caller = 0, acceptor = 1 };
  struct Settings {
    Duration retry{20'000'000};  // before a lost message is sent again; doubled each time
    Duration retry_max{500'000'000};
    Duration give_up{4'000'000'000};
  };

  // `route` leads from the caller to the acceptor.
  Connection(Kernel& kernel, Network& network, Route route, const Settings& settings)
      : kernel_(kernel), network_(network), route_(route), settings_(settings) {
    network.add(*this);
  }

  // Calls deliver() at the other end. Nothing happens if this end has closed.
  void send(End from, Bytes size, std::uint32_t label, std::function<void()> deliver);
  // Nothing happens if it has closed already. Its own on_close is not called.
  void close(End by);
  bool open(End end) const { return side(end).open; }

  // Called once when `end` learns that the connection has ended, unless it closed it itself.
  void on_close(End end, std::function<void()> told) { side(end).told = std::move(told); }

 private:
  struct Message {
    Bytes size;
    std::uint32_t label = 0;
    std::function<void()> deliver;  // empty: the end of the stream
    Instant sent{};
    std::uint32_t tries = 0;
    bool arrived = false;
  };
  struct Side {
    bool open = true;
    std::function<void()> told;
    std::deque<Message> sent;  // not delivered yet
    std::uint64_t first = 0;   // the number of the first of them
  };

  static End other(End end) { return end == End::caller ? End::acceptor : End::caller; }
  Side& side(End end) { return sides_[static_cast<std::size_t>(end)]; }
  const Side& side(End end) const { return sides_[static_cast<std::size_t>(end)]; }

  std::vector<std::function<void()>> drop() override;
  void enqueue(End from, Message message);
  void transmit(End from, std::uint64_t number);
  void retry(End from, std::uint64_t number);
  void arrive(End from, std::uint64_t number);
  void arrive_corrupted(End from);
  void end(End at);

  Kernel& kernel_;
  Network& network_;
  Route route_;
  Settings settings_;
  std::array<Side, 2> sides_;
};

}  // namespace larder::sim
