#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace larder::sim {

// What a plan found (plan.json, docs/planning.md) as an HTML page of the same kind as a run's
// (run_page.h): what is cheapest, the frontiers of cost against the time to first token and against
// GPU time saved, and all settings that were tried.
//
// Errors: bad_file, with the place in it.
Result<std::string> plan_html(std::string_view plan);

}  // namespace larder::sim
