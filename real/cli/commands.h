#pragma once

#include <optional>

#include "core/base/error.h"

namespace CLI {
class App;
}

namespace larder::real {

// The command line of larder. Returns the exit code: 0 done, 1 it could not be done, 2 wrong usage,
// 3 (of a master) a newer master leads; unless it is 0, a message on stderr says why. Results go to
// stdout, logs to stderr.
int run_command_line(int argc, const char* const* argv);

// One function for each group of subcommands, in a file of its own: adds them to `app`, each with a
// callback that runs it and sets `outcome`. invalid_params and invalid_key count as wrong usage.
// `outcome` outlives `app`.
void add_servers(CLI::App& app, Status& outcome);  // up, master, node
void add_config(CLI::App& app, Status& outcome);
void add_doctor(CLI::App& app, Status& outcome);
void add_put(CLI::App& app, Status& outcome);
void add_get(CLI::App& app, Status& outcome);
void add_exists(CLI::App& app, Status& outcome);
void add_rm(CLI::App& app, Status& outcome);
void add_ls(CLI::App& app, Status& outcome);
void add_stat(CLI::App& app, Status& outcome);
void add_status(CLI::App& app, Status& outcome);
void add_bench(CLI::App& app, Status& outcome);
void add_calibrate(CLI::App& app, Status& outcome);
void add_replay(CLI::App& app, Status& outcome);

}  // namespace larder::real
