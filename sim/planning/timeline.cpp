#include "sim/planning/timeline.h"

#include <utility>

#include "core/base/assert.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t interval_label = 0x700;

}  // namespace

void Interval::add(const RequestRecord& record) {
  ++arrived;
  ++ended[static_cast<std::size_t>(record.outcome)];
  if (const auto time = record.ttft()) ttft.add(*time);
  if (record.prefill_begin == instant_never) return;
  blocks += record.blocks;
  gpu_hits += record.gpu_hits;
  host_hits += record.host_hits;
  pool_hits += record.pool_hits;
  for (std::size_t i = 0; i < miss_reasons; ++i) misses[i] += record.misses[i];
  input_tokens += record.input_tokens;
  computed_tokens += record.computed_tokens;
}

void Interval::extend(const Interval& next) {
  arrived += next.arrived;
  for (std::size_t i = 0; i < outcomes; ++i) ended[i] += next.ended[i];
  blocks += next.blocks;
  gpu_hits += next.gpu_hits;
  host_hits += next.host_hits;
  pool_hits += next.pool_hits;
  for (std::size_t i = 0; i < miss_reasons; ++i) misses[i] += next.misses[i];
  input_tokens += next.input_tokens;
  computed_tokens += next.computed_tokens;
  ttft.merge(next.ttft);
  end = next.end;
  pool = next.pool;
  waiting = next.waiting;
  busy = next.busy;
}

Timeline::Timeline(Kernel& kernel, const CapacityPool& pool, Serving& serving,
                   std::size_t intervals_max)
    : Event(interval_label),
      kernel_(kernel),
      pool_(pool),
      serving_(serving),
      intervals_max_(intervals_max / 2 * 2) {
  LARDER_ASSERT(intervals_max >= 2);
  intervals_.emplace_back();
  kernel.arm(*this, Instant{} + interval_);
}

// Requests arrive before the end of the last interval, or at it: that instant is the next one's.
Interval& Timeline::at(Instant instant) {
  const auto number = static_cast<std::size_t>((instant - Instant{}) / interval_);
  return intervals_[std::min(number, intervals_.size() - 1)];
}

void Timeline::sample() {
  Interval& last = intervals_.back();
  last.end = kernel_.now();
  last.pool = pool_.gauges();
  last.waiting = 0;
  last.busy = {};
  for (std::size_t number = 0; number < serving_.engines(); ++number) {
    const Engine& engine = serving_.engine(number);
    last.waiting += engine.load().waiting;
    last.busy.prompts += engine.busy().prompts;
    last.busy.decoding += engine.busy().decoding;
  }
}

void Timeline::halve() {
  const std::size_t kept = intervals_.size() / 2;
  for (std::size_t i = 0; i < kept; ++i) {
    intervals_[2 * i].extend(intervals_[2 * i + 1]);
    if (i > 0) intervals_[i] = std::move(intervals_[2 * i]);
  }
  intervals_.resize(kept);
  interval_ *= 2;
}

void Timeline::fire() {
  sample();
  if (intervals_.size() == intervals_max_) halve();
  intervals_.emplace_back();
  kernel_.arm(*this, Instant{} + interval_ * static_cast<std::int64_t>(intervals_.size()));
}

void Timeline::close() {
  kernel_.cancel(*this);
  const Instant began = Instant{} + interval_ * static_cast<std::int64_t>(intervals_.size() - 1);
  // One in which nothing can have happened is none.
  if (intervals_.size() > 1 && kernel_.now() == began && intervals_.back().arrived == 0) {
    intervals_.pop_back();
  } else {
    sample();
  }
}

}  // namespace larder::sim
