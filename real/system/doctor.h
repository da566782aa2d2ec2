#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "real/system/machine_facts.h"

namespace larder::real {

enum class Verdict : std::uint8_t {
  good,
  note,     // works, and is worth knowing
  warning,  // works, but slower or less than it could
  problem,  // something will not work
};
std::string_view to_string(Verdict verdict);

struct Finding {
  std::string subject;
  std::string found;
  Verdict verdict = Verdict::good;
  std::string advice;  // what to set, as a command where there is one; empty where all is good
};

// What a pool needs that is asked about.
struct DoctorQuestion {
  Bytes memory;                      // that a node shall contribute; 0: not said
  std::vector<std::uint16_t> ports;  // that shall be free
};

// Judges the facts, in a fixed order. Deterministic.
std::vector<Finding> examine(const MachineFacts& facts, const DoctorQuestion& question);

// What only a call shows: whether the clock that leases are counted by works here.
Finding examine_boot_clock();

}  // namespace larder::real
