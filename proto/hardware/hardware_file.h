#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/topology/hardware.h"

namespace larder {

// Hardware as JSON (docs/simulator.md, "Hardware"): the members of Hardware under their names, with
// units behind them, such as "bytes_per_second" and "latency_ns". A kind of host may also be
// {"preset": NAME, "count": N}, which is written out when it is written again.

// Errors: bad_file, with the place as a JSON pointer (or line and column, where it is no JSON) and
// what is expected there. Keys that are unknown, missing or doubled are errors. What was read can
// be: check_hardware has passed.
Result<Hardware> read_hardware(std::string_view text);

// What read_hardware reads back to the same. Ends with a line end.
std::string write_hardware(const Hardware& hardware);

}  // namespace larder
