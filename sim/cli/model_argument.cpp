#include "sim/cli/model_argument.h"

#include <algorithm>
#include <filesystem>

#include "core/base/printable.h"
#include "sim/cli/text_file.h"
#include "sim/serving/models/model_file.h"

namespace larder::sim {

Result<Model> load_model(const std::string& preset_or_file) {
  const auto presets = model_preset_names();
  if (std::ranges::find(presets, preset_or_file) != presets.end()) {
    return model_preset(preset_or_file);
  }
  std::error_code missing;
  if (!std::filesystem::exists(preset_or_file, missing)) {
    const Result<Model> none = model_preset(preset_or_file);
    return failed(ErrorCode::invalid_params, none.error().facts().detail + "; and no such file");
  }
  LARDER_TRY(const std::string text, read_text_file(preset_or_file));
  Result<Model> model = read_model(text);
  if (model) return model;
  return failed(model.error().code(),
                printable(preset_or_file, 200) + ": " + model.error().facts().detail);
}

}  // namespace larder::sim
