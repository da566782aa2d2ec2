#include "sim/cli/violation.h"

#include <iostream>

#include "terminal/command.h"

namespace larder::sim {

void end_with_violation(const std::string& what) {
  std::cerr << "VIOLATION: " << what << '\n';
  terminal::end_with(found_violation);
}

}  // namespace larder::sim
