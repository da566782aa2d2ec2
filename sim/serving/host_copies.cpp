#include "sim/serving/host_copies.h"

#include <utility>

#include "core/base/assert.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t copy_label = 0x5e1;

}  // namespace

HostCopies::Instantly::Instantly(HostCopies& copies, Direction direction)
    : Event(copy_label), copies_(copies), direction_(direction) {}

HostCopies::HostCopies(Kernel& kernel, Fabric* fabric, std::vector<PartId> gpus,
                       Bytes block_each_gpu, Owner& owner)
    : kernel_(kernel),
      fabric_(fabric),
      gpus_(std::move(gpus)),
      block_each_gpu_(block_each_gpu),
      owner_(owner),
      instantly_{Instantly(*this, Direction::to_gpu), Instantly(*this, Direction::to_host)} {
  LARDER_ASSERT(!gpus_.empty() && block_each_gpu.value > 0);
  for (Way& way : ways_) way.legs = std::vector<std::optional<Leg>>(gpus_.size());
  if (fabric_ == nullptr) return;
  for (const PartId gpu : gpus_) drams_.push_back(nearest_dram(fabric_->topology(), gpu));
}

PartId HostCopies::nearest_dram(const Topology& topology, PartId gpu) {
  PartId nearest;
  std::size_t links = 0;
  std::vector<EdgeId> path;
  for (const PartId dram : topology.parts_of(topology.host_of(gpu), PartKind::dram)) {
    path.clear();
    topology.append_inside(dram, gpu, path);
    if (links != 0 && path.size() >= links) continue;
    links = path.size();
    nearest = dram;
  }
  LARDER_ASSERT(links != 0, "a host with GPUs and without DRAM");
  return nearest;
}

std::uint32_t HostCopies::begin(Direction direction, std::uint64_t blocks) {
  LARDER_ASSERT(blocks > 0);
  Way& way = ways_[index(direction)];
  way.blocks += blocks;
  const std::uint32_t number = ++way.last;
  if (way.started == way.ended) start(direction);
  return number;
}

void HostCopies::start(Direction direction) {
  Way& way = ways_[index(direction)];
  way.started = way.last;
  const Bytes length = block_each_gpu_ * std::exchange(way.blocks, 0);
  if (fabric_ == nullptr) {
    kernel_.arm(instantly_[index(direction)], kernel_.now());
    return;
  }
  way.legs_left = gpus_.size();
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const bool to_gpu = direction == Direction::to_gpu;
    way.legs[i].emplace(*this, direction, *fabric_,
                        Move::Plan{.from = to_gpu ? drams_[i] : gpus_[i],
                                   .to = to_gpu ? gpus_[i] : drams_[i],
                                   .length = length});
  }
}

void HostCopies::leg_ended(Direction direction) {
  if (--ways_[index(direction)].legs_left == 0) batch_ended(direction);
}

void HostCopies::batch_ended(Direction direction) {
  Way& way = ways_[index(direction)];
  way.ended = way.started;
  const std::uint32_t number = way.ended;
  // The next one first: the owner may begin others.
  if (way.blocks > 0) start(direction);
  owner_.copied(direction, number);
}

void HostCopies::drop() {
  for (Way& way : ways_) {
    for (std::optional<Leg>& leg : way.legs) leg.reset();
    way.blocks = 0;
    way.started = way.ended = way.last;
  }
  for (Instantly& instantly : instantly_) kernel_.cancel(instantly);
}

}  // namespace larder::sim
