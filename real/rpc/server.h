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
  // Its answers are expected under `ticket`: answer_count(request) of them, now or later. `frame`:
  // the body of its frame as it came, valid during the call.
  virtual void request(Ticket ticket, CallerId caller, DecodedRequest request,
                       FrameBytes frame) = 0;
  // Answers to what it had asked are dropped from now on.
  virtual void caller_gone(CallerId caller) = 0;

 protected:
  ~RequestHandler() = default;
};

struct ServerConfig {
  PipeLimits limits;
  std::size_t unfinished_bytes_max = std::size_t{64} << 20;  // of all frames (UnfinishedFrames)
  std::size_t callers_max = 16'384;                          // more are refused (Doors::admits)
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

  // Connections that were given up since unfinished frames took too much memory.
  std::uint64_t given_up() const;
  // Whether there is room for one more connection. Errors: busy.
  Status has_room() const;
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
  // The same, and then ends the caller's connection: no peer of ours asks for that.
  void expel(Ticket ticket, const Error& error);
  // The handler keeps the request until release(): it counts as what waits on its connection
  // (PipeLimits::pause_at). Its last answer releases it too.
  void hold(Ticket ticket);
  void release(Ticket ticket);
  // To a node, over the connection on which it has registered; dropped if that is gone.
  void command(CallerId caller, const Command& command);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larder::real
