#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "sim/serving/models/model.h"

namespace larder::sim {

// A model as JSON (docs/simulator.md, "Serving"): the members of Model under their names.

// Errors: bad_file, with the place as a JSON pointer (or line and column) and what is expected
// there. Keys that are unknown, missing or doubled are errors. What was read can be: check_model
// has passed.
Result<Model> read_model(std::string_view text);

// What read_model reads back to the same. Ends with a line end.
std::string write_model(const Model& model);

}  // namespace larder::sim
