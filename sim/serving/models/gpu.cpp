#include "sim/serving/models/gpu.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/printable.h"

namespace larder::sim {

using namespace literals;

namespace {

constexpr std::array presets{
    Gpu{"a100", 312e12, 0, 80_GiB, Bytes{2'039'000'000'000}},
    Gpu{"h100", 989.4e12, 1'978.9e12, 80_GiB, Bytes{3'350'000'000'000}},
    Gpu{"h800", 989.4e12, 1'978.9e12, 80_GiB, Bytes{3'350'000'000'000}},
    Gpu{"h20", 148e12, 296e12, 96_GiB, Bytes{4'000'000'000'000}},
    Gpu{"h200", 989.4e12, 1'978.9e12, 140_GiB, Bytes{4'800'000'000'000}},
    Gpu{"l40s", 362.05e12, 733e12, 45_GiB, Bytes{864'000'000'000}},
};

}  // namespace

Result<Gpu> gpu_preset(std::string_view name) {
  const auto* gpu = std::ranges::find(presets, name, &Gpu::name);
  if (gpu != presets.end()) return *gpu;
  std::string known;
  for (const Gpu& each : presets) known.append(known.empty() ? "" : ", ").append(each.name);
  return failed(ErrorCode::invalid_params,
                in_quotes(name) + " is no preset of a GPU: there are " + known);
}

std::vector<std::string_view> gpu_preset_names() {
  std::vector<std::string_view> names;
  for (const Gpu& each : presets) names.push_back(each.name);
  return names;
}

}  // namespace larder::sim
