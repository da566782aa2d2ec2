#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/archive.h"
#include "core/base/time.h"

namespace larder {

// When the puts of this master began, without a byte for each object: put ids grow with time, so a
// bounded list of samples tells it. A sample stands for the puts that began soon after it: how soon
// is 0 at first, and doubles (from 1 ms on) whenever the list is full. So the error grows with the
// age of the master, to at most a 2,000th of it. Only for people: it steers nothing.
class PutTimes {
 public:
  // `counter` of the next put, which begins now. Neither ever decreases.
  void note(std::uint64_t counter, Time now) {
    if (!samples_.empty() && now - samples_.back().time <= spacing_) return;
    if (samples_.size() == samples_max) thin_out();
    samples_.push_back({counter, now});
  }
  // At or before the begin of the put, by no more than the samples are apart; `if_none` for a put
  // that is older than the first sample.
  Time began(std::uint64_t counter, Time if_none) const {
    const auto after = std::ranges::upper_bound(samples_, counter, {}, &Sample::counter);
    return after == samples_.begin() ? if_none : std::prev(after)->time;
  }
  void archive(Archive& archive) { archive(samples_, spacing_); }

 private:
  static constexpr std::size_t samples_max = 4096;
  struct Sample {
    std::uint64_t counter;
    Time time;
  };

  void thin_out() {
    for (std::size_t i = 0; i < samples_.size() / 2; ++i) samples_[i] = samples_[2 * i];
    samples_.resize(samples_.size() / 2);
    spacing_ = std::max(2 * spacing_, Duration(std::chrono::milliseconds(1)));
  }

  std::vector<Sample> samples_;
  Duration spacing_{0};
};

}  // namespace larder
