#include "sim/cli/costs_argument.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/printable.h"
#include "proto/calibration/calibration_files.h"
#include "proto/hardware/hardware_file.h"
#include "sim/cli/text_file.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

bool is_memory(const HardwareHost& host, const HardwareLink& link) {
  return std::ranges::any_of(link.between, [&](const std::string& name) {
    const auto part = std::ranges::find(host.parts, name, &HardwarePart::name);
    return part != host.parts.end() && part->kind == PartKind::dram;
  });
}

double memory_rate(const HardwareHost& host) {
  double sum = 0;
  for (const HardwareLink& link : host.links) {
    if (is_memory(host, link)) sum += static_cast<double>((link.per_second * link.count).value);
  }
  return sum;
}

Result<Bytes> measured_memory_rate(const std::string& path) {
  LARDER_TRY(const std::string text, read_text_file(path));
  const Result<Hardware> machine = read_hardware(text);
  if (!machine) {
    return failed(machine.error().code(),
                  printable(path, 200) + ": " + machine.error().facts().detail);
  }
  return Bytes{static_cast<std::uint64_t>(memory_rate(machine->hosts.front()))};
}

}  // namespace

Result<LoadedCosts> load_costs(const std::string& file_or_directory) {
  const std::filesystem::path given(file_or_directory);
  std::error_code error;
  const bool directory = std::filesystem::is_directory(given, error);
  const auto has = [&](const char* name) { return std::filesystem::exists(given / name, error); };
  LoadedCosts loaded{.file = file_or_directory};
  if (directory)
    loaded.file = (given / (has("fitted.json") ? "fitted.json" : "costs.json")).string();
  LARDER_TRY(const std::string text, read_text_file(loaded.file));
  Result<CalibratedCosts> costs = read_costs(text);
  if (!costs) {
    return failed(costs.error().code(),
                  printable(loaded.file, 200) + ": " + costs.error().facts().detail);
  }
  loaded.costs = *std::move(costs);
  if (directory && has("host.json")) {
    LARDER_TRY(loaded.memory_per_second, measured_memory_rate((given / "host.json").string()));
  }
  return loaded;
}

void set_memory_rate(Hardware& hardware, Bytes per_second) {
  for (HardwareHost& host : hardware.hosts) {
    const double factor = static_cast<double>(per_second.value) / memory_rate(host);
    for (HardwareLink& link : host.links) {
      if (!is_memory(host, link)) continue;
      const double rate = std::round(static_cast<double>(link.per_second.value) * factor);
      link.per_second = Bytes{static_cast<std::uint64_t>(std::max(1.0, rate))};
    }
  }
}

}  // namespace larder::sim
