#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace larder::sim {

// The texts of the files of one run that its page shows (docs/planning.md has their schema).
struct RunFiles {
  std::string_view run;    // run.json
  std::string_view links;  // links.csv; empty: there is none
};

// The report of a run as one HTML page: figures, plots over time with the faults in them, the
// distribution of the time to first token, why pages were missed, and the use of the links as a
// heat map over a drawing of the hosts. Complete in itself: it asks no network for anything, and
// its content security policy forbids it to. Its script draws what it has from run.json; without
// scripts it says so.
//
// Errors: bad_file, with the file and the place in it.
Result<std::string> run_html(const RunFiles& files);

}  // namespace larder::sim
