#pragma once

#include <cstdint>
#include <vector>

#include "core/topology/topology.h"
#include "sim/fabric/fabric.h"
#include "sim/kernel/event.h"

namespace larder::sim {

// What each edge of a cluster has carried over virtual time, for a heat map: in stripes that ended
// in an interval.
class LinkRecord {
 public:
  std::size_t intervals() const { return ends_.size(); }
  Instant begin(std::size_t interval) const {
    return interval == 0 ? Instant{} : ends_[interval - 1];
  }
  Instant end(std::size_t interval) const { return ends_[interval]; }
  std::uint32_t edges() const { return static_cast<std::uint32_t>(rates_.size()); }

  Bytes moved(std::size_t interval, EdgeId edge) const;
  // Over what it can carry in that time; of an edge for both directions, what they share.
  double share(std::size_t interval, EdgeId edge) const;
  // Of the whole run.
  Bytes moved(EdgeId edge) const;
  double share(EdgeId edge) const;
  // Its largest share in one interval; the last one, which may be short, only where it is alone.
  double peak(EdgeId edge) const;

 private:
  friend class LinkUse;
  double share_of(Bytes bytes, EdgeId edge, Duration time) const;

  std::vector<Bytes> rates_;  // by edge; empty without a fabric
  std::vector<Instant> ends_;
  std::vector<std::uint64_t> moved_;  // by end and edge, since the beginning
};

// Keeps such a record. As a Timeline it has at most `intervals_max` intervals of equal length,
// which double: 8 bytes for each of them and edge.
class LinkUse final : private Event {
 public:
  static constexpr Duration shortest = std::chrono::seconds(1);
  // All outlive it. Precondition: intervals_max >= 2.
  LinkUse(Kernel& kernel, const Fabric& fabric, std::size_t intervals_max);

  // The run is over: the last interval ends now. Once.
  LinkRecord take();

 private:
  void fire() override;
  void sample();

  Kernel& kernel_;
  const Fabric& fabric_;
  const std::size_t intervals_max_;
  Duration interval_ = shortest;
  LinkRecord record_;
};

}  // namespace larder::sim
