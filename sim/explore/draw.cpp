#include "sim/explore/draw.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/eviction/policy.h"

namespace larder::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Of two hosts, 0.5 %, which leases promise to bear.
constexpr std::int64_t drift_ppm_max = 2'500;
constexpr Duration first_step = seconds(1);

// Draws in units that a person can read.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(Random(seed).fork(3)) {}

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  std::uint64_t from_to(std::uint64_t low, std::uint64_t high) {
    return low + random_.below(high - low + 1);
  }
  bool chance(double probability) { return random_.chance(probability); }
  // A probability, in steps of 1/1000 of `high`.
  double up_to(double high) { return high * static_cast<double>(from_to(1, 1000)) / 1000; }
  // Each power of two between them equally often.
  Duration time(Duration low, Duration high) {
    const auto ratio = static_cast<std::uint64_t>(high / low);
    const auto power = random_.below(static_cast<std::uint64_t>(std::bit_width(ratio)));
    const auto most = std::min<std::int64_t>((low.count() << power), high.count() / 2);
    const auto count = static_cast<std::uint64_t>(most);
    return round(Duration(static_cast<std::int64_t>(count + random_.below(count + 1))));
  }
  static Duration round(Duration time) { return std::chrono::duration_cast<microseconds>(time); }

 private:
  Random random_;
};

// By their instants; equal ones stay in their order.
void sort(std::vector<Step>& steps) {
  std::vector<std::pair<Duration, std::size_t>> order;
  for (std::size_t i = 0; i < steps.size(); ++i) order.emplace_back(steps[i].at, i);
  std::ranges::sort(order);
  std::vector<Step> sorted;
  for (const auto& [at, index] : order) sorted.push_back(std::move(steps[index]));
  steps = std::move(sorted);
}

// What clients of this seed do.
struct Habits {
  std::uint32_t keys = 8;
  std::uint32_t burst_min = 20;
  std::uint32_t burst_max = 40;
  Duration burst_time{0};
  Duration pause{0};   // between bursts
  double upserts = 0;  // shares of all operations
  double removes = 0;
  double forced = 0;  // of the removals
  double exists = 0;
  double ranges = 0;  // of the gets
  double groups = 0;  // of the puts
  double pins = 0;
  double parts = 0;
  double short_deadlines = 0;
};

class Drawing {
 public:
  Drawing(std::uint64_t seed, std::uint32_t operations) : draw_(seed), operations_(operations) {
    scenario_.seed = seed;
  }
  Scenario run() {
    draw_shape();
    draw_habits();
    draw_operations();
    draw_links();
    draw_faults();
    sort(scenario_.steps);
    return std::move(scenario_);
  }

 private:
  void draw_shape();
  void draw_cache();
  void draw_habits();
  void draw_operations();
  OperationStep draw_operation();
  OperationStep::Item draw_put();
  std::string draw_key() { return "key" + std::to_string(draw_.below(habits_.keys)); }
  Scenario::Clock draw_clock();
  void draw_links();
  void draw_faults();
  Fault draw_fault(const FaultInfo& kind);
  void draw_masters();
  void draw_given_up();
  ProcessName draw_process(std::string_view roles);
  Duration draw_instant();

  Draw draw_;
  const std::uint32_t operations_;
  Scenario scenario_;
  Habits habits_;
  bool drifting_ = false;
  bool cache_ = false;
};

void Drawing::draw_shape() {
  const std::span<const std::string_view> policies = policy_names();
  scenario_.policy = policies[draw_.below(policies.size())];
  scenario_.one_sided = draw_.chance(0.5);
  scenario_.checksum = draw_.chance(0.6);
  scenario_.value_max = {std::uint64_t{1} << draw_.from_to(6, 14)};
  scenario_.chunk = std::max(64_B, scenario_.value_max / (1 + draw_.below(16)));
  if (draw_.chance(0.25)) {
    scenario_.transfer_max = std::max(16_B, scenario_.value_max / draw_.from_to(2, 8));
  }
  // Slow ones make transfers overlap with everything else.
  scenario_.nic_per_second =
      std::max(256_KiB, Bytes{scenario_.value_max.value << draw_.from_to(4, 13)});
  cache_ = draw_.chance(0.12);
  if (cache_) draw_cache();
  drifting_ = draw_.chance(0.5);
  scenario_.masters[0] = draw_clock();
  for (auto nodes = draw_.from_to(1, 4); nodes > 0; --nodes) {
    // Often a tight pool, so that puts wait and eviction works.
    const std::uint64_t values = draw_.from_to(2, cache_ ? 4 : 13);
    const Bytes segment{scenario_.value_max.value * values + 4096};
    scenario_.nodes.push_back({.segment = segment, .clock = draw_clock()});
  }
  const bool together = draw_.chance(0.2);
  for (auto clients = draw_.from_to(2, 5); clients > 0; --clients) {
    Scenario::Client client;
    if (together && draw_.chance(0.5)) {
      client.on_node = static_cast<std::uint32_t>(draw_.below(scenario_.nodes.size()));
    } else {
      client.clock = draw_clock();
    }
    scenario_.clients.push_back(client);
  }
}

// Values come and go by eviction alone, and slow reads find out. Where they are also removed and
// replaced all the time, nobody could tell what it is that leases hold.
void Drawing::draw_cache() {
  scenario_.checksum = draw_.chance(0.3);
  scenario_.nic_per_second =
      std::max(256_KiB, Bytes{scenario_.value_max.value << draw_.from_to(4, 8)});
}

Scenario::Clock Drawing::draw_clock() {
  Scenario::Clock clock{.offset = seconds(draw_.below(1'000'000))};
  if (drifting_) {
    clock.parts_per_million =
        static_cast<std::int64_t>(draw_.below(2 * drift_ppm_max)) - drift_ppm_max;
  }
  return clock;
}

void Drawing::draw_habits() {
  habits_.keys = static_cast<std::uint32_t>(draw_.from_to(2, 17));
  // A flood, sometimes.
  habits_.burst_max = draw_.chance(0.15) ? 200 : static_cast<std::uint32_t>(draw_.from_to(20, 60));
  habits_.burst_time = draw_.time(microseconds(1), milliseconds(20));
  habits_.pause = draw_.time(milliseconds(1), seconds(8));
  if (draw_.chance(0.6)) habits_.upserts = draw_.up_to(0.4);
  if (draw_.chance(0.6)) habits_.removes = draw_.up_to(0.3);
  if (draw_.chance(0.5)) habits_.forced = draw_.up_to(1);
  if (draw_.chance(0.4)) habits_.exists = draw_.up_to(0.2);
  if (draw_.chance(0.3)) habits_.ranges = draw_.up_to(0.5);
  if (draw_.chance(0.4)) habits_.groups = draw_.up_to(1);
  if (draw_.chance(0.4)) habits_.parts = draw_.up_to(0.6);
  if (draw_.chance(0.3)) habits_.pins = draw_.up_to(0.3);
  if (draw_.chance(0.3)) habits_.short_deadlines = draw_.up_to(0.4);
  if (cache_) habits_.upserts = habits_.removes = 0;
}

void Drawing::draw_operations() {
  Duration burst_begins = first_step;
  for (std::uint32_t drawn = 0; drawn < operations_;) {
    const auto burst = draw_.from_to(habits_.burst_min, habits_.burst_max);
    const Duration spread = draw_.chance(0.2) ? Duration(0) : habits_.burst_time;
    for (std::uint64_t i = 0; i < burst; ++i, ++drawn) {
      const auto within = draw_.below(static_cast<std::uint64_t>(spread.count()) + 1);
      const Duration at = burst_begins + Draw::round(Duration(static_cast<std::int64_t>(within)));
      scenario_.steps.push_back({.at = at, .what = draw_operation()});
    }
    burst_begins += spread + draw_.time(habits_.pause / 4, 2 * habits_.pause);
    // Long enough, now and then, for every time-out of the protocol.
    if (draw_.chance(0.04)) burst_begins += draw_.time(seconds(1), seconds(40));
  }
  sort(scenario_.steps);
}

OperationStep Drawing::draw_operation() {
  OperationStep step{.client = static_cast<std::uint32_t>(draw_.below(scenario_.clients.size())),
                     .items = {}};
  if (draw_.chance(habits_.short_deadlines)) step.time = draw_.time(milliseconds(1), seconds(2));
  const std::uint64_t items = draw_.chance(0.3) ? draw_.from_to(2, 5) : 1;
  const auto kind = static_cast<double>(draw_.below(1000)) / 1000;
  if (kind < habits_.removes) {
    step.operation = Operation::remove;
    step.force = draw_.chance(habits_.forced);
  } else if (kind < habits_.removes + habits_.exists) {
    step.operation = Operation::exists;
  } else if (draw_.chance(0.45)) {
    step.operation = draw_.chance(habits_.upserts) ? Operation::upsert : Operation::put;
  } else {
    step.operation = Operation::get;
  }
  const bool puts = step.operation == Operation::put || step.operation == Operation::upsert;
  if (puts && draw_.chance(habits_.parts)) {
    step.parts = static_cast<std::uint32_t>(draw_.from_to(2, 5));
  }
  for (std::uint64_t i = 0; i < items; ++i) {
    OperationStep::Item item = puts ? draw_put() : OperationStep::Item{.key = draw_key()};
    if (step.operation == Operation::get && draw_.chance(habits_.ranges)) {
      item.range_offset = Bytes{draw_.below(scenario_.value_max.value / 4 + 1)};
      item.size = {draw_.from_to(1, scenario_.value_max.value / 4)};
    }
    step.items.push_back(std::move(item));
  }
  return step;
}

OperationStep::Item Drawing::draw_put() {
  OperationStep::Item item{.key = draw_key(),
                           .size = {draw_.from_to(1, scenario_.value_max.value)}};
  item.replicas = static_cast<std::uint32_t>(draw_.from_to(1, 3));
  if (draw_.chance(habits_.groups)) item.group = "group" + std::to_string(draw_.below(4));
  if (draw_.chance(0.3)) item.parent = draw_key();
  if (draw_.chance(0.1)) item.time_to_live = draw_.time(milliseconds(1), seconds(20));
  if (draw_.chance(habits_.pins)) item.soft_pin = draw_.time(milliseconds(1), seconds(20));
  if (draw_.chance(habits_.pins / 4)) item.hard_pin = true;
  return item;
}

// ---- what goes wrong ----------------------------------------------------------------------------

void Drawing::draw_links() {
  LinkFaults& links = scenario_.links;
  if (draw_.chance(0.4)) links.lose = draw_.up_to(0.1);
  if (draw_.chance(0.4)) links.duplicate = draw_.up_to(0.2);
  if (draw_.chance(0.4)) {
    links.reorder = draw_.up_to(0.5);
    links.disorder = draw_.time(milliseconds(1), milliseconds(500));
  }
  if (draw_.chance(0.4)) links.jitter = draw_.time(microseconds(1), milliseconds(20));
  if (draw_.chance(0.2)) links.delay = draw_.time(microseconds(10), milliseconds(50));
  if (draw_.chance(0.25)) links.corrupt = draw_.up_to(0.02);
  if (scenario_.checksum && draw_.chance(0.2)) links.corrupt_chunk = draw_.up_to(0.02);
}

// Mostly while operations are under way.
Duration Drawing::draw_instant() {
  const auto& steps = scenario_.steps;
  if (draw_.chance(0.8)) {
    const Duration begun = steps[draw_.below(steps.size())].at;
    return begun + draw_.time(microseconds(4), milliseconds(100));
  }
  const auto whole = static_cast<std::uint64_t>((steps.back().at - first_step).count());
  return first_step + Draw::round(Duration(static_cast<std::int64_t>(draw_.below(whole + 1))));
}

ProcessName Drawing::draw_process(std::string_view roles) {
  const char letter = roles[draw_.below(roles.size())];
  if (letter == 'm') return {.role = Role::master, .index = 0};
  const bool is_node = letter == 'n';
  const std::size_t count = is_node ? scenario_.nodes.size() : scenario_.clients.size();
  return {.role = is_node ? Role::node : Role::client,
          .index = static_cast<std::uint32_t>(draw_.below(count))};
}

void Drawing::draw_faults() {
  std::vector<Step> faults;
  for (const FaultInfo& kind : all_faults()) {
    const bool beyond_promise = kind.kind == FaultKind::drift || kind.kind == FaultKind::jump ||
                                kind.kind == FaultKind::freeze;
    const bool rare = beyond_promise || kind.kind == FaultKind::lose_state ||
                      kind.kind == FaultKind::move || kind.kind == FaultKind::resize;
    const double share = kind.kind == FaultKind::crash ? 0.5 : rare ? 0.08 : 0.15;
    if (!draw_.chance(share)) continue;
    // What needs a second master, and what only the checksum finds.
    if (kind.kind == FaultKind::start || kind.kind == FaultKind::turn) continue;
    if (kind.kind == FaultKind::flip && !scenario_.checksum) continue;
    // Often of one role alone.
    std::string_view roles = kind.roles;
    if (draw_.chance(0.6)) roles = roles.substr(draw_.below(roles.size()), 1);
    for (auto left = draw_.from_to(1, 12); left > 0; --left) {
      Fault fault = draw_fault(kind);
      fault.target = draw_process(roles);
      if (!kind.other_word.empty()) {
        do fault.other = draw_process(kind.roles);
        while (fault.other == fault.target);
      }
      faults.push_back({.at = draw_instant(), .what = fault});
    }
  }
  scenario_.steps.insert(scenario_.steps.end(), faults.begin(), faults.end());
  if (draw_.chance(0.12)) draw_masters();
  if (draw_.chance(0.12)) draw_given_up();
}

// A node stops in the middle of a fill; its writer gives the put up and uses its buffer for
// something else; and the master that could have the put retired ends before the node goes on.
void Drawing::draw_given_up() {
  std::vector<std::size_t> puts;
  for (std::size_t i = 0; i < scenario_.steps.size(); ++i) {
    const auto* step = std::get_if<OperationStep>(&scenario_.steps[i].what);
    const bool writes = step != nullptr &&
                        (step->operation == Operation::put || step->operation == Operation::upsert);
    if (writes) puts.push_back(i);
  }
  for (auto left = draw_.from_to(1, 6); left > 0 && !puts.empty(); --left) {
    Step& put = scenario_.steps[puts[draw_.below(puts.size())]];
    std::get<OperationStep>(put.what).time = draw_.time(milliseconds(100), seconds(2));
    const Duration begun = put.at + draw_.time(microseconds(30), milliseconds(100));
    const Duration ended = begun + seconds(2) + draw_.time(milliseconds(1), seconds(2));
    const Duration until = ended + draw_.time(milliseconds(1), seconds(1));
    const auto add = [&](Duration at, FaultKind kind, ProcessName target, Duration lasts) {
      scenario_.steps.push_back(
          {.at = at, .what = Fault{.kind = kind, .target = target, .lasts = lasts}});
    };
    add(begun, FaultKind::stop, draw_process("n"), until - begun);
    add(ended, FaultKind::crash, draw_process("m"), draw_.time(milliseconds(1), seconds(1)));
  }
}

Fault Drawing::draw_fault(const FaultInfo& kind) {
  Fault fault{.kind = kind.kind};
  if (kind.lasts) fault.lasts = draw_.time(milliseconds(1), seconds(40));
  switch (kind.kind) {
    case FaultKind::crash:
      if (draw_.chance(0.7)) fault.amount = static_cast<std::int64_t>(draw_.from_to(1, 60));
      fault.lasts = draw_.time(milliseconds(1), seconds(5));
      break;
    case FaultKind::lag:
      fault.amount = draw_.time(milliseconds(1), seconds(3)).count();
      break;
    case FaultKind::slow:
      fault.amount = std::int64_t{1} << draw_.from_to(1, 14);
      break;
    case FaultKind::drift:
      fault.amount =
          static_cast<std::int64_t>(draw_.from_to(1, 900'000)) * (draw_.chance(0.5) ? 1 : -1);
      break;
    case FaultKind::jump:
      fault.amount = draw_.time(milliseconds(1), seconds(60)).count();
      break;
    case FaultKind::flip:
      fault.amount = static_cast<std::int64_t>(draw_.from_to(1, 4));
      break;
    case FaultKind::echo:
      fault.amount = draw_.time(microseconds(10), seconds(8)).count();
      break;
    case FaultKind::resize:
      fault.amount = static_cast<std::int64_t>(
          Bytes{scenario_.value_max.value * draw_.from_to(2, 13) + 4096}.value);
      break;
    default:
      break;
  }
  return fault;
}

// A second master, which some find instead of the first.
void Drawing::draw_masters() {
  scenario_.masters.push_back(draw_clock());
  scenario_.shared_state = draw_.chance(0.5);
  const ProcessName second{.role = Role::master, .index = 1};
  for (auto left = draw_.from_to(1, 3); left > 0; --left) {
    const Duration at = draw_instant();
    const Duration lasts = draw_.time(milliseconds(10), seconds(40));
    scenario_.steps.push_back(
        {.at = at, .what = Fault{.kind = FaultKind::start, .target = second, .lasts = lasts}});
    for (auto turns = draw_.from_to(1, 5); turns > 0; --turns) {
      const auto after = draw_.below(static_cast<std::uint64_t>(lasts.count()));
      scenario_.steps.push_back(
          {.at = at + Draw::round(Duration(static_cast<std::int64_t>(after))),
           .what = Fault{.kind = FaultKind::turn,
                         .target = draw_process("nc"),
                         .other = second,
                         .lasts = draw_.time(milliseconds(10), seconds(40))}});
    }
  }
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed, std::uint32_t operations) {
  return Drawing(seed, operations).run();
}

}  // namespace larder::sim
