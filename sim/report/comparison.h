#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/lockstep/record.h"

namespace larder::sim {

// Two runs in lock step, held against each other.
struct Comparison {
  // Where the kept points part. Between `agreed` and `differs` nothing is known.
  struct Parting {
    std::uint64_t agreed = 0;   // the last request up to which they are known to agree
    std::uint64_t differs = 0;  // the first one at which they are known to differ
    workloads::LockstepPoint first;
    workloads::LockstepPoint second;
  };

  workloads::LockstepRecord first;
  workloads::LockstepRecord second;
  bool agree = false;              // the same requests, and the same digest of their decisions
  std::optional<Parting> parting;  // none where they agree, and where too little was kept

  static Comparison of(workloads::LockstepRecord first, workloads::LockstepRecord second);

  // What each run is called: "real" and "simulated", or with a number where both are of one world.
  std::pair<std::string, std::string> names() const;
  // Settings that are known of both and are not the same: "page_bytes 4096 and 8192".
  std::vector<std::string> different_settings() const;
  // For people, in a sentence or two without line breaks: that they agree, or how they do not.
  std::string verdict() const;
};

}  // namespace larder::sim
