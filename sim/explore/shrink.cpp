#include "sim/explore/shrink.h"

#include <algorithm>
#include <utility>

#include "sim/explore/guard_names.h"

namespace larder::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t seeds_per_candidate = 10;

class Shrinking {
 public:
  Shrinking(Scenario scenario, const ShrinkConfig& config)
      : best_(std::move(scenario)), guards_(config.guards), config_(config) {}

  std::optional<Shrunk> run();

 private:
  std::optional<Violation> first_violation(const Scenario& scenario, const Guards& guards);
  bool fails(const Scenario& scenario, const Guards& guards);
  bool attempt(Scenario candidate);
  template <class Change>
  bool attempt_change(Change&& change);
  bool ended() const {
    return runs_ >= config_.runs_max || (config_.goes_on && !config_.goes_on());
  }

  bool shrink_guards();
  bool shrink_steps();
  bool shrink_clients();
  bool shrink_nodes();
  bool shrink_shape();
  bool shrink_links();
  bool shrink_operations();
  bool shrink_faults();
  bool shrink_times();

  Scenario best_;
  Guards guards_;
  const ShrinkConfig& config_;
  Invariant wanted_{};
  std::uint32_t runs_ = 0;
};

std::optional<Violation> Shrinking::first_violation(const Scenario& scenario,
                                                    const Guards& guards) {
  ++runs_;
  const RunResult run = run_scenario(scenario, {.guards = guards, .stops_at_first = true});
  if (run.violations.empty()) return std::nullopt;
  return run.violations.front();
}

bool Shrinking::fails(const Scenario& scenario, const Guards& guards) {
  const std::optional<Violation> violation = first_violation(scenario, guards);
  return violation && violation->invariant == wanted_;
}

bool Shrinking::attempt(Scenario candidate) {
  for (std::uint64_t again = 0; again < seeds_per_candidate && !ended(); ++again) {
    if (fails(candidate, guards_)) {
      best_ = std::move(candidate);
      return true;
    }
    ++candidate.seed;
  }
  return false;
}

// `change` says whether it changed anything.
template <class Change>
bool Shrinking::attempt_change(Change&& change) {
  Scenario candidate = best_;
  return change(candidate) && attempt(std::move(candidate));
}

std::optional<Shrunk> Shrinking::run() {
  const std::optional<Violation> violation = first_violation(best_, guards_);
  if (!violation) return std::nullopt;
  wanted_ = violation->invariant;
  // What comes after it has no part in it.
  attempt_change([&](Scenario& it) {
    const Duration end = violation->when - Instant{};
    return std::erase_if(it.steps, [&](const Step& step) { return step.at > end; }) > 0;
  });
  for (bool smaller = true; smaller && !ended();) {
    smaller = shrink_guards();
    smaller = shrink_steps() || smaller;
    smaller = shrink_clients() || smaller;
    smaller = shrink_nodes() || smaller;
    smaller = shrink_links() || smaller;
    smaller = shrink_operations() || smaller;
    smaller = shrink_faults() || smaller;
    smaller = shrink_shape() || smaller;
    smaller = shrink_times() || smaller;
  }
  return Shrunk{
      .scenario = best_,
      .guards = guards_,
      .run = run_scenario(
          best_, {.guards = guards_, .stops_at_first = true, .tells = RunConfig::Tells::all}),
      .runs = runs_};
}

bool Shrinking::shrink_guards() {
  bool smaller = false;
  for (const GuardName& guard : guard_names()) {
    if (guards_.*guard.member || ended()) continue;
    Guards more = guards_;
    more.*guard.member = true;
    if (!fails(best_, more)) continue;
    guards_ = more;
    smaller = true;
  }
  return smaller;
}

// Halves, quarters, … and single steps.
bool Shrinking::shrink_steps() {
  bool smaller = false;
  for (std::size_t length = std::max<std::size_t>(1, best_.steps.size() / 2);; length /= 2) {
    for (std::size_t end = best_.steps.size(); end > 0 && !ended();) {
      const std::size_t begin = end - std::min(length, end);
      const bool gone = attempt_change([&](Scenario& it) {
        it.steps.erase(it.steps.begin() + static_cast<std::ptrdiff_t>(begin),
                       it.steps.begin() + static_cast<std::ptrdiff_t>(end));
        return true;
      });
      smaller = smaller || gone;
      end = begin;
    }
    if (length <= 1) return smaller;
  }
}

// Whether a step names the process.
bool names(const Step& step, ProcessName name) {
  if (const auto* operation = std::get_if<OperationStep>(&step.what)) {
    return name == ProcessName{Role::client, operation->client};
  }
  const Fault& fault = std::get<Fault>(step.what);
  return fault.target == name || (!info(fault.kind).other_word.empty() && fault.other == name);
}

bool named(const Scenario& scenario, ProcessName name) {
  return std::ranges::any_of(scenario.steps, [&](const Step& step) { return names(step, name); });
}

// Those behind it get the number before their own.
void renumber(Scenario& scenario, ProcessName gone) {
  const auto down = [&](ProcessName& name) {
    if (name.role == gone.role && name.index > gone.index) --name.index;
  };
  for (Step& step : scenario.steps) {
    if (auto* operation = std::get_if<OperationStep>(&step.what)) {
      ProcessName client{Role::client, operation->client};
      down(client);
      operation->client = client.index;
    } else {
      down(std::get<Fault>(step.what).target);
      down(std::get<Fault>(step.what).other);
    }
  }
}

bool Shrinking::shrink_clients() {
  bool smaller = false;
  for (auto i = static_cast<std::uint32_t>(best_.clients.size()); i-- > 0 && !ended();) {
    const ProcessName name{Role::client, i};
    smaller = attempt_change([&](Scenario& it) {
                if (it.clients.size() == 1 || named(it, name)) return false;
                it.clients.erase(it.clients.begin() + i);
                renumber(it, name);
                return true;
              }) ||
              smaller;
    // Somebody else may do what it does.
    smaller = attempt_change([&](Scenario& it) {
                if (i == 0 || i >= it.clients.size()) return false;
                for (Step& step : it.steps) {
                  auto* operation = std::get_if<OperationStep>(&step.what);
                  if (operation != nullptr && operation->client == i) operation->client = 0;
                }
                if (named(it, name)) return false;
                it.clients.erase(it.clients.begin() + i);
                renumber(it, name);
                return true;
              }) ||
              smaller;
  }
  return smaller;
}

bool Shrinking::shrink_nodes() {
  bool smaller = false;
  for (auto i = static_cast<std::uint32_t>(best_.nodes.size()); i-- > 0 && !ended();) {
    const ProcessName name{Role::node, i};
    smaller = attempt_change([&](Scenario& it) {
                const bool has_client = std::ranges::any_of(
                    it.clients, [&](const Scenario::Client& each) { return each.on_node == i; });
                if (it.nodes.size() == 1 || named(it, name) || has_client) return false;
                it.nodes.erase(it.nodes.begin() + i);
                for (Scenario::Client& each : it.clients) {
                  if (each.on_node && *each.on_node > i) --*each.on_node;
                }
                renumber(it, name);
                return true;
              }) ||
              smaller;
  }
  return smaller;
}

// Sets a value to what holds without it.
template <class Value>
bool plain(Value& value, const Value& usual) {
  return std::exchange(value, usual) != usual;
}

bool Shrinking::shrink_links() {
  const LinkFaults usual;
  bool smaller = false;
  for (double LinkFaults::* rate : {&LinkFaults::lose, &LinkFaults::duplicate, &LinkFaults::reorder,
                                    &LinkFaults::corrupt, &LinkFaults::corrupt_chunk}) {
    smaller =
        attempt_change([&](Scenario& it) { return plain(it.links.*rate, usual.*rate); }) || smaller;
  }
  for (Duration LinkFaults::* time :
       {&LinkFaults::delay, &LinkFaults::jitter, &LinkFaults::disorder}) {
    smaller =
        attempt_change([&](Scenario& it) { return plain(it.links.*time, usual.*time); }) || smaller;
  }
  return smaller;
}

bool Shrinking::shrink_shape() {
  const Scenario usual;
  bool smaller = false;
  const auto change = [&](auto&& change) { smaller = attempt_change(change) || smaller; };
  change([&](Scenario& it) { return plain(it.policy, usual.policy); });
  change([&](Scenario& it) { return plain(it.one_sided, false); });
  change([&](Scenario& it) { return plain(it.checksum, true); });
  change([&](Scenario& it) { return plain(it.transfer_max, usual.transfer_max); });
  change([&](Scenario& it) { return plain(it.chunk, usual.chunk); });
  change([&](Scenario& it) { return plain(it.nic_per_second, usual.nic_per_second); });
  change([&](Scenario& it) {
    if (it.masters.size() == 1 || named(it, {Role::master, 1})) return false;
    it.masters.resize(1);
    it.shared_state = false;
    return true;
  });
  const auto clocks = [&](auto&& clock_of) {
    change([&](Scenario& it) {
      bool changed = false;
      for (Scenario::Clock& each : it.masters) changed |= clock_of(each);
      for (Scenario::Node& each : it.nodes) changed |= clock_of(each.clock);
      for (Scenario::Client& each : it.clients) changed |= clock_of(each.clock);
      return changed;
    });
  };
  clocks([](Scenario::Clock& clock) { return plain(clock.parts_per_million, std::int64_t{0}); });
  clocks([](Scenario::Clock& clock) { return plain(clock.offset, Duration(0)); });
  return smaller;
}

bool Shrinking::shrink_operations() {
  using Item = OperationStep::Item;
  bool smaller = false;
  for (std::size_t i = best_.steps.size(); i-- > 0 && !ended();) {
    const auto change = [&](auto&& simpler) {
      smaller = attempt_change([&](Scenario& it) {
                  auto* operation = std::get_if<OperationStep>(&it.steps[i].what);
                  return operation != nullptr && simpler(*operation);
                }) ||
                smaller;
    };
    if (!std::holds_alternative<OperationStep>(best_.steps[i].what)) continue;
    for (std::size_t item = std::get<OperationStep>(best_.steps[i].what).items.size();
         item-- > 0;) {
      change([&](OperationStep& it) {
        if (it.items.size() == 1) return false;
        it.items.erase(it.items.begin() + static_cast<std::ptrdiff_t>(item));
        return true;
      });
    }
    change([](OperationStep& it) { return plain(it.parts, 1u); });
    change([](OperationStep& it) { return plain(it.force, false); });
    change([](OperationStep& it) { return plain(it.time, Duration(0)); });
    const auto items = [&](auto&& simpler) {
      change([&](OperationStep& it) {
        bool changed = false;
        for (Item& item : it.items) changed |= simpler(item);
        return changed;
      });
    };
    items([](Item& it) { return plain(it.group, std::string()); });
    items([](Item& it) { return plain(it.parent, std::string()); });
    items([](Item& it) { return plain(it.replicas, 1u); });
    items([](Item& it) {
      const bool pinned = plain(it.soft_pin, Duration(0));
      return plain(it.hard_pin, false) || pinned;
    });
    items([](Item& it) { return plain(it.time_to_live, Duration(0)); });
    items([](Item& it) {
      const Bytes rounded = it.size > 64_B ? Bytes{it.size.value / 2 / 64 * 64} : it.size;
      return plain(it.size, std::max(rounded, std::min(it.size, 64_B)));
    });
  }
  return smaller;
}

bool Shrinking::shrink_faults() {
  bool smaller = false;
  for (std::size_t i = best_.steps.size(); i-- > 0 && !ended();) {
    const auto change = [&](auto&& simpler) {
      return attempt_change([&](Scenario& it) {
        Fault* fault = std::get_if<Fault>(&it.steps[i].what);
        return fault != nullptr && simpler(*fault);
      });
    };
    smaller = change([](Fault& it) {
                return !info(it.kind).amount_needed && plain(it.amount, std::int64_t{0});
              }) ||
              smaller;
    // Shorter, and then in whole milliseconds.
    while (change([](Fault& it) { return plain(it.lasts, std::min(it.lasts, it.lasts / 2)); })) {
      smaller = true;
      if (std::get<Fault>(best_.steps[i].what).lasts < milliseconds(2) || ended()) break;
    }
  }
  return smaller;
}

// The pauses between steps: none, or in whole milliseconds.
bool Shrinking::shrink_times() {
  bool smaller = false;
  for (std::size_t i = best_.steps.size(); i-- > 0 && !ended();) {
    const Duration before = i == 0 ? Duration(0) : best_.steps[i - 1].at;
    const auto pause = [&](Duration shorter) {
      const Duration by = best_.steps[i].at - before - shorter;
      if (by <= Duration(0)) return false;
      return attempt_change([&](Scenario& it) {
        for (std::size_t each = i; each < it.steps.size(); ++each) it.steps[each].at -= by;
        return true;
      });
    };
    const Duration now = best_.steps[i].at - before;
    const Duration whole = std::chrono::duration_cast<milliseconds>(now);
    smaller = pause(Duration(0)) || pause(now / 16) || pause(whole / 2) || smaller;
    if (whole > Duration(0))
      smaller =
          pause(std::chrono::duration_cast<milliseconds>(best_.steps[i].at - before)) || smaller;
  }
  return smaller;
}

}  // namespace

std::optional<Shrunk> shrink(const Scenario& scenario, const ShrinkConfig& config) {
  return Shrinking(scenario, config).run();
}

std::string to_text(const Shrunk& shrunk) {
  std::string text = to_text(shrunk.run.time_line);
  for (const Violation& violation : shrunk.run.violations) {
    text += "broken: " + to_text(violation) + "\n";
  }
  for (const GuardName& guard : guard_names()) {
    if (shrunk.guards.*guard.member) continue;
    text += "the guard '" + std::string(guard.name) +
            "' is off, which should have stopped it: " + "it forbids " +
            std::string(guard.forbids) + "\n";
  }
  return text;
}

}  // namespace larder::sim
