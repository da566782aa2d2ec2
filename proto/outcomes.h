#pragma once

#include "proto/columns.h"

// Errors as a column of codes and sparse facts. Only for the codec's own sources.

namespace larder::columns {

// Adds one outcome: `error`, or none.
void add_outcome(const Error* error, wire::Outcomes& out);
// Call it once after the last one: leaves the codes out if all are well.
void close_outcomes(wire::Outcomes& out);

// All outcomes: an error or nothing for each.
Result<std::vector<Status>> take_outcomes(std::string_view message, const wire::Outcomes& in);

}  // namespace larder::columns
