#pragma once

#include <spdlog/spdlog.h>

#include <cstdint>
#include <string_view>

#include "core/base/time.h"

// Only for sources: spdlog's headers are heavy.

namespace larder::real {

// Lets one line through in each interval, so that a peer that misbehaves a thousand times a second
// fills no disk. Confined to one thread.
class RateLimitedLog {
 public:
  explicit RateLimitedLog(Duration interval = std::chrono::seconds(1)) : interval_(interval) {}

  void warn(Time now, std::string_view line) {
    if (now < next_) {
      ++left_out_;
      return;
    }
    if (left_out_ == 0) {
      spdlog::warn("{}", line);
    } else {
      spdlog::warn("{} (and {} more like it)", line, left_out_);
    }
    left_out_ = 0;
    next_ = now + interval_;
  }

 private:
  Duration interval_;
  Time next_{};
  std::uint64_t left_out_ = 0;
};

}  // namespace larder::real
