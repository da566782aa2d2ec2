#pragma once

#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"

namespace larder::sim {

// What a GPU can do at most; docs/simulator.md has the sources.
struct Gpu {
  std::string_view name;
  double fp16_flops = 0;  // a second, bf16 and fp16, dense
  double fp8_flops = 0;   // 0: it has no fp8, and computes such weights at the fp16 rate
  Bytes memory;
  Bytes memory_per_second;
};

// a100, h100, h800, h20, h200, l40s. Errors: invalid_params, which lists those that there are.
Result<Gpu> gpu_preset(std::string_view name);
std::vector<std::string_view> gpu_preset_names();

}  // namespace larder::sim
