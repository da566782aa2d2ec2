#include "sim/capacity/gauge_series.h"

#include "core/base/assert.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t sample_label = 0x650;

}  // namespace

GaugeSeries::GaugeSeries(Kernel& kernel, const CapacityPool& pool, Duration interval,
                         std::size_t samples_max)
    : Event(sample_label),
      kernel_(kernel),
      pool_(pool),
      interval_(interval),
      samples_max_(samples_max) {
  LARDER_ASSERT(interval > Duration(0) && samples_max >= 2);
  fire();
}

void GaugeSeries::fire() {
  if (samples_.size() == samples_max_) {
    const std::size_t kept = (samples_.size() + 1) / 2;
    for (std::size_t i = 1; i < kept; ++i) samples_[i] = samples_[2 * i];
    samples_.resize(kept);
    interval_ *= 2;
  }
  // Every second one of an even number was dropped: the last one kept is one old interval ago.
  const Instant due = samples_.empty() ? kernel_.now() : samples_.back().at + interval_;
  if (due > kernel_.now()) return kernel_.arm(*this, due);
  samples_.push_back(pool_.gauges());
  kernel_.arm_in(*this, interval_);
}

}  // namespace larder::sim
