#pragma once

#include <string>

#include "core/base/error.h"
#include "sim/serving/models/model.h"

namespace larder::sim {

// What a person names as a model: a preset, or a model file. Errors: invalid_params, which lists
// the presets, where it is neither; of a file, with its path.
Result<Model> load_model(const std::string& preset_or_file);

}  // namespace larder::sim
