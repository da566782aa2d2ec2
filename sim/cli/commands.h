#pragma once

#include "core/base/error.h"
#include "terminal/command.h"

namespace larder::sim {

// The command line of larder-sim. Returns the exit code: 0 done, 1 it could not be done, 2 wrong
// usage, 3 an invariant broke (explore); unless it is 0, a message on stderr says why. Results go
// to stdout.
int run_command_line(int argc, const char* const* argv);

// One function for each subcommand, in a file of its own: adds it to `app`, with a callback that
// runs it and sets `outcome`. An outcome of invalid_params counts as wrong usage. `outcome`
// outlives `app`.
void add_trace(terminal::Command app, Status& outcome);
void add_hit_rate(terminal::Command app, Status& outcome);
void add_policies(terminal::Command app, Status& outcome);
void add_explore(terminal::Command app, Status& outcome);
void add_ablation(terminal::Command app, Status& outcome);
void add_story(terminal::Command app, Status& outcome);
void add_explain(terminal::Command app, Status& outcome);
void add_plan(terminal::Command app, Status& outcome);
void add_sweep(terminal::Command app, Status& outcome);
void add_replay(terminal::Command app, Status& outcome);
void add_lockstep(terminal::Command app, Status& outcome);
void add_compare(terminal::Command app, Status& outcome);
void add_incident(terminal::Command app, Status& outcome);
void add_hardware(terminal::Command app, Status& outcome);
void add_budget(terminal::Command app, Status& outcome);
void add_report(terminal::Command app, Status& outcome);
void add_validate(terminal::Command app, Status& outcome);

}  // namespace larder::sim
