#pragma once

#include <string>

#include "sim/report/comparison.h"

namespace larder::sim {

// The report of two runs as one HTML page: what was run, both side by side, and plots over the
// requests. Complete in itself (it asks no network for anything), light or dark as the reader's
// system is, for screens from a phone's on and for print.
std::string to_html(const Comparison& comparison);

}  // namespace larder::sim
