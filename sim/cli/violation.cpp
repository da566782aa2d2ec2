#include "sim/cli/violation.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace larder::sim {

void end_with_violation(const std::string& what) {
  std::cerr << "VIOLATION: " << what << '\n';
  throw CLI::RuntimeError(found_violation);
}

}  // namespace larder::sim
