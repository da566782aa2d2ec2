#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"

namespace larder::sim {

// The type of the numbers in the KV cache.
enum class KvType : std::uint8_t { fp16, fp8 };
std::string_view kv_type_name(KvType type);
std::optional<KvType> kv_type_named(std::string_view name);
constexpr std::uint64_t bytes_of(KvType type) { return type == KvType::fp16 ? 2 : 1; }

// MLA: all heads' K and V are made of one vector, and that is what is kept.
struct LatentAttention {
  std::uint32_t query_rank = 0;  // 0: queries are not compressed
  std::uint32_t kv_rank = 0;
  std::uint32_t rope_size = 0;   // of a head's part that carries the position
  std::uint32_t nope_size = 0;   // and of the rest
  std::uint32_t value_size = 0;  // of a head
  bool operator==(const LatentAttention&) const = default;
};

// A mixture of experts: all layers but the first few choose among many small feed-forward networks.
struct Mixture {
  std::uint32_t dense_layers = 0;
  std::uint32_t experts = 0;
  std::uint32_t active = 0;  // for each token
  std::uint32_t shared = 0;  // that each token passes beside those
  std::uint32_t width = 0;   // of one
  bool operator==(const Mixture&) const = default;
};

// A transformer by its numbers, as its config.json has them. Feed-forward networks are gated
// (three matrices); norms and biases, under a thousandth of the parameters, are not counted.
struct Model {
  std::string name;
  std::uint32_t layers = 0;
  std::uint32_t hidden = 0;
  std::uint32_t heads = 0;
  // MHA and GQA: K and V of some heads are kept.
  std::uint32_t kv_heads = 0;
  std::uint32_t head_size = 0;
  std::optional<LatentAttention> latent;  // instead of these two
  std::uint32_t feed_forward = 0;         // width in layers that are no mixture; 0: there are none
  std::optional<Mixture> mixture;
  std::uint32_t vocabulary = 0;
  bool tied_embeddings = false;  // input and output share one matrix
  std::uint32_t context_tokens = 0;
  std::uint32_t parameter_bytes = 2;  // 1: fp8 weights, whose products run at the GPU's fp8 rate
  bool operator==(const Model&) const = default;
};

// Whether there can be such a model. Errors: bad_file, beginning with the place in its file.
Status check_model(const Model& model);

// Of one token, in all layers, once: what the pool keeps.
Bytes kv_bytes_per_token(const Model& model, KvType type);
// Of one token, on each of `ranks` GPUs that divide the heads. They keep more together than once
// if there are fewer KV heads than ranks, and always with MLA.
Bytes kv_bytes_per_token_and_rank(const Model& model, KvType type, std::uint32_t ranks);

// Numbers of parameters: all, and those whose products are computed for each token of a prompt
// (without embeddings, and without the output matrix, which only the last token needs).
std::uint64_t parameters(const Model& model);
std::uint64_t parameters_per_token(const Model& model);
// Of the experts in all layers together; 0 if it is no mixture.
std::uint64_t expert_parameters(const Model& model);

// llama-3.1-8b, llama-3.1-70b, qwen2.5-72b, qwen3-32b, qwen3-235b-a22b, deepseek-v3, kimi-k2;
// docs/simulator.md has the sources. Errors: invalid_params, which lists those that there are.
Result<Model> model_preset(std::string_view name);
std::vector<std::string_view> model_preset_names();

}  // namespace larder::sim
