#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "sim/explore/run.h"

namespace larder::sim {

// What everyone who operates such a store asks about, each as a scenario that runs on the real
// machines.
struct Story {
  std::string_view name;
  std::string_view question;
  std::string_view answer;    // in a sentence or two
  std::string_view scenario;  // its text
};
std::span<const Story> stories();

// Runs it, and tells what happened: who notices, who cleans up and when, and the answer. The same
// each time.
// Precondition: the scenario is sound.
std::string tell(const Story& story);

}  // namespace larder::sim
