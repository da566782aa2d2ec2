#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace larder {

// What a link carries of payload, in bytes a second, by what its data sheet or the kernel says of
// it. docs/simulator.md, "Hardware", has the sources.

// PCIe lanes, by their raw rate in tenths of a GT/s (25, 50, 80, 160 ...): the line code (8/10 up
// to 5 GT/s, 128/130 above), and of each packet of 256 bytes of payload 24 more of framing, header
// and checksum.
constexpr Bytes pcie_rate(std::uint64_t tenths_of_giga_transfers, std::uint64_t lanes) {
  const std::uint64_t bytes = tenths_of_giga_transfers * 100'000'000 * lanes / 8;
  const bool old = tenths_of_giga_transfers <= 50;
  return {(old ? bytes * 8 / 10 : bytes * 128 / 130) * 256 / 280};
}

// A port of so many Mbit/s: RoCE v2 frames of 4,096 bytes of payload take 82 more on the wire.
constexpr Bytes port_rate(std::uint64_t megabits) {
  return {megabits * 1'000'000 / 8 * 4096 / 4178};
}

}  // namespace larder
