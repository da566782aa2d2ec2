#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "sim/explore/scenario_text.h"

namespace larder::sim {
namespace {

// The shortest text that reads as the same number.
std::string number_text(double number) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

std::string bytes_text(Bytes size) {
  constexpr std::array<std::pair<std::uint64_t, const char*>, 3> units{
      {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}}};
  for (const auto& [unit, name] : units) {
    if (size.value >= unit && size.value % unit == 0) {
      return std::to_string(size.value / unit) + name;
    }
  }
  return std::to_string(size.value) + "B";
}

std::string amount_text(Amount kind, std::int64_t amount) {
  switch (kind) {
    case Amount::bytes:
      return bytes_text({static_cast<std::uint64_t>(amount)});
    case Amount::time:
      return duration_text(Duration(amount));
    case Amount::parts_per_million:
      return (amount < 0 ? "" : "+") + std::to_string(amount) + "ppm";
    default:
      return std::to_string(amount);
  }
}

std::string text(const Fault& fault) {
  const FaultInfo& kind = info(fault.kind);
  std::string text = std::string(kind.name) + " " + to_string(fault.target);
  if (!kind.other_word.empty()) {
    text += " " + std::string(kind.other_word) + " " + to_string(fault.other);
  }
  if (kind.amount != Amount::none && (kind.amount_needed || fault.amount != 0)) {
    text += " " + std::string(kind.amount_word) + " " + amount_text(kind.amount, fault.amount);
  }
  if (kind.lasts) text += " for " + duration_text(fault.lasts);
  return text;
}

std::string text(const OperationStep::Item& item, Operation operation) {
  std::string text = item.key;
  const bool puts = operation == Operation::put || operation == Operation::upsert;
  if (puts) text += " " + bytes_text(item.size);
  if (operation == Operation::get) {
    if (item.range_offset) text += " from " + bytes_text(*item.range_offset);
    if (item.size > 0_B) text += " room " + bytes_text(item.size);
  }
  if (!puts) return text;
  if (item.replicas != 1) text += " replicas " + std::to_string(item.replicas);
  if (!item.group.empty()) text += " group " + item.group;
  if (!item.parent.empty()) text += " parent " + item.parent;
  if (item.soft_pin > Duration(0)) text += " soft-pin " + duration_text(item.soft_pin);
  if (item.time_to_live > Duration(0)) text += " ttl " + duration_text(item.time_to_live);
  if (item.hard_pin) text += " hard-pin";
  return text;
}

std::string text(const OperationStep& step) {
  constexpr std::array<const char*, 5> names{"put", "upsert", "get", "exists", "remove"};
  std::string line = to_string(ProcessName{.role = Role::client, .index = step.client}) + " " +
                     names[static_cast<std::size_t>(step.operation)];
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    line += (i == 0 ? " " : ", ") + text(step.items[i], step.operation);
  }
  if (step.force) line += " force";
  if (step.parts != 1) line += " parts " + std::to_string(step.parts);
  if (step.time > Duration(0)) line += " within " + duration_text(step.time);
  return line;
}

std::string text(const Scenario::Clock& clock) {
  if (clock == Scenario::Clock()) return "";
  std::string text = " clock +" + duration_text(clock.offset);
  if (clock.parts_per_million != 0) {
    text += " " + amount_text(Amount::parts_per_million, clock.parts_per_million);
  }
  return text;
}

std::string text(const LinkFaults& links) {
  std::string line;
  const auto chance = [&](const char* name, double value) {
    if (value > 0) line += std::string(" ") + name + " " + number_text(value);
  };
  const auto time = [&](const char* name, Duration value, Duration usual) {
    if (value != usual) line += std::string(" ") + name + " " + duration_text(value);
  };
  chance("lose", links.lose);
  chance("duplicate", links.duplicate);
  chance("reorder", links.reorder);
  chance("corrupt", links.corrupt);
  chance("corrupt-chunk", links.corrupt_chunk);
  time("delay", links.delay, Duration(0));
  time("jitter", links.jitter, Duration(0));
  time("disorder", links.disorder, LinkFaults().disorder);
  return line.empty() ? line : "links" + line + "\n";
}

}  // namespace

std::string duration_text(Duration duration) {
  constexpr std::array<std::pair<std::int64_t, const char*>, 4> units{
      {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}, {1, "ns"}}};
  const std::int64_t count = duration.count();
  for (const auto& [unit, name] : units) {
    if (count < unit) continue;
    std::string text = std::to_string(count / unit);
    std::string rest = std::to_string(unit + count % unit).substr(1);
    rest.erase(rest.find_last_not_of('0') + 1);
    if (!rest.empty()) text += "." + rest;
    return text + name;
  }
  return "0s";
}

std::string step_text(const Step& step) {
  return std::visit([](const auto& what) { return text(what); }, step.what);
}

std::string scenario_text(const Scenario& scenario) {
  const Scenario usual;
  std::string out = "seed " + std::to_string(scenario.seed) + "\n";
  const auto line = [&](bool shown, const std::string& text) {
    if (shown) out += text + "\n";
  };
  line(scenario.policy != usual.policy, "policy " + scenario.policy);
  line(scenario.one_sided, "one-sided");
  line(!scenario.checksum, "no-checksum");
  line(scenario.epochs_of_clock, "epochs-of-clock");
  line(scenario.shared_state, "shared-state");
  line(true, "values up to " + bytes_text(scenario.value_max));
  line(scenario.chunk != usual.chunk, "chunk " + bytes_text(scenario.chunk));
  line(scenario.transfer_max != usual.transfer_max,
       "transfers up to " + bytes_text(scenario.transfer_max));
  line(scenario.nic_per_second != usual.nic_per_second,
       "nic " + bytes_text(scenario.nic_per_second) + " each second");
  for (const TimingName& name : timing_names()) {
    const Duration value = scenario.timing.*name.member;
    line(value != usual.timing.*name.member,
         "timing " + std::string(name.name) + " " + duration_text(value));
  }
  for (std::size_t i = 0; i < scenario.masters.size(); ++i) {
    const std::string clock = text(scenario.masters[i]);
    line(i > 0 || !clock.empty(), "master" + std::to_string(i) + clock);
  }
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    const Scenario::Node& node = scenario.nodes[i];
    line(true, "node" + std::to_string(i) + " " + bytes_text(node.segment) + text(node.clock));
  }
  for (std::size_t i = 0; i < scenario.clients.size(); ++i) {
    const Scenario::Client& client = scenario.clients[i];
    line(true, "client" + std::to_string(i) +
                   (client.on_node ? " on node" + std::to_string(*client.on_node) : "") +
                   text(client.clock));
  }
  out += text(scenario.links);
  for (const Step& step : scenario.steps) {
    out += "at " + duration_text(step.at) + " " + step_text(step) + "\n";
  }
  return out;
}

}  // namespace larder::sim
