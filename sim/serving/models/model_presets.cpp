#include <algorithm>
#include <array>

#include "core/base/printable.h"
#include "sim/serving/models/model.h"

// docs/simulator.md, "Serving", says where these numbers come from.

namespace larder::sim {
namespace {

constexpr std::uint32_t context_128k = 131'072;

const std::array<Model, 7>& presets() {
  static const std::array<Model, 7> all{
      Model{.name = "llama-3.1-8b",
            .layers = 32,
            .hidden = 4'096,
            .heads = 32,
            .kv_heads = 8,
            .head_size = 128,
            .feed_forward = 14'336,
            .vocabulary = 128'256,
            .context_tokens = context_128k},
      Model{.name = "llama-3.1-70b",
            .layers = 80,
            .hidden = 8'192,
            .heads = 64,
            .kv_heads = 8,
            .head_size = 128,
            .feed_forward = 28'672,
            .vocabulary = 128'256,
            .context_tokens = context_128k},
      Model{.name = "qwen2.5-72b",
            .layers = 80,
            .hidden = 8'192,
            .heads = 64,
            .kv_heads = 8,
            .head_size = 128,
            .feed_forward = 29'568,
            .vocabulary = 152'064,
            .context_tokens = context_128k},
      Model{.name = "qwen3-32b",
            .layers = 64,
            .hidden = 5'120,
            .heads = 64,
            .kv_heads = 8,
            .head_size = 128,
            .feed_forward = 25'600,
            .vocabulary = 151'936,
            .context_tokens = context_128k},
      Model{.name = "qwen3-235b-a22b",
            .layers = 94,
            .hidden = 4'096,
            .heads = 64,
            .kv_heads = 4,
            .head_size = 128,
            .mixture = Mixture{.experts = 128, .active = 8, .width = 1'536},
            .vocabulary = 151'936,
            .context_tokens = context_128k},
      Model{
          .name = "deepseek-v3",
          .layers = 61,
          .hidden = 7'168,
          .heads = 128,
          .latent = LatentAttention{.query_rank = 1'536,
                                    .kv_rank = 512,
                                    .rope_size = 64,
                                    .nope_size = 128,
                                    .value_size = 128},
          .feed_forward = 18'432,
          .mixture =
              Mixture{.dense_layers = 3, .experts = 256, .active = 8, .shared = 1, .width = 2'048},
          .vocabulary = 129'280,
          .context_tokens = context_128k,
          .parameter_bytes = 1},
      Model{
          .name = "kimi-k2",
          .layers = 61,
          .hidden = 7'168,
          .heads = 64,
          .latent = LatentAttention{.query_rank = 1'536,
                                    .kv_rank = 512,
                                    .rope_size = 64,
                                    .nope_size = 128,
                                    .value_size = 128},
          .feed_forward = 18'432,
          .mixture =
              Mixture{.dense_layers = 1, .experts = 384, .active = 8, .shared = 1, .width = 2'048},
          .vocabulary = 163'840,
          .context_tokens = context_128k,
          .parameter_bytes = 1},
  };
  return all;
}

}  // namespace

Result<Model> model_preset(std::string_view name) {
  const auto* model = std::ranges::find(presets(), name, &Model::name);
  if (model != presets().end()) return *model;
  std::string known;
  for (const std::string_view each : model_preset_names()) {
    known.append(known.empty() ? "" : ", ").append(each);
  }
  return failed(ErrorCode::invalid_params,
                in_quotes(name) + " is no preset of a model: there are " + known);
}

std::vector<std::string_view> model_preset_names() {
  std::vector<std::string_view> names;
  for (const Model& model : presets()) names.emplace_back(model.name);
  return names;
}

}  // namespace larder::sim
