#include "real/cli/configuration.h"

#include <string>
#include <vector>

#include "core/base/printable.h"
#include "core/eviction/policy.h"
#include "core/protocol/timing_check.h"
#include "real/daemon/address.h"
#include "real/rpc/log.h"
#include "terminal/command.h"

namespace larder::real {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint16_t master_port = 7700;
constexpr std::uint16_t any_port = 0;

Value<Endpoint> endpoint_value(std::uint16_t default_port) {
  return {
      .type = "HOST:PORT",
      .form = Form::text,
      .read = [default_port](std::string_view text) { return parse_endpoint(text, default_port); },
      .write = [](const Endpoint& endpoint) { return to_string(endpoint); }};
}

// A name or an address without a port.
Value<std::string> host_value() {
  return {.type = "HOST",
          .form = Form::text,
          .read = [](std::string_view text) -> Result<std::string> {
            const auto endpoint = parse_endpoint(text, any_port);
            if (!endpoint || parse_endpoint(text)) {
              return failed(
                  ErrorCode::invalid_params,
                  "it takes a host name or an address, without a port, not " + in_quotes(text));
            }
            return endpoint->host;
          },
          .write = [](const std::string& host) { return host; }};
}

Value<Duration> from_to(Duration min, Duration max) {
  return duration_value({.min = min, .max = max});
}

}  // namespace

Configuration::Configuration() {
  declare_shared();
  declare_master();
  declare_node();
}

void Configuration::declare_shared() {
  settings.section(std::string(section::pool), {})
      .titled("Pool")
      .add("master", pool_master, endpoint_value(master_port),
           "Where the master listens; 7700 where no port is given");
  settings.section(std::string(section::client), {})
      .titled("Pool")
      .add("tenant", tenant, text_value("NAME", tenant_bytes_max), "Whose keys these are")
      .add("transport", transport, text_value("NAME", name_bytes_max),
           "How bytes move: tcp, or auto, which says in the log what it took; one that is not "
           "there is an error")
      .add("timeout", timeout, from_to(seconds(0), days(30)),
           "Give up after this time, such as 2s, or 0.5 (seconds); 0: 5 s, and for values 10 s "
           "and 1 s more for every 50 MB");
  settings.section(std::string(section::server), {})
      .add("insecure", insecure, boolean_value(),
           "Allow an address that others can reach, although there are no tokens yet");
  settings.section(std::string(section::tcp), {.flag = "--tcp-", .variable = "LARDER_TCP_"})
      .titled("TCP")
      .add("congestion", tcp.congestion, text_value("NAME", name_bytes_max),
           "Congestion control of connections that move values: auto (cubic inside one machine, "
           "else the system's), system, or a name that the kernel knows")
      .check([this] { return larder::real::check(tcp); });
  settings.section(std::string(section::log), {.flag = "--log-", .variable = "LARDER_LOG_"})
      .titled("Log")
      .add("level", log.level, choice_value({"debug", "info", "warn", "error", "off"}),
           "What goes to stderr")
      .add("format", log.format, choice_value({"text", "json"}),
           "text: for people; json: one object a line, {time, level, component, event} and what "
           "belongs to the event");
}

void Configuration::declare_master() {
  Settings::Section of_master =
      settings.section(std::string(section::master), {.variable = "LARDER_MASTER_"});
  const auto names = policy_names();
  of_master
      .add("listen", master.listen, endpoint_value(master_port),
           "Where the master listens; port 0: any free one, which is then printed")
      .add("state-dir", master.state_directory, path_value("DIR"),
           "A directory for the few bytes that a master must find again after a restart; without "
           "one, what was removed may then return")
      .add("policy", master.config.policy,
           choice_value(std::vector<std::string>(names.begin(), names.end())),
           "What to evict first")
      .add("high-watermark", master.config.watermarks.high, decimal_value({.min = 0, .max = 1}),
           "Share of the pool's memory in use above which eviction begins")
      .add("low-watermark", master.config.watermarks.low, decimal_value({.min = 0, .max = 1}),
           "Share down to which it goes on")
      .add("object-size-max", master.config.object_bytes_max,
           size_value({.min = 1_B, .max = 1_TiB}), "Larger values are refused")
      .add("seed", master.config.seed, whole_value<std::uint64_t>(),
           "Of the choices of where to put values")
      .add("epoch-after", master.epoch_after.value, whole_value<std::uint64_t>(),
           "Lead after a master of this epoch, for when this machine's clock is behind")
      .add("record", master.record.directory, path_value("DIR"),
           "Record every call into a ring of files there, for larder-sim incident")
      .add("record-size", master.record.size, size_value({.min = 16_MiB, .max = 1_TiB}),
           "How much of the disk the recording may take; the oldest is overwritten")
      .add("lock-step", master.lock_step, boolean_value(),
           "Work only when `larder replay` asks for it, so that time decides nothing");
  Timing& timing = master.config.timing;
  of_master.titled("Times of the master")
      .add("heartbeat", timing.heartbeat, from_to(milliseconds(50), minutes(1)),
           "How often nodes and sessions say that they are there")
      .add("hidden-after-silence", timing.hidden_after_silence,
           from_to(milliseconds(100), hours(1)),
           "A node that says nothing for so long is hidden: its values are answered to nobody")
      .add("hidden-after-disconnect", timing.hidden_after_disconnect, from_to(seconds(0), hours(1)),
           "The same for one whose connection has ended")
      .add("node-lost", timing.node_lost, from_to(milliseconds(200), days(1)),
           "A node that is away for so long is given up, and what only it had is gone")
      .add("session-lost", timing.session_lost, from_to(milliseconds(100), days(1)),
           "A client that says nothing for so long is gone, and its unfinished puts with it")
      .add("recovery", timing.recovery, from_to(seconds(0), hours(1)),
           "How long a new master waits for nodes that its state directory knows")
      .add("lease", timing.lease, from_to(milliseconds(100), minutes(10)),
           "How long a reader may rely on where a value lies; meanwhile it is not evicted")
      .add("exists-lease", timing.exists_lease, from_to(milliseconds(1), minutes(10)),
           "How long a value stays after it was asked whether it exists")
      .add("wait-for-space", timing.wait_for_space, from_to(seconds(0), minutes(1)),
           "How long a put waits for eviction to make room")
      .add("retirement-retry", timing.retirement_retry, from_to(milliseconds(10), minutes(1)),
           "How often a node is asked again to confirm freed space")
      .add("retirement-sick", timing.retirement_sick, from_to(milliseconds(10), hours(1)),
           "A node that does not confirm for so long gets no new values")
      .add("retirement-lost", timing.retirement_lost, from_to(milliseconds(10), days(1)),
           "A node that does not confirm for so long is given up")
      .add("stale-heartbeat", timing.stale_heartbeat, from_to(milliseconds(100), hours(1)),
           "A node whose last heartbeat is older gets no new values while others can take them")
      .add("busy-queue", timing.busy_queue, from_to(seconds(0), minutes(1)),
           "Nor does one whose puts wait for longer than this")
      .check([this] { return larder::check(master.config.timing); })
      .check([this] { return master.config.watermarks.check(); })
      .check([this] { return check_exposure(master.listen, insecure); });
}

void Configuration::declare_node() {
  settings.section(std::string(section::node), {.variable = "LARDER_NODE_"})
      .add("listen", node.listen, endpoint_value(any_port),
           "Where the node serves bytes; port 0: any free one")
      .add("advertise", node.advertise, host_value(),
           "Under which name or address clients reach it, if not the one it listens on")
      .add("memory", node.memory, size_value({}),
           "What it contributes, such as 512MiB or 64gb (units are powers of 1,024); all of it is "
           "taken at the start. 0: nothing")
      .add("name", node.name, text_value("NAME", name_bytes_max),
           "Its name in the pool; without one, machine:port")
      .add("host", node.host, text_value("NAME", name_bytes_max),
           "Nodes that name the same host fail together: the copies of a value go to different "
           "ones first. Without one, the machine's name")
      .add("rack", node.rack, text_value("NAME", name_bytes_max), "The same, for racks")
      .add("data-threads", node.data_threads, whole_value<std::size_t>({.min = 1, .max = 256}),
           "Threads that move and hash its bytes; one fills some 5 GB/s")
      .add("fill-stalled", node.timing.fill_stalled, from_to(milliseconds(100), minutes(5)),
           "A put that brings no byte for so long is given up")
      .check([this] { return check_exposure(node.listen, insecure); });
}

namespace {

void warn_of_unknown_variables(const Settings& settings, const Environment& environment) {
  for (const auto& [name, close] : settings.unknown_variables(environment)) {
    if (close) {
      log(LogLevel::warn, "process", "a variable is no setting of larder",
          {{"variable", name}, {"nearest", *close}});
    } else {
      log(LogLevel::debug, "process", "a variable is no setting of larder", {{"variable", name}});
    }
  }
}

Status load(Configuration& configuration) {
  const Environment environment = larder_environment();
  LARDER_CHECK(configuration.settings.load(environment));
  start_logging(configuration.log);
  warn_of_unknown_variables(configuration.settings, environment);
  return {};
}

std::shared_ptr<Configuration> loaded_after_parsing(terminal::Command command,
                                                    std::shared_ptr<Configuration> configuration) {
  command.check([configuration] { return load(*configuration); });
  return configuration;
}

}  // namespace

std::shared_ptr<Configuration> add_configuration(terminal::Command command,
                                                 const std::vector<std::string_view>& sections) {
  auto configuration = std::make_shared<Configuration>();
  configuration->settings.add_flags(command.app(), sections);
  return loaded_after_parsing(command, std::move(configuration));
}

std::shared_ptr<Configuration> add_configuration_of_all(terminal::Command command) {
  auto configuration = std::make_shared<Configuration>();
  Settings& settings = configuration->settings;
  settings.add_flags(command.app(), {});
  settings.use(settings.sections());
  return loaded_after_parsing(command, std::move(configuration));
}

}  // namespace larder::real
