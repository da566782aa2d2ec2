#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace larder::sim {

// Whether so many runs can be under way at once. Errors: invalid_params.
inline Status check_jobs(std::uint32_t jobs) {
  constexpr std::uint32_t jobs_max = 1'024;
  if (jobs >= 1 && jobs <= jobs_max) return {};
  return failed(ErrorCode::invalid_params, "--jobs is " + std::to_string(jobs) +
                                               "; it can be from 1 to " + std::to_string(jobs_max));
}

}  // namespace larder::sim
