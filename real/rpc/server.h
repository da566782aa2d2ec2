#pragma once

#include <cstdint>
#include <memory>

#include "core/master/effects.h"
#include "proto/codec.h"
#include "real/rpc/handshake.h"
#include "real/rpc/link_config.h"
#include "real/rpc/loop.h"
#include "real/rpc/socket.h"

namespace larder::real {

// One control connection of a master, never given twice.
struct CallerId {
  std::uint64_t value = 0;
  auto operator<=>(const CallerId&) const = default;
};

class RequestHandler {
 public:
  // Its answers are expected under `ticket`: answer_count(request) of them, now or later.
  virtual void request(Ticket ticket, CallerId caller, DecodedRequest request) = 0;
  // Answers to what it had asked are dropped from now on.
  virtual void caller_gone(CallerId caller) = 0;

 protected:
  ~RequestHandler() = default;
};

struct ServerConfig {
  PipeLimits limits;
  std::size_t unanswered_max = 4096;  // of one caller; a request beyond it is refused as busy
};

// A master's side of its control connections. Requests are decoded and handed over in the order in
// which they come; answers go out in any order, and in parts. A message that cannot be decoded is
// refused by itself, bytes that are no frame end the connection; each with at most one line in the
// log for each second. Confined to its loop.
class Server final : public AnswerSink {
 public:
  Server(Loop& loop, ServerConfig config, RequestHandler& handler);
  ~Server();

  // Serves a connection whose handshake is done (Doors::enter).
  void adopt(Socket socket, Hello hello);

  // Of the master that answers; part of every reply.
  void set_epoch(Epoch epoch);
  // Kept until flush(), so that what the master wants recorded can be made durable before. Answers
  // to tickets that are gone are dropped.
  void answer(Ticket ticket, std::uint32_t index, const Answer& answer) override;
  // Sends what was answered since the last call.
  void flush();
  // Answers every item of a request with this error, at once.
  void refuse(Ticket ticket, const Error& error);
  // To a node, over the connection on which it has registered; dropped if that is gone.
  void command(CallerId caller, const Command& command);

  // A ticket for requests that the handler makes itself, such as pieces of a long one. Answers to
  // it must not reach this sink.
  Ticket new_ticket();
  std::size_t callers() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larder::real
