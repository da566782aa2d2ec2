#include "sim/cli/hardware_argument.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "core/base/printable.h"
#include "proto/hardware/hardware_file.h"
#include "sim/cli/text_file.h"

namespace larder::sim {

namespace {

Result<Hardware> load_file(const std::string& path) {
  LARDER_TRY(const std::string text, read_text_file(path));
  Result<Hardware> hardware = read_hardware(text);
  if (hardware) return hardware;
  return failed(hardware.error().code(),
                printable(path, 200) + ": " + hardware.error().facts().detail);
}

}  // namespace

std::optional<std::string> calibration_of_cluster(const std::string& cluster) {
  constexpr std::string_view prefix = "calibrated:";
  if (!cluster.starts_with(prefix)) return std::nullopt;
  return cluster.substr(prefix.size());
}

Result<Hardware> load_hardware(const std::string& preset_or_file) {
  if (const auto directory = calibration_of_cluster(preset_or_file)) {
    return load_file((std::filesystem::path(*directory) / "host.json").string());
  }
  const auto presets = hardware_preset_names();
  if (std::ranges::find(presets, preset_or_file) != presets.end()) {
    return hardware_preset(preset_or_file);
  }
  std::error_code missing;
  if (!std::filesystem::exists(preset_or_file, missing)) {
    const Result<Hardware> none = hardware_preset(preset_or_file);
    return failed(ErrorCode::invalid_params, none.error().facts().detail + "; and no such file");
  }
  return load_file(preset_or_file);
}

}  // namespace larder::sim
