#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace larder {

// How near a NIC is to some memory of its host, nearest first.
//
// For a GPU (or disk) the nearest are the NICs with the fewest links between, among those that are
// reached without crossing to another socket; for a socket's DRAM they are all those that are.
// Where there is no such NIC, the fewest links decide among all.
enum class Nearness : std::uint8_t {
  nearest,
  same_socket,
  other_socket,
};

// One NIC as it is seen from some memory.
struct NearNic {
  std::uint32_t nic = 0;  // number among the host's NICs
  std::uint32_t rail = 0;
  Nearness nearness = Nearness::nearest;
  Bytes per_second{};  // of the way between memory and wire, alone on it; above zero
  bool operator==(const NearNic&) const = default;
};

}  // namespace larder
