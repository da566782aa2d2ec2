#pragma once

#include <string>

#include "core/protocol/answer.h"
#include "real/cli/json_output.h"

namespace larder::real {

// What changed between two reports of one master, and in how long. Reports of different masters:
// nothing is known.
struct StatusChange {
  const StatusReport* before = nullptr;
  double seconds = 0;
};

// For people, and for programs (sizes in bytes, times in seconds). With a change also the rates.
std::string status_text(const StatusReport& report, const std::string& master,
                        const StatusChange& change);
ordered_json status_json(const StatusReport& report, const std::string& master,
                         const StatusChange& change);

}  // namespace larder::real
