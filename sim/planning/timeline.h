#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/histogram.h"
#include "sim/capacity/capacity_pool.h"
#include "sim/kernel/event.h"
#include "sim/serving/serving.h"

namespace larder::sim {

// What happened in one piece of virtual time.
struct Interval {
  // Of the requests that arrived in it, once they have ended.
  std::uint64_t arrived = 0;
  std::array<std::uint64_t, outcomes> ended{};
  std::uint64_t blocks = 0;  // of those that began to be computed, as in ServingTotals
  std::uint64_t gpu_hits = 0;
  std::uint64_t host_hits = 0;
  std::uint64_t pool_hits = 0;
  std::array<std::uint64_t, miss_reasons> misses{};
  std::uint64_t input_tokens = 0;
  std::uint64_t computed_tokens = 0;
  Histogram ttft;

  // At its end; sums in it are since the beginning of the run.
  Instant end{};
  PoolGauges pool;
  std::uint64_t waiting = 0;  // requests
  Engine::Busy busy;          // of all engines together

  std::uint64_t hits() const { return gpu_hits + host_hits + pool_hits; }
  void add(const RequestRecord& record);
  // The one behind it becomes part of it.
  void extend(const Interval& next);
};

// A run over virtual time, in intervals of equal length, of which the last one may be shorter.
// However long the run, there are at most `intervals_max`: when there would be more, each two
// become one, and from then on they are twice as long. So memory is bounded.
class Timeline final : private Event {
 public:
  static constexpr Duration shortest = std::chrono::seconds(1);
  // All outlive it. It begins at the kernel's instant 0. Precondition: intervals_max >= 2.
  Timeline(Kernel& kernel, const CapacityPool& pool, Serving& serving, std::size_t intervals_max);

  void ended(const RequestRecord& record) { at(record.arrival).add(record); }
  // The run is over: the last interval ends now.
  void close();

  std::span<const Interval> intervals() const { return intervals_; }
  Duration interval() const { return interval_; }

 private:
  void fire() override;
  void sample();
  void halve();
  Interval& at(Instant instant);

  Kernel& kernel_;
  const CapacityPool& pool_;
  Serving& serving_;
  const std::size_t intervals_max_;
  Duration interval_ = shortest;
  std::vector<Interval> intervals_;
};

}  // namespace larder::sim
