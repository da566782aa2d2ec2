#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/size_text.h"
#include "real/cli/commands.h"
#include "real/cli/configuration.h"
#include "real/cli/json_output.h"
#include "real/daemon/loop_thread.h"
#include "real/daemon/stop_signals.h"
#include "real/rpc/log.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace larder::real {
namespace {

constexpr auto leave_deadline = std::chrono::seconds(1);

// One connection of each client and node is one descriptor.
void allow_many_connections() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Status say_ready(const Endpoint& endpoint, bool json) {
  const std::string text = to_string(endpoint);
  return terminal::print(json ? to_line({{"endpoint", text}, {"pid", ::getpid()}}) : text + "\n");
}

// The parts of a server process, each on a thread of its own; made in the order in which they stand
// and destroyed in the opposite one, when no thread runs any more.
class ServerProcess {
 public:
  explicit ServerProcess(bool json) : json_(json) {
    allow_many_connections();
    std::signal(SIGPIPE, SIG_IGN);  // whoever read the log may go
  }
  ~ServerProcess() {
    node_thread_.stop();
    master_thread_.stop();
  }

  Status add_master(const MasterOptions& options) {
    if (!options.state_directory) {
      log(LogLevel::warn, "master",
          "without --state-dir, what was removed may return after a restart of the master");
    }
    LARDER_TRY(master_, MasterDaemon::make(master_thread_.loop(), options,
                                           [this](Error error) { stop_.fail(std::move(error)); }));
    master_thread_.start("master", [this](Error error) { stop_.fail(std::move(error)); });
    return {};
  }

  // Says that the process is ready, with `endpoint` or its own, when the master has taken it in.
  Status add_node(const NodeOptions& options, std::optional<Endpoint> endpoint) {
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
    log(LogLevel::info, "node", "serves its memory",
        {{"node", node_->options().name},
         {"memory", size_text(node_->options().memory)},
         {"endpoint", to_string(node_->endpoint())}});
    node_thread_.start("node", [this](Error error) { stop_.fail(std::move(error)); });
    return {};
  }

  const MasterDaemon& master() const { return *master_; }
  void say_ready_or_stop(const Endpoint& endpoint) {
    if (Status said = say_ready(endpoint, json_); !said) stop_.fail(said.error());
  }

  // Until a signal comes or a part cannot go on.
  Status serve() {
    LARDER_CHECK(stop_.wait());
    log(LogLevel::info, "process", "asked to stop");
    leave_pool();
    return {};
  }
  // A signal that comes while memory is mapped is no error.
  Status outcome(Status begun) {
    if (!begun && begun.error().code() == ErrorCode::cancelled && stop_.stopping()) return {};
    LARDER_CHECK(std::move(begun));
    return serve();
  }

 private:
  // The node says that it ends. A master that does not answer is not waited for.
  void leave_pool() {
    if (!node_) return;
    const auto left = std::make_shared<std::promise<void>>();
    node_thread_.loop().post([this, left] { node_->leave([left] { left->set_value(); }); });
    left->get_future().wait_for(leave_deadline);
  }

  bool json_;
  StopSignals stop_;  // before any thread
  LoopThread master_thread_;
  LoopThread node_thread_;
  std::unique_ptr<MasterDaemon> master_;
  std::unique_ptr<NodeDaemon> node_;
};

// ---- the commands -------------------------------------------------------------------------------

struct ServerCommand {
  const char* name;
  const char* description;
  const char* footer;
  std::vector<std::string_view> sections;
  // Starts its parts.
  Status (*begin)(ServerProcess&, const Configuration&);
};

Status begin_master(ServerProcess& process, const Configuration& configuration) {
  LARDER_CHECK(process.add_master(configuration.master));
  process.say_ready_or_stop(process.master().endpoint());
  return {};
}

Status begin_node(ServerProcess& process, const Configuration& configuration) {
  NodeOptions options = configuration.node;
  options.master = configuration.pool_master;
  options.tcp = configuration.tcp;
  return process.add_node(options, std::nullopt);
}

Status begin_up(ServerProcess& process, const Configuration& configuration) {
  LARDER_CHECK(process.add_master(configuration.master));
  NodeOptions options = configuration.node;
  options.master = process.master().endpoint();
  options.tcp = configuration.tcp;
  const bool open =
      configuration.settings.source(section::node, "listen") == Settings::Source::built_in;
  if (open) options.listen.host = configuration.master.listen.host;
  return process.add_node(options, options.master);
}

const ServerCommand server_commands[] = {
    {.name = "up",
     .description = "A whole pool on this machine, in one process",
     .footer =
         "A master and a node, each a thread, joined by TCP as they would be apart. Prints the "
         "master's\n"
         "endpoint when it is ready, and serves until it gets SIGTERM or SIGINT (ctrl-c).\n"
         "Without --node-listen the node serves at the master's address.\n"
         "Example: larder up --memory 4GiB",
     .sections = {section::master, section::node, section::server, section::tcp, section::log},
     .begin = begin_up},
    {.name = "master",
     .description = "The directory of a pool",
     .footer =
         "It knows which values there are and where, and never touches their bytes. Prints its "
         "endpoint\n"
         "when it is ready, and serves until it gets SIGTERM or SIGINT.\n"
         "Example: larder master --listen 10.0.0.1:7700 --insecure --state-dir /var/lib/larder",
     .sections = {section::master, section::server, section::log},
     .begin = begin_master},
    {.name = "node",
     .description = "Contributes memory of this machine to a pool",
     .footer = "It keeps values in that memory and serves them. Prints its own endpoint when the "
               "master has\n"
               "taken it in; until there is a master, it goes on asking for one.\n"
               "Example: larder node --master 10.0.0.1:7700 --memory 64GiB --listen 10.0.0.2:0 "
               "--insecure",
     .sections = {section::pool, section::node, section::server, section::tcp, section::log},
     .begin = begin_node}};

struct ServerFlags {
  bool json = false;
  bool check_config = false;
};

Status run(const ServerCommand& server, const Configuration& configuration, ServerFlags flags) {
  const ordered_json effective = configuration.settings.effective();
  if (flags.check_config) return terminal::print(effective.dump(2) + "\n");
  log(LogLevel::info, "process", "configuration", {{"settings", effective.dump()}});
  ServerProcess process(flags.json);
  return process.outcome(server.begin(process, configuration));
}

void add_server(terminal::Command app, const ServerCommand& server, Status& outcome) {
  const terminal::Command command = app.add_subcommand(server.name, server.description);
  command.footer(server.footer);
  const auto flags = std::make_shared<ServerFlags>();
  const auto configuration = add_configuration(command, server.sections);
  command.add_flag("--check-config", flags->check_config,
                   "Print the configuration that it would run with, and where each value comes "
                   "from, and end");
  command.add_flag("--json", flags->json,
                   "When ready, print one line {endpoint, pid} instead of the endpoint alone");
  command.callback(
      [&server, configuration, flags, &outcome] { outcome = run(server, *configuration, *flags); });
}

}  // namespace

void add_servers(terminal::Command app, Status& outcome) {
  for (const ServerCommand& server : server_commands) add_server(app, server, outcome);
}

}  // namespace larder::real
