#include "sim/explore/explore.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "core/base/hash.h"
#include "sim/explore/draw.h"

namespace larder::sim {
namespace {

void add(ExploreResult& total, Digest& hashes, SeedResult seed) {
  ++total.seeds;
  hashes.add(seed.run.state_hash);
  total.state_hash = total.seeds == 1 ? seed.run.state_hash : hashes.value();
  total.events += seed.run.events;
  total.operations += seed.run.operations;
  total.virtual_time += seed.run.virtual_time;
  if (seed.run.violations.empty()) return;
  ++total.violations;
  if (total.failing.size() < ExploreResult::failing_max) total.failing.push_back(seed.seed);
  if (!seed.run.refused.empty() && total.refusals.size() < ExploreResult::refusals_max) {
    total.refusals.push_back({seed.seed, seed.run.refused});
  }
  if (!total.first_failing) total.first_failing = std::move(seed);
}

}  // namespace

SeedResult explore_seed(std::uint64_t seed, const ExploreConfig& config) {
  const Scenario scenario = draw_scenario(seed, config.operations);
  const RunConfig run{.guards = config.guards};
  SeedResult result{
      .seed = seed, .faults = fault_names(scenario), .run = run_scenario(scenario, run)};
  // A sample: what a run depends on beside its seed would make no failure one that comes back.
  if (config.twice > 0 && seed % config.twice == 0 &&
      run_scenario(scenario, run).state_hash != result.run.state_hash) {
    result.run.violations.push_back({Invariant::repeatable, Instant{} + result.run.virtual_time,
                                     "a second run of the same scenario went another way"});
  }
  return result;
}

ExploreResult explore(const ExploreConfig& config,
                      const std::function<bool(std::uint64_t)>& goes_on) {
  const ThrowingAssertions throwing;
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  std::uint64_t finished = 0;
  std::map<std::uint64_t, SeedResult> ahead;  // of seeds before which one is still under way
  ExploreResult total;
  Digest hashes;
  std::atomic<bool> ends = false;
  const auto work = [&] {
    for (std::uint64_t i = next++; i < config.seeds && !ends; i = next++) {
      SeedResult result = explore_seed(config.first_seed + i, config);
      const std::scoped_lock lock(mutex);
      ahead.emplace(i, std::move(result));
      while (!ahead.empty() && ahead.begin()->first == total.seeds) {
        add(total, hashes, std::move(ahead.extract(ahead.begin()).mapped()));
      }
      ++finished;
      if (goes_on && !goes_on(finished)) ends = true;
    }
  };
  std::vector<std::jthread> threads;
  const std::uint64_t useful = std::min<std::uint64_t>(config.threads, config.seeds);
  for (std::uint64_t i = 1; i < useful; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  return total;
}

}  // namespace larder::sim
