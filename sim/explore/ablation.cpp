#include "sim/explore/ablation.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/assert.h"
#include "sim/explore/draw.h"
#include "sim/explore/guard_names.h"
#include "sim/explore/run.h"
#include "sim/explore/scenario.h"

namespace larder::sim {
namespace {

// A run without some faults draws other fates for what remains: it gets so many attempts.
constexpr std::uint64_t attempts_per_fault = 3;
// Of the time that is to come, for the progress alone: one seed that is explained, in runs.
constexpr double runs_per_explanation = 10;

Guards guards_without(std::span<const std::size_t> off) {
  Guards guards;
  for (const std::size_t each : off) guards.*guard_names()[each].member = false;
  return guards;
}

std::vector<Ablated> configurations() {
  const std::size_t guards = guard_names().size();
  std::vector<Ablated> all(1);
  for (std::size_t a = 0; a < guards; ++a) all.push_back({.off = {a}});
  for (std::size_t a = 0; a < guards; ++a) {
    for (std::size_t b = a + 1; b < guards; ++b) all.push_back({.off = {a, b}});
  }
  return all;
}

// What one seed showed.
struct Seen {
  std::uint64_t wrong_reads = 0;
  bool other = false;
};

struct Explanation {
  std::vector<std::string_view> faults;
  std::uint64_t wrong_reads = 0;
};

class Ablation {
 public:
  Ablation(const AblationConfig& config, const std::function<bool(double)>& goes_on)
      : config_(config), goes_on_(goes_on), all_(configurations()) {}

  AblationResult run();

 private:
  struct Question {
    std::size_t configuration;
    std::uint64_t seed;
  };

  template <class Work>
  void in_parallel(std::uint64_t count, double weight, Work&& work);
  std::size_t place(std::vector<std::size_t> off) const;
  void run_seeds();
  void add_up();
  bool beyond_both(const Ablated& pair, std::uint64_t seed) const;
  std::vector<Question> questions() const;
  void explain();
  std::optional<Scenario> still_wrong(Scenario scenario, const Guards& guards) const;
  Explanation explain(const Question& question) const;

  const AblationConfig& config_;
  const std::function<bool(double)>& goes_on_;
  std::vector<Ablated> all_;
  std::vector<std::vector<Seen>> seen_;  // by configuration and seed
  std::uint64_t seeds_ = 0;              // that all configurations have run
  double work_done_ = 0;
  double work_ = 0;
  std::atomic<bool> ends_ = false;
};

// Seeds are begun in their order.
template <class Work>
void Ablation::in_parallel(std::uint64_t count, double weight, Work&& work) {
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  const auto loop = [&] {
    for (std::uint64_t i = next++; i < count && !ends_; i = next++) {
      work(i);
      const std::scoped_lock lock(mutex);
      work_done_ += weight;
      if (goes_on_ && !goes_on_(std::min(1.0, work_done_ / work_))) ends_ = true;
    }
  };
  std::vector<std::jthread> threads;
  for (std::uint64_t i = 1; i < std::min<std::uint64_t>(config_.threads, count); ++i) {
    threads.emplace_back(loop);
  }
  loop();
}

std::size_t Ablation::place(std::vector<std::size_t> off) const {
  const auto found = std::ranges::find(all_, off, &Ablated::off);
  LARDER_ASSERT(found != all_.end(), "every pair of guards has its configuration");
  return static_cast<std::size_t>(found - all_.begin());
}

void Ablation::run_seeds() {
  seen_.assign(all_.size(), std::vector<Seen>(config_.seeds));
  std::vector<std::uint8_t> done(config_.seeds * all_.size());
  in_parallel(config_.seeds * all_.size(), 1, [&](std::uint64_t number) {
    const std::uint64_t seed = number / all_.size();
    const std::size_t configuration = number % all_.size();
    const RunResult run = run_scenario(draw_scenario(config_.first_seed + seed, config_.operations),
                                       {.guards = guards_without(all_[configuration].off)});
    seen_[configuration][seed] = {.wrong_reads = run.wrong_reads,
                                  .other = run.wrong_reads == 0 && !run.violations.empty()};
    done[number] = 1;
  });
  const auto missing = std::ranges::find(done, std::uint8_t{0});
  seeds_ = static_cast<std::uint64_t>(missing - done.begin()) / all_.size();
}

bool Ablation::beyond_both(const Ablated& pair, std::uint64_t seed) const {
  return seen_[place({pair.off[0]})][seed].wrong_reads == 0 &&
         seen_[place({pair.off[1]})][seed].wrong_reads == 0;
}

void Ablation::add_up() {
  for (std::size_t configuration = 0; configuration < all_.size(); ++configuration) {
    Ablated& total = all_[configuration];
    for (std::uint64_t seed = 0; seed < seeds_; ++seed) {
      const Seen& seen = seen_[configuration][seed];
      total.other_seeds += seen.other ? 1 : 0;
      if (seen.wrong_reads == 0) continue;
      ++total.wrong.seeds;
      total.wrong.reads += seen.wrong_reads;
      if (total.off.size() == 2 && beyond_both(total, seed)) ++total.beyond_both;
    }
  }
}

std::vector<Ablation::Question> Ablation::questions() const {
  std::vector<Question> questions;
  for (std::size_t configuration = 0; configuration < all_.size(); ++configuration) {
    const Ablated& total = all_[configuration];
    std::uint64_t left = config_.explained;
    for (std::uint64_t seed = 0; seed < seeds_ && left > 0; ++seed) {
      if (seen_[configuration][seed].wrong_reads == 0) continue;
      if (total.off.size() == 2 && !beyond_both(total, seed)) continue;
      questions.push_back({configuration, config_.first_seed + seed});
      --left;
    }
  }
  return questions;
}

// The scenario that reads wrong, with what stays random drawn anew a few times. None: it does not.
std::optional<Scenario> Ablation::still_wrong(Scenario scenario, const Guards& guards) const {
  for (std::uint64_t attempt = 0; attempt < attempts_per_fault; ++attempt) {
    if (run_scenario(scenario, {.guards = guards, .stops_at_wrong_read = true}).wrong_reads > 0) {
      return scenario;
    }
    ++scenario.seed;
  }
  return std::nullopt;
}

Explanation Ablation::explain(const Question& question) const {
  const Guards guards = guards_without(all_[question.configuration].off);
  Scenario scenario = draw_scenario(question.seed, config_.operations);
  Scenario calm = scenario;
  for (const FaultOfScenario& fault : faults_of_scenarios()) fault.take_out(calm);
  if (auto wrong = still_wrong(std::move(calm), guards)) {
    scenario = std::move(*wrong);
  } else {
    for (const FaultOfScenario& fault : faults_of_scenarios()) {
      if (!fault.is_in(scenario)) continue;
      Scenario without = scenario;
      fault.take_out(without);
      if (auto smaller = still_wrong(std::move(without), guards)) scenario = std::move(*smaller);
    }
  }
  Explanation explanation{.faults = {},
                          .wrong_reads = run_scenario(scenario, {.guards = guards}).wrong_reads};
  for (const FaultOfScenario& fault : faults_of_scenarios()) {
    if (fault.is_in(scenario)) explanation.faults.push_back(fault.name());
  }
  if (explanation.faults.empty()) explanation.faults.push_back(Ablated::no_fault);
  return explanation;
}

void Ablation::explain() {
  const std::vector<Question> asked = questions();
  std::vector<Explanation> answers(asked.size());
  work_ = work_done_ + runs_per_explanation * static_cast<double>(asked.size());
  in_parallel(asked.size(), runs_per_explanation,
              [&](std::uint64_t i) { answers[i] = explain(asked[i]); });
  if (ends_) return;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Ablated& total = all_[asked[i].configuration];
    ++total.explained;
    for (const std::string_view fault : answers[i].faults) {
      ++total.by_fault[fault].seeds;
      total.by_fault[fault].reads += answers[i].wrong_reads;
    }
  }
}

AblationResult Ablation::run() {
  const ThrowingAssertions throwing;
  work_ = 1.5 * static_cast<double>(config_.seeds * all_.size());
  run_seeds();
  add_up();
  if (!ends_) explain();
  return {.seeds = seeds_, .all = std::move(all_)};
}

}  // namespace

const Ablated& AblationResult::of(std::vector<std::size_t> off) const {
  std::ranges::sort(off);
  const auto found = std::ranges::find(all, off, &Ablated::off);
  LARDER_ASSERT(found != all.end(), "none, one or two guards are off");
  return *found;
}

std::vector<std::size_t> AblationResult::redundant() const {
  std::vector<std::size_t> found;
  for (std::size_t guard = 0; guard < guard_names().size(); ++guard) {
    const bool needed = std::ranges::any_of(all, [&](const Ablated& pair) {
      if (pair.off.size() != 2 || (pair.off[0] != guard && pair.off[1] != guard)) return false;
      const std::size_t partner = pair.off[0] == guard ? pair.off[1] : pair.off[0];
      return pair.wrong.seeds > of({partner}).wrong.seeds;
    });
    if (!needed) found.push_back(guard);
  }
  return found;
}

AblationResult ablate(const AblationConfig& config, const std::function<bool(double)>& goes_on) {
  return Ablation(config, goes_on).run();
}

}  // namespace larder::sim
