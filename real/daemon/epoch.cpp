#include "real/daemon/epoch.h"

#include <algorithm>
#include <chrono>

namespace larder::real {

Epoch next_epoch(std::uint64_t wall_clock_ms, Epoch last, std::uint16_t random_bits) {
  return {std::max(wall_clock_ms, (last.value >> 16) + 1) << 16 | random_bits};
}

std::uint64_t wall_clock_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace larder::real
