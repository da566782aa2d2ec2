#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "core/master/master.h"
#include "real/daemon/recorder.h"
#include "real/daemon/request_times.h"
#include "real/daemon/state_directory.h"
#include "real/http/http_server.h"
#include "real/rpc/listener.h"
#include "real/rpc/loop.h"
#include "real/rpc/server.h"

namespace larder::real {

struct MasterOptions {
  Endpoint listen{.host = "127.0.0.1", .port = 7700};
  MasterConfig config;
  std::optional<std::filesystem::path> state_directory;
  // The master then works on its own only inside `quiesce`, and no clock decides about its nodes.
  RecordOptions record;
  bool lock_step = false;
  Epoch epoch_after;  // an operator's word: this master's epoch is higher than that
};

// The core's master behind a listening port: it decodes, keeps the time, makes records durable
// before the answers that depend on them go out, and sends commands to their nodes. Everything runs
// on the one thread of its loop.
class MasterDaemon final : Doors, RequestHandler, AnswerSink, HttpPages {
 public:
  // Called at most once, from the loop, when the master cannot go on: epoch_superseded (naming the
  // newer epoch), or the error of the state directory. It answers nothing from then on.
  using Ended = std::move_only_function<void(Error)>;

  // Listens when it returns. Errors: of the configuration, the state directory and the port.
  static Result<std::unique_ptr<MasterDaemon>> make(Loop& loop, MasterOptions options, Ended ended);
  ~MasterDaemon();

  Endpoint endpoint() const { return listener_->endpoint(); }
  // For whoever exports them.
  const RequestTimes& times() const { return times_; }

 private:
  struct NodeCall {  // a node's registration over one of the connections
    CallerId caller;
    IncarnationId incarnation;
    std::uint64_t registration = 0;
  };
  // A long call, which is served in pieces so that others are served in between.
  struct LongCall {
    Ticket ticket = 0;
    CallerId caller;
    Time arrived;
    DecodedRequest decoded;
    std::size_t done = 0;
  };

  MasterDaemon(Loop& loop, MasterOptions options, Ended ended);
  Status start();

  Status admits(Role role) const override;
  void enter(Role role, Socket socket, Hello hello) override;
  bool enter_other(Socket& socket, std::string_view first) override;
  HttpAnswer page(std::string_view path) override;
  void request(Ticket ticket, CallerId caller, DecodedRequest decoded, FrameBytes frame) override;
  void caller_gone(CallerId caller) override;
  void answer(Ticket ticket, std::uint32_t index, const Answer& answer) override;

  // A call, its time and the frame that it came in; empty: recorded when it was opened.
  void apply(Ticket ticket, const Request& request, Time arrived, Piece piece, FrameBytes frame);
  void begin_slot();
  StatusReport::Recording recording() const;
  void log_node(const NodeEvent& event);
  void serve_pieces();
  void serve_piece();
  void tick();
  void carry_out();
  void set_alarm();
  void send(const Command& command);
  void end(Error error);

  Loop& loop_;
  MasterOptions options_;
  Ended ended_;
  bool over_ = false;
  std::optional<StateDirectory> state_;
  std::unique_ptr<Master> master_;
  Server server_;
  HttpServer http_;
  MasterEffects effects_;
  RequestTimes times_;
  std::unique_ptr<Recorder> recorder_;  // null: nothing is recorded
  Alarm alarm_;
  Time alarm_at_ = time_never;

  std::optional<NodeCall> registering_;  // during its apply()
  Ticket registering_ticket_ = 0;
  std::map<CallerId, NodeCall> node_calls_;
  std::map<IncarnationId, CallerId> node_callers_;

  std::deque<LongCall> long_calls_;
  bool piece_posted_ = false;

  std::unique_ptr<Listener> listener_;  // the last to come and the first to go
};

}  // namespace larder::real
