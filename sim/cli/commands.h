#pragma once

#include "core/base/error.h"

namespace CLI {
class App;
}

namespace larder::sim {

// The command line of larder-sim. Returns the exit code: 0 done, 1 it could not be done, 2 wrong
// usage, 3 an invariant broke (explore); unless it is 0, a message on stderr says why. Results go
// to stdout.
int run_command_line(int argc, const char* const* argv);

// One function for each subcommand, in a file of its own: adds it to `app`, with a callback that
// runs it and sets `outcome`. An outcome of invalid_params counts as wrong usage. `outcome`
// outlives `app`.
void add_trace(CLI::App& app, Status& outcome);
void add_hit_rate(CLI::App& app, Status& outcome);
void add_policies(CLI::App& app, Status& outcome);
void add_explore(CLI::App& app, Status& outcome);
void add_ablation(CLI::App& app, Status& outcome);
void add_story(CLI::App& app, Status& outcome);
void add_explain(CLI::App& app, Status& outcome);
void add_plan(CLI::App& app, Status& outcome);
void add_sweep(CLI::App& app, Status& outcome);
void add_replay(CLI::App& app, Status& outcome);
void add_lockstep(CLI::App& app, Status& outcome);
void add_compare(CLI::App& app, Status& outcome);
void add_incident(CLI::App& app, Status& outcome);
void add_hardware(CLI::App& app, Status& outcome);
void add_budget(CLI::App& app, Status& outcome);
void add_report(CLI::App& app, Status& outcome);
void add_validate(CLI::App& app, Status& outcome);

}  // namespace larder::sim
