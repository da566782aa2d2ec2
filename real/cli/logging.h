#pragma once

#include <string>

namespace CLI {
class App;
}

namespace larder::real {

// Logs go to stderr, so that stdout has results only.
void start_logging(const std::string& level);
// --log-level. `level` outlives `command`.
void add_log_option(CLI::App& command, std::string& level);

}  // namespace larder::real
