#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/assert.h"
#include "sim/serving/models/compute.h"
#include "sim/serving/models/model_file.h"
#include "tests/fuzzing/checks.h"
#include "tests/fuzzing/json_patch.h"

// Model files: the first byte says whether the rest is a file, or changes of the file of a preset.
// What is accepted is written as a file that means the same, and its numbers are those of a model:
// none has passed 64 bits, and any GPU either computes it in a time or is refused.

namespace larder::sim {
namespace {

// The parameters once more, as real numbers and from the definition.
long double parameters_expected(const Model& model) {
  using Real = long double;
  const Real hidden = model.hidden;
  const Real heads = model.heads;
  Real attention = 0;
  if (model.latent) {
    const Real query_rank = model.latent->query_rank;
    const Real kv_rank = model.latent->kv_rank;
    const Real rope = model.latent->rope_size;
    const Real nope = model.latent->nope_size;
    const Real value = model.latent->value_size;
    const Real query = heads * (nope + rope);
    attention = (query_rank == 0 ? hidden * query : query_rank * (hidden + query)) +
                hidden * (kv_rank + rope) + kv_rank * heads * (nope + value) +
                heads * value * hidden;
  } else {
    attention = 2 * hidden * model.head_size * (heads + model.kv_heads);
  }
  Real all = model.layers * attention;
  const Real dense = model.mixture ? model.mixture->dense_layers : model.layers;
  all += dense * 3 * hidden * model.feed_forward;
  if (model.mixture) {
    const Real experts = model.mixture->experts;
    all += (model.layers - dense) * (hidden * experts + 3 * hidden * model.mixture->width *
                                                            (experts + model.mixture->shared));
  }
  return all + static_cast<Real>(model.vocabulary) * hidden * (model.tied_embeddings ? 1 : 2);
}

void check_compute(const Model& model) {
  for (const std::string_view name : gpu_preset_names()) {
    for (const std::uint32_t gpus : {1u, 8u}) {
      const auto compute =
          Compute::make({.model = model, .gpu = gpu_preset(name).value(), .gpus = gpus});
      if (!compute) {
        check_refusal(compute.error(), ErrorCode::invalid_params);
        continue;
      }
      LARDER_ASSERT(compute->kv_tokens() > 0 && compute->kv_bytes_each_gpu() > Bytes{});
      Pass prompt;
      prompt.add_prompt(model.context_tokens, 0);
      LARDER_ASSERT(compute->time(prompt) > Duration(0));
    }
  }
}

void check(std::string_view text) {
  const auto model = read_model(text);
  if (!model) return check_refusal(model.error(), ErrorCode::bad_file);
  check_line(model->name);
  const std::string written = write_model(*model);
  const auto again = read_model(written);
  LARDER_ASSERT(again.has_value(), "what was accepted is accepted again");
  LARDER_ASSERT(*again == *model && write_model(*again) == written, "and means the same");
  LARDER_ASSERT(kv_bytes_per_token(*model, KvType::fp8) > Bytes{});
  LARDER_ASSERT(kv_bytes_per_token(*model, KvType::fp16) ==
                kv_bytes_per_token(*model, KvType::fp8) * 2);
  const long double expected = parameters_expected(*model);
  LARDER_ASSERT(std::abs(static_cast<long double>(parameters(*model)) - expected) < 1);
  LARDER_ASSERT(parameters_per_token(*model) <= parameters(*model));
  LARDER_ASSERT(expert_parameters(*model) <= parameters(*model));
  check_compute(*model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] == 'f') {
    check(rest);
    return 0;
  }
  const auto names = model_preset_names();
  const std::string preset = write_model(model_preset(names[data[0] % names.size()]).value());
  check(patched(nlohmann::ordered_json::parse(preset), rest));
  return 0;
}

}  // namespace larder::sim
