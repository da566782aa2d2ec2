#pragma once

#include <string_view>

namespace larder::sim {

// The scripts of pages (run_page.h, plan_page.h), which draw what stands as JSON in elements of the
// page. All texts of files become text nodes, so that none can be markup.

// What both have in common: elements, numbers for people, tables. Stands before them.
std::string_view script_tools();
// pool_curve() for run_script(): what the pool of a run found beside what others would have.
std::string_view curve_script();
// Draws the elements `run` and `links`.
std::string_view run_script();
// Draws the element `plan`.
std::string_view plan_script();

}  // namespace larder::sim
