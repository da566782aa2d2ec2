#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "core/base/printable.h"
#include "core/base/size_text.h"
#include "core/eviction/policy.h"
#include "core/master/master.h"
#include "core/protocol/limits.h"
#include "sim/explore/scenario_text.h"

namespace larder::sim {
namespace {

// What is wrong with one line.
using Wrong = std::unexpected<Error>;
Wrong wrong(std::string what) { return failed(ErrorCode::bad_file, std::move(what)); }

template <class Number>
std::optional<Number> whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The words of one line, one after another. A comma is a word of its own.
class Words {
 public:
  explicit Words(std::string_view line) {
    line = line.substr(0, line.find('#'));
    while (!line.empty()) {
      const std::size_t begin = line.find_first_not_of(" \t\r");
      if (begin == std::string_view::npos) return;
      line.remove_prefix(begin);
      const std::size_t length =
          line.front() == ',' ? 1 : std::min(line.find_first_of(" \t\r,"), line.size());
      words_.push_back(line.substr(0, length));
      line.remove_prefix(length);
    }
  }

  bool empty() const { return next_ == words_.size(); }
  std::string_view peek() const { return empty() ? std::string_view() : words_[next_]; }
  bool take(std::string_view word) {
    if (empty() || words_[next_] != word) return false;
    ++next_;
    return true;
  }
  Result<std::string_view> word(std::string_view wanted) {
    if (empty()) return wrong("the line ends where " + std::string(wanted) + " belongs");
    return words_[next_++];
  }
  Status expect(std::string_view word) {
    if (take(word)) return {};
    return wrong(empty() ? "the line ends where " + in_quotes(word) + " belongs"
                         : in_quotes(peek()) + " stands where " + in_quotes(word) + " belongs");
  }
  Status end() const {
    if (empty()) return {};
    return wrong(in_quotes(peek()) + " is more than belongs here");
  }

  Result<Duration> duration();
  Result<Bytes> size();
  template <class Number>
  Result<Number> number() {
    LARDER_TRY(const std::string_view text, word("a number"));
    const auto parsed = whole<Number>(text);
    if (!parsed) return wrong(in_quotes(text) + " is not a whole number");
    return *parsed;
  }
  Result<double> chance();
  Result<std::int64_t> parts_per_million();
  Result<ProcessName> process();

 private:
  std::vector<std::string_view> words_;
  std::size_t next_ = 0;
};

// Beyond it a run would not come to its end in this life, and sums of times could overflow.
constexpr Duration time_max = std::chrono::days(30);
// Timers that are shorter leave no time for anything else.
constexpr Duration timing_min = std::chrono::milliseconds(1);

Result<Duration> Words::duration() {
  LARDER_TRY(const std::string_view text, word("a time such as 12.5ms"));
  const auto bad = [&] {
    return wrong(in_quotes(text) + " is no time: a number and s, ms, us or ns, such as 12.5ms");
  };
  const std::size_t unit_at = text.find_first_not_of("0123456789.");
  if (unit_at == std::string_view::npos) return bad();
  constexpr std::array<std::pair<std::string_view, std::size_t>, 4> units{
      {{"s", 9}, {"ms", 6}, {"us", 3}, {"ns", 0}}};  // digits behind the point
  const auto unit = std::ranges::find(units, text.substr(unit_at),
                                      &std::pair<std::string_view, std::size_t>::first);
  if (unit == units.end()) return bad();
  const std::string_view number = text.substr(0, unit_at);
  const std::size_t point = std::min(number.find('.'), number.size());
  std::string digits(number.substr(0, point));
  const std::string_view fraction =
      point < number.size() ? number.substr(point + 1) : std::string_view();
  if (digits.empty() || fraction.size() > unit->second || fraction.contains('.')) return bad();
  digits += fraction;
  digits.append(unit->second - fraction.size(), '0');
  const auto nanoseconds = whole<std::int64_t>(digits);
  if (!nanoseconds || Duration(*nanoseconds) > time_max) {
    return wrong(in_quotes(text) + " is too long: up to 2592000s, which are 30 days");
  }
  return Duration(*nanoseconds);
}

Result<Bytes> Words::size() {
  LARDER_TRY(const std::string_view text, word("a size such as 4KiB"));
  const Result<Bytes> parsed = parse_size(text);
  if (!parsed) return wrong(parsed.error().facts().detail);
  return *parsed;
}

Result<double> Words::chance() {
  LARDER_TRY(const std::string_view text, word("a probability"));
  const auto parsed = whole<double>(text);
  if (!parsed || !(*parsed >= 0 && *parsed <= 1)) {
    return wrong(in_quotes(text) + " is no probability from 0 to 1");
  }
  return *parsed;
}

Result<std::int64_t> Words::parts_per_million() {
  LARDER_TRY(const std::string_view text, word("a clock's rate such as +2500ppm"));
  const bool signed_and_named =
      (text.starts_with('+') || text.starts_with('-')) && text.ends_with("ppm");
  const auto parsed =
      signed_and_named ? whole<std::int64_t>(text.substr(1, text.size() - 4)) : std::nullopt;
  if (!parsed || *parsed < 0 || *parsed >= 1'000'000) {
    return wrong(in_quotes(text) + " is no clock's rate: from -999999ppm to +999999ppm");
  }
  return text.front() == '-' ? -*parsed : *parsed;
}

Result<ProcessName> Words::process() {
  LARDER_TRY(const std::string_view text, word("a process such as node0"));
  const auto name = process_named(text);
  if (!name) return wrong(in_quotes(text) + " is no process: master0, node0, client0 and so on");
  return *name;
}

Result<Bytes> segment_size(Words& words) {
  LARDER_TRY(const Bytes size, words.size());
  if (size == 0_B || size.value % 64 != 0 || size > 1_GiB) {
    return wrong("a segment of " + std::to_string(size.value) +
                 " bytes: wants a multiple of 64 bytes, up to 1GiB");
  }
  return size;
}

std::string names_of_faults() {
  std::string names;
  for (const FaultInfo& each : all_faults()) {
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  return names;
}

// ---- the lines ----------------------------------------------------------------------------------

class Reader {
 public:
  Status line(Words words);
  Status check() const;
  Scenario take() { return std::move(scenario_); }

 private:
  Status setting(std::string_view name, Words& words, bool& known);
  Status process_line(ProcessName name, Words& words);
  Status links(Words& words);
  Status step(Words& words);
  Result<Fault> fault(const FaultInfo& kind, Words& words) const;
  Result<std::int64_t> amount(Amount kind, Words& words) const;
  Result<OperationStep> operation(ProcessName client, Words& words) const;
  Result<OperationStep::Item> item(Operation operation, Words& words) const;
  Result<Scenario::Clock> clock(Words& words) const;
  Status check_exists(ProcessName name) const;

  Scenario scenario_;
};

Status Reader::line(Words words) {
  if (words.empty()) return {};
  const std::string_view first = words.peek();
  (void)words.take(first);
  if (first == "at") return step(words);
  if (first == "links") return links(words);
  if (const auto name = process_named(first)) return process_line(*name, words);
  if (first == "may") {
    return wrong(
        "'may' stands in worlds whose every interleaving is gone through: larder-sim explore "
        "--exhaustive FILE");
  }
  bool known = true;
  LARDER_CHECK(setting(first, words, known));
  if (!known) {
    return wrong(in_quotes(first) +
                 " begins no line; known are seed, policy, one-sided, no-checksum, "
                 "epochs-of-clock, shared-state, "
                 "values, chunk, transfers, nic, timing, masterN, nodeN, clientN, links, at");
  }
  return words.end();
}

Status Reader::setting(std::string_view name, Words& words, bool& known) {
  if (name == "seed") {
    LARDER_TRY(scenario_.seed, words.number<std::uint64_t>());
  } else if (name == "policy") {
    LARDER_TRY(const std::string_view policy, words.word("a policy"));
    if (const Status sane = check_policy(policy); !sane) return wrong(sane.error().facts().detail);
    scenario_.policy = policy;
  } else if (name == "one-sided") {
    scenario_.one_sided = true;
  } else if (name == "no-checksum") {
    scenario_.checksum = false;
  } else if (name == "epochs-of-clock") {
    scenario_.epochs_of_clock = true;
  } else if (name == "shared-state") {
    scenario_.shared_state = true;
  } else if (name == "values" || name == "transfers") {
    LARDER_CHECK(words.expect("up"));
    LARDER_CHECK(words.expect("to"));
    if (!scenario_.steps.empty()) {
      return wrong("'" + std::string(name) + " up to' stands before the first line with 'at'");
    }
    LARDER_TRY(const Bytes size, words.size());
    if (size == 0_B || size > 1_GiB) {
      return wrong("'" + std::string(name) + " up to' wants 1 byte to 1GiB, not " +
                   size_text(size));
    }
    (name == "values" ? scenario_.value_max : scenario_.transfer_max) = size;
  } else if (name == "chunk") {
    LARDER_TRY(scenario_.chunk, words.size());
    if (scenario_.chunk == 0_B) return wrong("a chunk has at least one byte");
  } else if (name == "nic") {
    LARDER_TRY(scenario_.nic_per_second, words.size());
    if (scenario_.nic_per_second == 0_B) return wrong("a NIC moves at least one byte each second");
    LARDER_CHECK(words.expect("each"));
    LARDER_CHECK(words.expect("second"));
  } else if (name == "timing") {
    LARDER_TRY(const std::string_view setting, words.word("a setting of the protocol's timing"));
    const auto found = std::ranges::find(timing_names(), setting, &TimingName::name);
    if (found == timing_names().end()) {
      std::string all;
      for (const TimingName& each : timing_names()) all += " " + std::string(each.name);
      return wrong(in_quotes(setting) + " is no setting of timing; known are" + all);
    }
    LARDER_TRY(scenario_.timing.*found->member, words.duration());
    if (scenario_.timing.*found->member < timing_min) {
      return wrong("no setting of timing is shorter than 1ms");
    }
  } else {
    known = false;
  }
  return {};
}

Result<Scenario::Clock> Reader::clock(Words& words) const {
  Scenario::Clock clock;
  if (!words.take("clock")) return clock;
  std::string_view offset = words.peek();
  if (!offset.starts_with('+')) return wrong("a clock is ahead by a time such as +5s");
  (void)words.take(offset);
  LARDER_TRY(clock.offset, Words(offset.substr(1)).duration());
  if (!words.empty()) {
    LARDER_TRY(clock.parts_per_million, words.parts_per_million());
  }
  return clock;
}

Status Reader::process_line(ProcessName name, Words& words) {
  const auto next = [&](std::size_t count) -> Status {
    if (name.index == count) return {};
    ProcessName wanted = name;
    wanted.index = static_cast<std::uint32_t>(count);
    return wrong(in_quotes(to_string(name)) + " stands where " + in_quotes(to_string(wanted)) +
                 " belongs: they are counted from 0");
  };
  if (name.role == Role::master) {
    if (name.index > 1) return wrong("there are at most two masters");
    scenario_.masters.resize(std::max<std::size_t>(scenario_.masters.size(), name.index + 1));
    LARDER_TRY(scenario_.masters[name.index], clock(words));
  } else if (name.role == Role::node) {
    LARDER_CHECK(next(scenario_.nodes.size()));
    Scenario::Node node;
    LARDER_TRY(node.segment, segment_size(words));
    LARDER_TRY(node.clock, clock(words));
    scenario_.nodes.push_back(node);
  } else {
    LARDER_CHECK(next(scenario_.clients.size()));
    Scenario::Client client;
    if (words.take("on")) {
      LARDER_TRY(const ProcessName host, words.process());
      if (host.role != Role::node) return wrong("a client runs on a host of its own or a node's");
      LARDER_CHECK(check_exists(host));
      client.on_node = host.index;
    }
    LARDER_TRY(client.clock, clock(words));
    scenario_.clients.push_back(client);
  }
  return words.end();
}

Status Reader::links(Words& words) {
  LinkFaults& links = scenario_.links;
  while (!words.empty()) {
    LARDER_TRY(const std::string_view name, words.word("a fault"));
    constexpr std::array<std::pair<std::string_view, double LinkFaults::*>, 5> chances{
        {{"lose", &LinkFaults::lose},
         {"duplicate", &LinkFaults::duplicate},
         {"reorder", &LinkFaults::reorder},
         {"corrupt", &LinkFaults::corrupt},
         {"corrupt-chunk", &LinkFaults::corrupt_chunk}}};
    constexpr std::array<std::pair<std::string_view, Duration LinkFaults::*>, 3> times{
        {{"delay", &LinkFaults::delay},
         {"jitter", &LinkFaults::jitter},
         {"disorder", &LinkFaults::disorder}}};
    const auto is_it = [name = name](const auto& each) { return each.first == name; };
    if (const auto chance = std::ranges::find_if(chances, is_it); chance != chances.end()) {
      LARDER_TRY(links.*chance->second, words.chance());
    } else if (const auto time = std::ranges::find_if(times, is_it); time != times.end()) {
      LARDER_TRY(links.*time->second, words.duration());
    } else {
      return wrong(in_quotes(name) + " is no fault of links; known are lose, duplicate, reorder, " +
                   "corrupt, corrupt-chunk, delay, jitter, disorder");
    }
  }
  return {};
}

Status Reader::check_exists(ProcessName name) const {
  const std::array<std::size_t, 3> counts{scenario_.masters.size(), scenario_.nodes.size(),
                                          scenario_.clients.size()};
  if (name.index < counts[static_cast<std::size_t>(name.role)]) return {};
  return wrong("there is no " + to_string(name) + "; its line must stand before this one");
}

Status Reader::step(Words& words) {
  Step step;
  LARDER_TRY(step.at, words.duration());
  if (!scenario_.steps.empty() && step.at < scenario_.steps.back().at) {
    return wrong("this is before the line above; lines stand in the order of their instants");
  }
  LARDER_TRY(const std::string_view verb, words.word("a client or a fault"));
  const auto name = process_named(verb);
  const auto kind = std::ranges::find(all_faults(), verb, &FaultInfo::name);
  if (name && name->role == Role::client) {
    LARDER_CHECK(check_exists(*name));
    LARDER_TRY(step.what, operation(*name, words));
  } else if (kind != all_faults().end()) {
    LARDER_TRY(step.what, fault(*kind, words));
  } else {
    return wrong(in_quotes(verb) + " is no client and no fault; faults are " + names_of_faults());
  }
  scenario_.steps.push_back(std::move(step));
  return words.end();
}

Result<std::int64_t> Reader::amount(Amount kind, Words& words) const {
  switch (kind) {
    case Amount::bytes: {
      LARDER_TRY(const Bytes size, segment_size(words));
      return static_cast<std::int64_t>(size.value);
    }
    case Amount::time: {
      LARDER_TRY(const Duration time, words.duration());
      return time.count();
    }
    case Amount::parts_per_million:
      return words.parts_per_million();
    default: {
      LARDER_TRY(const auto count, words.number<std::uint32_t>());
      if (count == 0) return wrong("0 of them are none");
      return std::int64_t{count};
    }
  }
}

Result<Fault> Reader::fault(const FaultInfo& kind, Words& words) const {
  Fault fault{.kind = kind.kind};
  const auto letter = [](ProcessName name) { return "mnc"[static_cast<std::size_t>(name.role)]; };
  LARDER_TRY(fault.target, words.process());
  LARDER_CHECK(check_exists(fault.target));
  if (!kind.roles.contains(letter(fault.target))) {
    return wrong(in_quotes(kind.name) + " does not go with " + to_string(fault.target));
  }
  if (!kind.other_word.empty()) {
    LARDER_CHECK(words.expect(kind.other_word));
    LARDER_TRY(fault.other, words.process());
    LARDER_CHECK(check_exists(fault.other));
    if (kind.kind == FaultKind::turn && fault.other.role != Role::master) {
      return wrong("nodes and clients turn to a master, not to " + to_string(fault.other));
    }
    if (fault.other == fault.target) return wrong("both ends are " + to_string(fault.target));
  }
  if (kind.kind == FaultKind::start && fault.target.index == 0) {
    return wrong("master0 runs from the beginning; it is another one that is started beside it");
  }
  const bool has_amount = kind.amount != Amount::none && words.peek() == kind.amount_word;
  if (has_amount || kind.amount_needed) {
    LARDER_CHECK(words.expect(kind.amount_word));
    LARDER_TRY(fault.amount, amount(kind.amount, words));
  }
  if (kind.lasts) {
    LARDER_CHECK(words.expect("for"));
    LARDER_TRY(fault.lasts, words.duration());
  }
  return fault;
}

Result<OperationStep> Reader::operation(ProcessName client, Words& words) const {
  constexpr std::array<std::string_view, 5> names{"put", "upsert", "get", "exists", "remove"};
  LARDER_TRY(const std::string_view verb, words.word("an operation"));
  const auto found = std::ranges::find(names, verb);
  if (found == names.end()) {
    return wrong(in_quotes(verb) + " is no operation; known are put, upsert, get, exists, remove");
  }
  OperationStep step{.client = client.index,
                     .operation = static_cast<Operation>(found - names.begin()),
                     .items = {}};
  do {
    LARDER_TRY(auto next, item(step.operation, words));
    if (step.items.size() == items_per_call_max) {
      return wrong("more than " + std::to_string(items_per_call_max) + " keys in one call");
    }
    step.items.push_back(std::move(next));
  } while (words.take(","));
  if (step.operation == Operation::remove) step.force = words.take("force");
  const bool puts = step.operation == Operation::put || step.operation == Operation::upsert;
  if (puts && words.take("parts")) {
    LARDER_TRY(step.parts, words.number<std::uint32_t>());
    if (step.parts == 0) return wrong("0 parts are none");
  }
  if (words.take("within")) {
    LARDER_TRY(step.time, words.duration());
  }
  return step;
}

Result<OperationStep::Item> Reader::item(Operation operation, Words& words) const {
  OperationStep::Item item;
  LARDER_TRY(const std::string_view key, words.word("a key"));
  item.key = key;
  if (operation == Operation::get) {
    if (words.take("from")) {
      LARDER_TRY(item.range_offset, words.size());
      if (words.peek() != "room") return wrong("'from' needs 'room': how much is wanted");
    }
    if (words.take("room")) {
      LARDER_TRY(item.size, words.size());
      if (item.size == 0_B) return wrong("a room of 0 bytes takes nothing");
    }
  }
  if (operation != Operation::put && operation != Operation::upsert) return item;
  LARDER_TRY(item.size, words.size());
  if (item.size > scenario_.value_max) {
    return wrong("a value of " + size_text(item.size) + ", but 'values up to' says " +
                 size_text(scenario_.value_max));
  }
  for (;;) {
    if (words.take("replicas")) {
      LARDER_TRY(item.replicas, words.number<std::uint32_t>());
    } else if (words.take("group")) {
      LARDER_TRY(item.group, words.word("a group"));
    } else if (words.take("parent")) {
      LARDER_TRY(item.parent, words.word("a key or group"));
    } else if (words.take("soft-pin")) {
      LARDER_TRY(item.soft_pin, words.duration());
    } else if (words.take("ttl")) {
      LARDER_TRY(item.time_to_live, words.duration());
    } else if (words.take("hard-pin")) {
      item.hard_pin = true;
    } else {
      return item;
    }
  }
}

Status Reader::check() const {
  if (scenario_.nodes.empty()) return wrong("it has no node: 'node0 1MiB'");
  if (scenario_.clients.empty()) return wrong("it has no client: 'client0'");
  MasterConfig config;
  config.timing = scenario_.timing;
  const MasterIdentity identity{.epoch = {1}, .instance = {.high = 1, .low = 1}};
  if (const auto made = Master::make(Time(), config, identity, {}); !made) {
    return wrong("its timing makes no sense: " + made.error().facts().detail);
  }
  return {};
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text, std::string_view name) {
  const std::string shown = printable(name, 200);
  Reader reader;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const Status good = reader.line(Words(text.substr(0, end))); !good) {
      return failed(ErrorCode::bad_file,
                    shown + ":" + std::to_string(number) + ": " + good.error().facts().detail);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (const Status good = reader.check(); !good) {
    return failed(ErrorCode::bad_file, shown + ": " + good.error().facts().detail);
  }
  return reader.take();
}

}  // namespace larder::sim
