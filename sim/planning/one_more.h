#pragma once

#include <string>
#include <vector>

#include "sim/planning/setting.h"

namespace larder::sim {

// A setting with one more of one resource, for the question which of them is the bottleneck.
struct OneMore {
  std::string resource;
  std::string change;  // "each host has 9 NICs' rates instead of 8"
  Setting setting;
};

// For each resource, in a fixed order; those that the setting does not use are left out. What
// becomes of memory is not held against what the hosts have: they get as much more.
std::vector<OneMore> one_more_of_each(const Setting& setting);

}  // namespace larder::sim
