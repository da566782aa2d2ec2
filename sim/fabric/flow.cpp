#include "sim/fabric/flow.h"

#include <algorithm>
#include <utility>

#include "core/base/assert.h"
#include "sim/fabric/network.h"

namespace larder::sim {

namespace {

constexpr std::uint32_t flow_label = 0xf10;
constexpr std::uint64_t billion = 1'000'000'000;
__extension__ using Wide = unsigned __int128;

}  // namespace

Flow::Flow(Network& network, const Plan& plan)
    : Event(flow_label), network_(network), plan_(plan), chunk_size_(network.config_.chunk) {
  chunks_ = (plan_.length.value + chunk_size_.value - 1) / chunk_size_.value;
  network_.add(*this);
}

Flow::~Flow() { network_.remove(*this); }

void Flow::start() {
  LARDER_ASSERT(stage_ == Stage::created);
  stage_ = Stage::travelling;
  if (plan_.shuffled && chunks_ > 1) {
    order_.resize(chunks_);
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) order_[chunk] = chunk;
    for (std::uint64_t left = chunks_; left > 1; --left) {
      std::swap(order_[left - 1], order_[network_.flow_random_.below(left)]);
    }
  }
  network_.kernel_.arm_in(*this, network_.latency(plan_.route));
}

void Flow::pause() {
  paused_ = true;
  reconsider();
}

void Flow::resume() {
  paused_ = false;
  reconsider();
}

void Flow::fire() {
  if (stage_ == Stage::travelling) {
    stage_ = Stage::moving;
    left_of_chunk_ = chunk_length(0);
    since_ = network_.kernel_.now();
    reconsider();
  } else {
    copy_chunk();
  }
}

void Flow::reconsider() {
  if (stage_ != Stage::moving) return;
  if (paused_ || network_.blocked(plan_.route)) {
    network_.end_rate(*this);
    set_rate(0_B);
  } else {
    network_.start_rate(*this);
  }
}

void Flow::copy_chunk() {
  // What copy() does may change this flow's rate, so the next chunk is prepared first.
  since_ = network_.kernel_.now();
  const std::uint64_t place = next_chunk_++;
  left_of_chunk_ = chunk_length(next_chunk_);
  if (next_chunk_ < chunks_) arm_next_chunk();
  if (place < chunks_) {
    const Bytes length = chunk_length(place);
    copied_ += length;
    network_.counters_.moved += length;
    const Bytes offset = chunk_size_ * (order_.empty() ? place : order_[place]);
    copy(offset, length);
    if (network_.corrupts_chunk(plan_.route)) {
      corrupt(offset + Bytes{network_.flow_random_.below(length.value)});
    }
  }
  if (next_chunk_ < chunks_) return;
  stage_ = Stage::ended;
  network_.end_rate(*this);
  network_.kernel_.cancel(*this);
  finish();
}

void Flow::set_rate(Bytes per_second) {
  const Instant now = network_.kernel_.now();
  const Wide moved = Wide(static_cast<std::uint64_t>((now - since_).count())) * per_second_.value;
  left_of_chunk_ -= std::min(left_of_chunk_, Bytes{static_cast<std::uint64_t>(moved / billion)});
  since_ = now;
  per_second_ = per_second;
  arm_next_chunk();
}

void Flow::arm_next_chunk() {
  if (per_second_ == 0_B) return network_.kernel_.cancel(*this);
  const Wide time =
      (Wide(left_of_chunk_.value) * billion + per_second_.value - 1) / per_second_.value;
  network_.kernel_.arm_in(*this, Duration(static_cast<std::int64_t>(time)));
}

Bytes Flow::chunk_length(std::uint64_t place) const {
  if (place >= chunks_) return 0_B;
  const std::uint64_t chunk = order_.empty() ? place : order_[place];
  return std::min(chunk_size_, plan_.length - chunk_size_ * chunk);
}

}  // namespace larder::sim
