#include "sim/planning/link_use.h"

#include <algorithm>
#include <utility>

#include "core/base/assert.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

constexpr std::uint32_t link_label = 0x701;

}  // namespace

// ---- what was recorded --------------------------------------------------------------------------

Bytes LinkRecord::moved(std::size_t interval, EdgeId edge) const {
  const std::uint64_t until = moved_[interval * edges() + edge.value];
  return {interval == 0 ? until : until - moved_[(interval - 1) * edges() + edge.value]};
}

Bytes LinkRecord::moved(EdgeId edge) const {
  return {ends_.empty() ? 0 : moved_[(ends_.size() - 1) * edges() + edge.value]};
}

double LinkRecord::share_of(Bytes bytes, EdgeId edge, Duration time) const {
  const double could =
      static_cast<double>(rates_[edge.value].value) * static_cast<double>(time.count()) / 1e9;
  return could > 0 ? static_cast<double>(bytes.value) / could : 0;
}

double LinkRecord::share(std::size_t interval, EdgeId edge) const {
  return share_of(moved(interval, edge), edge, end(interval) - begin(interval));
}

double LinkRecord::share(EdgeId edge) const {
  return ends_.empty() ? 0 : share_of(moved(edge), edge, ends_.back() - Instant{});
}

double LinkRecord::peak(EdgeId edge) const {
  double most = 0;
  const std::size_t whole = std::max<std::size_t>(ends_.size(), 2) - 1;
  for (std::size_t i = 0; i < std::min(whole, ends_.size()); ++i) {
    most = std::max(most, share(i, edge));
  }
  return most;
}

// ---- recording ----------------------------------------------------------------------------------

LinkUse::LinkUse(Kernel& kernel, const Fabric& fabric, std::size_t intervals_max)
    : Event(link_label), kernel_(kernel), fabric_(fabric), intervals_max_(intervals_max / 2 * 2) {
  LARDER_ASSERT(intervals_max >= 2);
  const auto rates = fabric.topology().rates();
  record_.rates_.assign(rates.begin(), rates.end());
  kernel.arm(*this, Instant{} + interval_);
}

void LinkUse::sample() {
  record_.ends_.push_back(kernel_.now());
  for (std::uint32_t edge = 0; edge < record_.edges(); ++edge) {
    record_.moved_.push_back(fabric_.moved_over({edge}).value);
  }
}

void LinkUse::fire() {
  sample();
  std::vector<Instant>& ends = record_.ends_;
  if (ends.size() == intervals_max_) {
    const std::size_t edges = record_.edges();
    const std::size_t kept = ends.size() / 2;
    for (std::size_t i = 0; i < kept; ++i) {
      ends[i] = ends[2 * i + 1];
      const auto from = record_.moved_.begin() + static_cast<std::ptrdiff_t>((2 * i + 1) * edges);
      std::copy_n(from, edges, record_.moved_.begin() + static_cast<std::ptrdiff_t>(i * edges));
    }
    ends.resize(kept);
    record_.moved_.resize(kept * edges);
    interval_ *= 2;
  }
  kernel_.arm(*this, Instant{} + interval_ * static_cast<std::int64_t>(ends.size() + 1));
}

LinkRecord LinkUse::take() {
  kernel_.cancel(*this);
  if (record_.ends_.empty() || record_.ends_.back() < kernel_.now()) sample();
  return std::move(record_);
}

}  // namespace larder::sim
