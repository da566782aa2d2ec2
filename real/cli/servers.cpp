#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "core/base/size_text.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/logging.h"
#include "real/cli/pool_options.h"
#include "real/cli/server_options.h"
#include "real/daemon/loop_thread.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace larder::real {
namespace {

struct ServerFlags {
  bool json = false;
  std::string log_level = "info";
};

void add_server_flags(CLI::App& command, ServerFlags& flags) {
  add_log_option(command, flags.log_level);
  command.add_flag("--json", flags.json,
                   "When ready, print one line {endpoint, pid} instead of the endpoint alone");
}

// One connection of each client and node is one descriptor.
void allow_many_connections() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Status say_ready(const Endpoint& endpoint, const ServerFlags& flags) {
  const std::string text = to_string(endpoint);
  return terminal::print(flags.json ? to_line({{"endpoint", text}, {"pid", ::getpid()}})
                                    : text + "\n");
}

// The parts of a server process, each on a thread of its own; made in the order in which they stand
// and destroyed in the opposite one, when no thread runs any more.
class ServerProcess {
 public:
  explicit ServerProcess(ServerFlags flags) : flags_(std::move(flags)) {
    start_logging(flags_.log_level);
    allow_many_connections();
    std::signal(SIGPIPE, SIG_IGN);  // whoever read the log may go
  }
  ~ServerProcess() {
    node_thread_.stop();
    master_thread_.stop();
  }

  Status add_master(const MasterFlags& flags) {
    LARDER_TRY(const MasterOptions options, flags.options());
    spdlog::info("{}", to_text(options));
    if (!options.state_directory) {
      spdlog::warn(
          "without --state-dir, what was removed may return after a restart of the master");
    }
    LARDER_TRY(master_, MasterDaemon::make(master_thread_.loop(), options,
                                           [this](Error error) { stop_.fail(std::move(error)); }));
    master_thread_.start("master", stop_);
    return {};
  }

  // Says that the process is ready, with `endpoint` or its own, when the master has taken it in.
  Status add_node(const NodeFlags& flags, const std::string& master,
                  std::optional<Endpoint> endpoint) {
    LARDER_TRY(const NodeOptions options, flags.options(master));
    spdlog::info("{}", to_text(options));
    terminal::ProgressBar bar({.title = "memory"});
    const auto progress = [&](Bytes done) {
      bar.show(static_cast<double>(done.value) / static_cast<double>(options.memory.value),
               size_text(done));
      return !stop_.stopping();
    };
    NodeDaemon::Events events{
        .ready = [this, endpoint] { say_ready_or_stop(endpoint ? *endpoint : node_->endpoint()); },
        .ended = [this](Error error) { stop_.fail(std::move(error)); }};
    LARDER_TRY(node_, NodeDaemon::make(node_thread_.loop(), options, progress, std::move(events)));
    spdlog::info("node {} serves {} at {}", node_->options().name,
                 size_text(node_->options().memory), to_string(node_->endpoint()));
    node_thread_.start("node", stop_);
    return {};
  }

  const MasterDaemon& master() const { return *master_; }
  void say_ready_or_stop(const Endpoint& endpoint) {
    if (Status said = say_ready(endpoint, flags_); !said) stop_.fail(said.error());
  }

  // Until a signal comes or a part cannot go on.
  Status serve() {
    LARDER_CHECK(stop_.wait());
    spdlog::info("asked to stop");
    return {};
  }
  // A signal that comes while memory is mapped is no error.
  Status outcome(Status begun) {
    if (!begun && begun.error().code() == ErrorCode::cancelled && stop_.stopping()) return {};
    LARDER_CHECK(std::move(begun));
    return serve();
  }

 private:
  ServerFlags flags_;
  StopSignals stop_;  // before any thread
  LoopThread master_thread_;
  LoopThread node_thread_;
  std::unique_ptr<MasterDaemon> master_;
  std::unique_ptr<NodeDaemon> node_;
};

// ---- up -----------------------------------------------------------------------------------------

struct UpArguments {
  MasterFlags master;
  NodeFlags node;
  ServerFlags server;
};

Status begin(ServerProcess& process, const UpArguments& arguments) {
  LARDER_CHECK(process.add_master(arguments.master));
  const Endpoint master = process.master().endpoint();
  return process.add_node(arguments.node, to_string(master), master);
}

void add_up(CLI::App& app, Status& outcome) {
  CLI::App* command = app.add_subcommand("up", "A whole pool on this machine, in one process");
  command->footer(
      "A master and a node, each a thread, joined by TCP as they would be apart. Prints the "
      "master's\n"
      "endpoint when it is ready, and serves until it gets SIGTERM or SIGINT (ctrl-c).\n"
      "Example: larder up --memory 4GiB");
  const auto arguments = std::make_shared<UpArguments>();
  add_master_flags(*command, arguments->master);
  add_node_flags(*command, arguments->node);
  add_server_flags(*command, arguments->server);
  command->callback([arguments, &outcome] {
    ServerProcess process(arguments->server);
    outcome = process.outcome(begin(process, *arguments));
  });
}

// ---- master -------------------------------------------------------------------------------------

struct MasterArguments {
  MasterFlags master;
  ServerFlags server;
};

void add_master(CLI::App& app, Status& outcome) {
  CLI::App* command = app.add_subcommand("master", "The directory of a pool");
  command->footer(
      "It knows which values there are and where, and never touches their bytes. Prints its "
      "endpoint\n"
      "when it is ready, and serves until it gets SIGTERM or SIGINT.\n"
      "Example: larder master --listen 10.0.0.1:7700 --insecure --state-dir /var/lib/larder");
  const auto arguments = std::make_shared<MasterArguments>();
  add_master_flags(*command, arguments->master);
  add_server_flags(*command, arguments->server);
  command->callback([arguments, &outcome] {
    ServerProcess process(arguments->server);
    Status begun = process.add_master(arguments->master);
    if (begun) process.say_ready_or_stop(process.master().endpoint());
    outcome = process.outcome(std::move(begun));
  });
}

// ---- node ---------------------------------------------------------------------------------------

struct NodeArguments {
  NodeFlags node;
  std::string master = "127.0.0.1:7700";
  ServerFlags server;
};

void add_node(CLI::App& app, Status& outcome) {
  CLI::App* command = app.add_subcommand("node", "Contributes memory of this machine to a pool");
  command->footer(
      "It keeps values in that memory and serves them. Prints its own endpoint when the master "
      "has\n"
      "taken it in; until there is a master, it goes on asking for one.\n"
      "Example: larder node --master 10.0.0.1:7700 --memory 64GiB --listen 10.0.0.2:0 --insecure");
  const auto arguments = std::make_shared<NodeArguments>();
  add_master_option(*command, arguments->master);
  add_node_flags(*command, arguments->node);
  add_node_address_flags(*command, arguments->node);
  add_server_flags(*command, arguments->server);
  command->callback([arguments, &outcome] {
    ServerProcess process(arguments->server);
    outcome = process.outcome(process.add_node(arguments->node, arguments->master, std::nullopt));
  });
}

}  // namespace

void add_servers(CLI::App& app, Status& outcome) {
  add_up(app, outcome);
  add_master(app, outcome);
  add_node(app, outcome);
}

}  // namespace larder::real
