#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/topology/hardware.h"
#include "core/topology/near_nic.h"

namespace larder {

// What is the same in all hosts of a kind: the ways between its parts, and which NICs are near to
// which. Parts and links go by their place in the kind's lists; edge 2 l leads along link l, and
// 2 l + 1 against it, unless both directions share the rate: then 2 l is both.
class HostWays {
 public:
  // Precondition: check_hardware found nothing wrong with the kind.
  explicit HostWays(const HardwareHost& host);

  // The edges of the way of the fewest links, in their order.
  std::span<const std::uint32_t> way(std::uint32_t from, std::uint32_t to) const {
    const std::size_t at = from * parts_ + to;
    return std::span(edges_).subspan(begins_[at], begins_[at + 1] - begins_[at]);
  }
  std::span<const NearNic> nics_near(std::uint32_t part) const {
    return std::span(near_).subspan(part * nics_.size(), nics_.size());
  }
  // The parts that are NICs, by their number.
  std::span<const std::uint32_t> nics() const { return nics_; }

 private:
  void find_ways(const HardwareHost& host);
  void rank_nics(const HardwareHost& host);

  std::size_t parts_;
  std::vector<std::uint32_t> nics_;
  std::vector<std::uint32_t> begins_;  // of the ways, all pairs
  std::vector<std::uint32_t> edges_;
  std::vector<NearNic> near_;
};

}  // namespace larder
