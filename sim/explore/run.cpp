#include "sim/explore/run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <source_location>
#include <vector>

#include "core/base/hash.h"
#include "sim/cluster/world.h"
#include "sim/explore/rest.h"
#include "sim/explore/scenario_text.h"
#include "sim/faults/injector.h"

namespace larder::sim {
namespace {

using std::chrono::seconds;

constexpr std::size_t steps_per_full_check = 256;

constexpr std::string_view refusal = "the core refused to go on: ";

thread_local std::uint64_t seed_under_way = 0;
thread_local std::string last_broken;

void throw_broken(const char* condition, const char* message, std::source_location where) {
  BrokenInvariant broken{std::string(condition) + (*message != '\0' ? ": " : "") + message + " (" +
                         where.file_name() + ":" + std::to_string(where.line()) + ")"};
  last_broken = broken.text;
  throw broken;
}

void tell_before_the_end() {
  if (!last_broken.empty()) {
    std::fprintf(stderr, "larder-sim: seed %llu: %s%s\n",
                 static_cast<unsigned long long>(seed_under_way), refusal.data(),
                 last_broken.c_str());
  }
  std::abort();
}

WorldConfig world_config(const Scenario& scenario, const Guards& guards) {
  WorldConfig config{.seed = scenario.seed,
                     .timing = scenario.timing,
                     .guards = guards,
                     .checksum = scenario.checksum};
  config.network.chunk = scenario.chunk;
  config.transport.one_sided = scenario.one_sided;
  config.transport.transfer_bytes_max = scenario.transfer_max;
  config.master.config.policy = scenario.policy;
  config.master.config.seed = scenario.seed;
  config.master.epochs_of_clock = scenario.epochs_of_clock;
  return config;
}

class ScenarioRun {
 public:
  ScenarioRun(const Scenario& scenario, const RunConfig& config);

  void run();
  std::uint64_t state_hash();
  RunResult result();

 private:
  Host& add_host(ProcessName name, const Scenario::Clock& clock);
  void run_steps();
  void begin(const Step& whole, const OperationStep& step);
  bool tells() const { return config_.tells != RunConfig::Tells::nothing; }
  bool over() const {
    return (config_.stops_at_first && !history_.violations().empty()) ||
           (config_.stops_at_wrong_read && history_.wrong_reads() > 0);
  }

  const Scenario& scenario_;
  const RunConfig config_;
  History history_;
  TimeLine time_line_;
  World world_;
  std::unique_ptr<Injector> injector_;
  std::size_t in_flight_max_ = 0;
};

ScenarioRun::ScenarioRun(const Scenario& scenario, const RunConfig& config)
    : scenario_(scenario),
      config_(config),
      history_(promises(scenario)),
      time_line_(history_),
      world_(world_config(scenario, config.guards), config.tells != RunConfig::Tells::nothing
                                                        ? static_cast<Observer&>(time_line_)
                                                        : history_) {
  history_.watch(world_.kernel());
  time_line_.watch(world_);
  MasterProcess& master = world_.add_master(add_host({Role::master, 0}, scenario.masters[0]));
  for (std::uint32_t i = 1; i < scenario.masters.size(); ++i) {
    Host& host = add_host({Role::master, i}, scenario.masters[i]);
    if (scenario.shared_state) {
      world_.add_idle_master(host, master);
    } else {
      world_.add_idle_master(host);
    }
  }
  std::vector<Host*> nodes;
  for (std::uint32_t i = 0; i < scenario.nodes.size(); ++i) {
    nodes.push_back(&add_host({Role::node, i}, scenario.nodes[i].clock));
    world_.add_node(*nodes[i], master, {.segments = {scenario.nodes[i].segment}});
  }
  for (std::uint32_t i = 0; i < scenario.clients.size(); ++i) {
    const Scenario::Client& client = scenario.clients[i];
    Host& host =
        client.on_node ? *nodes[*client.on_node] : add_host({Role::client, i}, client.clock);
    world_.add_client(host, master);
  }
  injector_ = std::make_unique<Injector>(world_, [this](const Fault& fault) {
    if (tells()) time_line_.fault_over(fault);
  });
  injector_->set_links(scenario.links);
}

Host& ScenarioRun::add_host(ProcessName name, const Scenario::Clock& clock) {
  return world_.add_host(
      HostSpec{.name = to_string(name), .nic_per_second = scenario_.nic_per_second},
      {.offset = clock.offset, .parts_per_billion = clock.parts_per_million * 1'000});
}

void ScenarioRun::run() {
  run_steps();
  if (over()) return;
  if (config_.tells == RunConfig::Tells::steps) time_line_.stop();
  injector_->end_all();
  bring_to_rest(scenario_, world_, history_, injector_->flipped_bits());
}

void ScenarioRun::run_steps() {
  std::size_t number = 0;
  for (const Step& step : scenario_.steps) {
    world_.kernel().run_until(Instant{} + step.at);
    if (const auto* operation = std::get_if<OperationStep>(&step.what)) {
      begin(step, *operation);
    } else {
      if (tells()) time_line_.step(step);
      injector_->begin(std::get<Fault>(step.what));
    }
    world_.check_machines();
    if (++number % steps_per_full_check == 0) world_.check_invariants();
    if (over()) return;
  }
  // What was begun last is under way when the faults stop.
  world_.run_for(seconds(1));
}

void ScenarioRun::begin(const Step& whole, const OperationStep& step) {
  ClientProcess& client = *world_.clients()[step.client];
  if (!client.alive()) {
    history_.not_begun();
    if (tells()) time_line_.step_skipped(whole);
    return;
  }
  std::vector<std::string> keys;
  std::vector<PutWanted> puts;
  std::vector<GetWanted> gets;
  for (const OperationStep::Item& item : step.items) {
    keys.push_back(item.key);
    puts.push_back({.key = item.key,
                    .size = item.size,
                    .replicas = item.replicas,
                    .group = item.group,
                    .parent = item.parent,
                    .soft_pin = item.soft_pin,
                    .time_to_live = item.time_to_live,
                    .hard_pin = item.hard_pin});
    gets.push_back({.key = item.key,
                    .room = item.size > 0_B ? item.size : scenario_.value_max,
                    .range_offset = item.range_offset});
  }
  const bool upsert = step.operation == Operation::upsert;
  OperationId id;
  switch (step.operation) {
    case Operation::put:
    case Operation::upsert:
      id = client.put(std::move(puts), upsert, step.time, step.parts);
      break;
    case Operation::get:
      id = client.get(std::move(gets), step.time);
      break;
    case Operation::exists:
      id = client.exists(std::move(keys), step.time);
      break;
    case Operation::remove:
      id = client.remove(std::move(keys), step.force, step.time);
      break;
  }
  upsert ? history_.upsert_begins(id) : history_.begins(id);
  if (tells()) time_line_.begins(id, step);
  std::size_t in_flight = 0;
  for (const auto& each : world_.clients()) in_flight += each->operations();
  in_flight_max_ = std::max(in_flight_max_, in_flight);
}

// What happened, and what the masters have of it at the end.
std::uint64_t ScenarioRun::state_hash() {
  Digest digest;
  digest.add(world_.kernel().hash());
  for (const auto& master : world_.masters()) {
    const Master* machine = master->machine();
    digest.add(machine == nullptr ? 0 : machine->digest(master->now()));
  }
  return digest.value();
}

RunResult ScenarioRun::result() {
  Kernel& kernel = world_.kernel();
  return {.state_hash = kernel.hash(),
          .events = kernel.fired_events(),
          .operations = history_.counts(),
          .in_flight_max = in_flight_max_,
          .virtual_time = kernel.now() - Instant{},
          .violations = history_.violations(),
          .wrong_reads = history_.wrong_reads(),
          .time_line = time_line_.take()};
}

// The machines of a run that broke an invariant stopped in the middle of a step; taking them apart
// could break more.
void keep_for_ever(std::unique_ptr<ScenarioRun> broken) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<ScenarioRun>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(broken));
}

}  // namespace

ThrowingAssertions::ThrowingAssertions()
    : before_(set_assertion_handler(throw_broken)),
      terminate_before_(std::set_terminate(tell_before_the_end)) {}

ThrowingAssertions::~ThrowingAssertions() {
  std::set_terminate(terminate_before_);
  set_assertion_handler(before_);
}

RunResult run_scenario(const Scenario& scenario, const RunConfig& config) {
  seed_under_way = scenario.seed;
  auto run = std::make_unique<ScenarioRun>(scenario, config);
  try {
    run->run();
    RunResult result = run->result();
    result.state_hash = run->state_hash();
    return result;
  } catch (const BrokenInvariant& broken) {
    RunResult result = run->result();
    last_broken.clear();
    result.refused = broken.text;
    result.violations.push_back(
        {Invariant::machine, Instant{} + result.virtual_time, std::string(refusal) + broken.text});
    keep_for_ever(std::move(run));
    return result;
  }
}

}  // namespace larder::sim
