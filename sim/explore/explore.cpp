#include "sim/explore/explore.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "core/base/assert.h"
#include "core/base/hash.h"
#include "sim/explore/seed_world.h"

namespace larder::sim {
namespace {

// A broken invariant of a machine, thrown out of the world in which it broke.
struct BrokenInvariant {
  std::string text;
};

thread_local std::uint64_t seed_under_way = 0;

void throw_broken(const char* condition, const char* message, std::source_location where) {
  BrokenInvariant broken{std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                         ": " + condition + (*message != '\0' ? ": " : "") + message};
  // Through a coroutine it cannot be thrown, and the process ends: the seed must be known then.
  std::fprintf(stderr, "larder-sim: seed %llu: %s\n",
               static_cast<unsigned long long>(seed_under_way), broken.text.c_str());
  throw broken;
}

class ThrowingAssertions {
 public:
  ThrowingAssertions() : before_(set_assertion_handler(throw_broken)) {}
  ~ThrowingAssertions() { set_assertion_handler(before_); }
  ThrowingAssertions(const ThrowingAssertions&) = delete;
  ThrowingAssertions& operator=(const ThrowingAssertions&) = delete;

 private:
  AssertionHandler before_;
};

void add(ExploreResult& total, Digest& hashes, SeedResult seed) {
  ++total.seeds;
  hashes.add(seed.state_hash);
  total.events += seed.events;
  total.operations += seed.operations;
  total.gets_ok += seed.gets_ok;
  total.puts_ok += seed.puts_ok;
  total.virtual_time += seed.virtual_time;
  if (seed.violations.empty()) return;
  ++total.violations;
  if (!total.first_failing) total.first_failing = std::move(seed);
}

}  // namespace

SeedResult explore_seed(std::uint64_t seed, const ExploreConfig& config) {
  seed_under_way = seed;
  auto world = std::make_unique<SeedWorld>(seed, config);
  try {
    world->run_under_faults();
    world->run_to_rest();
    return world->result();
  } catch (const BrokenInvariant& broken) {
    SeedResult result = world->result();
    result.violations.push_back({Invariant::machine, Instant{} + result.virtual_time, broken.text});
    // Its machines are broken in the middle of a step; taking them apart could break more.
    static_cast<void>(world.release());
    return result;
  }
}

ExploreResult explore(const ExploreConfig& config, const std::function<void(std::uint64_t)>& done) {
  const ThrowingAssertions throwing;
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  std::uint64_t finished = 0;
  std::map<std::uint64_t, SeedResult> ahead;  // of seeds before which one is still under way
  ExploreResult total;
  Digest hashes;
  const auto work = [&] {
    for (std::uint64_t i = next++; i < config.seeds; i = next++) {
      SeedResult result = explore_seed(config.first_seed + i, config);
      const std::scoped_lock lock(mutex);
      ahead.emplace(i, std::move(result));
      while (!ahead.empty() && ahead.begin()->first == total.seeds) {
        add(total, hashes, std::move(ahead.extract(ahead.begin()).mapped()));
      }
      ++finished;
      if (done) done(finished);
    }
  };
  std::vector<std::jthread> threads;
  const std::uint64_t useful = std::min<std::uint64_t>(config.threads, config.seeds);
  for (std::uint64_t i = 1; i < useful; ++i) threads.emplace_back(work);
  work();
  threads.clear();

  total.state_hash = hashes.value();
  return total;
}

}  // namespace larder::sim
