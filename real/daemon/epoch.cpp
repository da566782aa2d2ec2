#include "real/daemon/epoch.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace larder::real {

Result<Epoch> next_epoch(std::uint64_t wall_clock_ms, Epoch last, std::uint16_t random_bits) {
  constexpr std::uint64_t clock_max = (std::uint64_t{1} << 48) - 1;
  const std::uint64_t clock = std::max(wall_clock_ms, (last.value >> 16) + 1);
  if (clock > clock_max) {
    return failed(ErrorCode::invalid_params,
                  "no epoch comes after " + std::to_string(last.value) +
                      ", which --epoch-after or the state directory names");
  }
  return Epoch{clock << 16 | random_bits};
}

Status check_shown_epoch(const ShownEpoch& epoch) {
  if (epoch.shown <= epoch.own) return {};
  const std::uint64_t now = std::max(epoch.wall_clock_ms, epoch.own.value >> 16);
  const std::uint64_t ahead = (epoch.shown.value >> 16) - std::min(now, epoch.shown.value >> 16);
  if (ahead <= epoch_ahead_ms_max) return {};
  return failed(
      ErrorCode::invalid_params,
      "epoch " + std::to_string(epoch.shown.value) + " is " + std::to_string(ahead / 1000) +
          " s ahead of this master's clock and of its epoch " + std::to_string(epoch.own.value) +
          ": not believed; if a master had it, start this one with --epoch-after " +
          std::to_string(epoch.shown.value));
}

std::uint64_t wall_clock_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace larder::real
