#pragma once

#include <functional>
#include <string>

#include "sim/fabric/content.h"

namespace larder::sim {

// Tells each valid footer of a segment that does not stand behind the whole payload of its put,
// with the checksum that it says. `where`: the segment, for people. One pass over the memory.
void check_footers(const TrackedMemory& memory, const std::string& where,
                   const std::function<void(const std::string&)>& violation);

}  // namespace larder::sim
