#include "sim/explore/scenario.h"

#include <algorithm>
#include <array>

namespace larder::sim {

Promises promises(const Scenario& scenario) {
  Promises promises;
  if (scenario.links.corrupt_chunk > 0) promises.parts_whole = false;
  for (const Step& step : scenario.steps) {
    const Fault* fault = std::get_if<Fault>(&step.what);
    if (fault == nullptr) continue;
    if (fault->kind == FaultKind::start || fault->kind == FaultKind::lose_state) {
      promises.not_superseded = false;
    }
    if (fault->kind == FaultKind::flip) promises.parts_whole = false;
  }
  return promises;
}

std::span<const TimingName> timing_names() {
  static constexpr std::array<TimingName, 18> names{{
      {"heartbeat", &Timing::heartbeat},
      {"hidden-after-silence", &Timing::hidden_after_silence},
      {"hidden-after-disconnect", &Timing::hidden_after_disconnect},
      {"node-lost", &Timing::node_lost},
      {"session-lost", &Timing::session_lost},
      {"recovery", &Timing::recovery},
      {"lease", &Timing::lease},
      {"exists-lease", &Timing::exists_lease},
      {"wait-for-space", &Timing::wait_for_space},
      {"fill-stalled", &Timing::fill_stalled},
      {"retirement-sick", &Timing::retirement_sick},
      {"retirement-lost", &Timing::retirement_lost},
      {"retirement-retry", &Timing::retirement_retry},
      {"view-limit", &Timing::view_limit},
      {"control-deadline", &Timing::control_deadline},
      {"endpoint-retry", &Timing::endpoint_retry},
      {"busy-queue", &Timing::busy_queue},
      {"stale-heartbeat", &Timing::stale_heartbeat},
  }};
  return names;
}

std::span<const FaultOfScenario> faults_of_scenarios() {
  static const std::vector<FaultOfScenario> all = [] {
    std::vector<FaultOfScenario> faults;
    const auto add = [&](std::string_view name) -> FaultOfScenario& {
      faults.emplace_back().name_ = name;
      return faults.back();
    };
    for (const FaultInfo& each : all_faults()) add(each.name).kind_ = each.kind;
    add("messages lost").chance_ = &LinkFaults::lose;
    add("duplicated").chance_ = &LinkFaults::duplicate;
    add("reordered").chance_ = &LinkFaults::reorder;
    add("late").time_ = &LinkFaults::delay;
    add("delayed").time_ = &LinkFaults::jitter;
    add("corrupted").chance_ = &LinkFaults::corrupt;
    add("bytes corrupted").chance_ = &LinkFaults::corrupt_chunk;
    return faults;
  }();
  return all;
}

bool FaultOfScenario::is_in(const Scenario& scenario) const {
  if (chance_ != nullptr) return scenario.links.*chance_ > 0;
  if (time_ != nullptr) return scenario.links.*time_ > Duration(0);
  return std::ranges::any_of(scenario.steps, [&](const Step& step) {
    const Fault* fault = std::get_if<Fault>(&step.what);
    return fault != nullptr && fault->kind == kind_;
  });
}

void FaultOfScenario::take_out(Scenario& scenario) const {
  if (chance_ != nullptr) scenario.links.*chance_ = 0;
  if (time_ != nullptr) scenario.links.*time_ = Duration(0);
  std::erase_if(scenario.steps, [&](const Step& step) {
    const Fault* fault = std::get_if<Fault>(&step.what);
    return fault != nullptr && fault->kind == kind_;
  });
}

std::string fault_names(const Scenario& scenario) {
  std::string names;
  for (const FaultOfScenario& each : faults_of_scenarios()) {
    if (!each.is_in(scenario)) continue;
    names += (names.empty() ? "" : ", ") + std::string(each.name());
  }
  return names.empty() ? "none" : names;
}

}  // namespace larder::sim
