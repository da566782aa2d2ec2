#pragma once

#include <optional>

#include "core/base/error.h"
#include "terminal/command.h"

namespace larder::real {

// The command line of larder. Returns the exit code: 0 done, 1 it could not be done, 2 wrong usage,
// 3 (of a master) a newer master leads; unless it is 0, a message on stderr says why. Results go to
// stdout, logs to stderr.
int run_command_line(int argc, const char* const* argv);

// One function for each group of subcommands, in a file of its own: adds them to `app`, each with a
// callback that runs it and sets `outcome`. invalid_params and invalid_key count as wrong usage.
// `outcome` outlives `app`.
void add_servers(terminal::Command app, Status& outcome);  // up, master, node
void add_config(terminal::Command app, Status& outcome);
void add_doctor(terminal::Command app, Status& outcome);
void add_put(terminal::Command app, Status& outcome);
void add_get(terminal::Command app, Status& outcome);
void add_exists(terminal::Command app, Status& outcome);
void add_rm(terminal::Command app, Status& outcome);
void add_ls(terminal::Command app, Status& outcome);
void add_stat(terminal::Command app, Status& outcome);
void add_status(terminal::Command app, Status& outcome);
void add_bench(terminal::Command app, Status& outcome);
void add_calibrate(terminal::Command app, Status& outcome);
void add_replay(terminal::Command app, Status& outcome);

}  // namespace larder::real
