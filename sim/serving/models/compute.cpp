#include "sim/serving/models/compute.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/assert.h"
#include "core/base/size_text.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

constexpr double longest_ns = 4e18;

Duration rounded_up(double seconds) {
  return Duration(static_cast<std::int64_t>(std::min(std::ceil(seconds * 1e9), longest_ns)));
}

Bytes weights(const Model& model) { return Bytes{parameters(model) * model.parameter_bytes}; }

// FLOPs of one query with one key, in all heads of all layers.
double attention_flops(const Model& model) {
  const double sizes =
      model.latent ? model.latent->nope_size + model.latent->rope_size + model.latent->value_size
                   : 2.0 * model.head_size;
  return 2.0 * model.layers * model.heads * sizes;
}

// FLOPs that make K and V of one latent vector, in all layers.
double expanding_flops(const Model& model) {
  if (!model.latent) return 0;
  const double sizes = model.latent->nope_size + model.latent->value_size;
  return 2.0 * model.layers * model.heads * sizes * model.latent->kv_rank;
}

}  // namespace

Compute::Compute(const ServingShape& shape)
    : shape_(shape),
      kv_bytes_each_gpu_(kv_bytes_per_token_and_rank(shape.model, shape.kv_type, shape.gpus)) {
  const auto& [model, gpu, gpus, kv_type, costs] = shape_;
  const bool fp8 = model.parameter_bytes == 1 && gpu.fp8_flops > 0;
  const double linear = gpus * (fp8 ? gpu.fp8_flops : gpu.fp16_flops) * costs.linear_efficiency;
  const double attention = gpus * gpu.fp16_flops * costs.attention_efficiency;
  const double memory = static_cast<double>(gpu.memory_per_second.value) * costs.memory_efficiency;
  const auto experts = static_cast<double>(expert_parameters(model) * model.parameter_bytes);
  each_pass_ = static_cast<double>(costs.each_pass.count()) / 1e9;
  linear_each_token_ = 2.0 * static_cast<double>(parameters_per_token(model)) / linear;
  attention_each_pair_ = attention_flops(model) / attention;
  expanding_each_token_ = expanding_flops(model) / linear;
  reading_each_token_ = static_cast<double>(kv_bytes_each_gpu_.value) / memory;
  dense_weights_ = (static_cast<double>(weights(model).value) - experts) / (gpus * memory);
  expert_weights_ = experts / (gpus * memory);
}

Result<Compute> Compute::make(const ServingShape& shape) {
  const auto& [model, gpu, gpus, kv_type, costs] = shape;
  for (const double share : {costs.linear_efficiency, costs.attention_efficiency,
                             costs.memory_efficiency, costs.memory_share}) {
    if (!(share > 0 && share <= 1)) {
      return failed(ErrorCode::invalid_params,
                    "an efficiency or share of " + std::to_string(share) + " is not in (0, 1]");
    }
  }
  if (gpus == 0 || model.heads % gpus != 0) {
    return failed(ErrorCode::invalid_params, std::to_string(gpus) + " GPUs do not divide the " +
                                                 std::to_string(model.heads) + " heads of " +
                                                 model.name);
  }
  Compute compute(shape);
  const Bytes usable{
      static_cast<std::uint64_t>(static_cast<double>(gpu.memory.value) * costs.memory_share)};
  const Bytes part{(weights(model).value + gpus - 1) / gpus};
  if (part + compute.kv_bytes_each_gpu_ > usable) {
    return failed(ErrorCode::invalid_params,
                  model.name + " does not fit: its weights are " + size_text(weights(model)) +
                      ", " + size_text(part) + " on each of " + std::to_string(gpus) + " " +
                      std::string(gpu.name) + ", which have " + size_text(usable) +
                      " for weights and KV");
  }
  compute.kv_tokens_ = (usable - part) / compute.kv_bytes_each_gpu_;
  return compute;
}

double Compute::seconds(const Pass& pass) const {
  const Model& model = shape_.model;
  const auto tokens = static_cast<double>(pass.tokens_);
  double chosen = 0;  // share of the experts that tokens can choose at most
  if (model.mixture) {
    chosen = std::min(1.0, tokens * model.mixture->active / model.mixture->experts);
  }
  const double reading_weights = dense_weights_ + chosen * expert_weights_;
  return each_pass_ + std::max(tokens * linear_each_token_, reading_weights) +
         static_cast<double>(pass.pairs_) * attention_each_pair_ +
         static_cast<double>(pass.before_) * expanding_each_token_ +
         static_cast<double>(pass.read_) * reading_each_token_;
}

Duration Compute::time(const Pass& pass) const { return rounded_up(seconds(pass)); }

Duration Compute::time(const Decoding& decoding, std::uint64_t steps) const {
  LARDER_ASSERT(decoding.requests > 0);
  Pass first;
  first.add_decode(decoding.requests, decoding.context_tokens);
  const auto count = static_cast<double>(steps);
  const double added = static_cast<double>(decoding.requests) * count * (count - 1) / 2;
  return rounded_up(count * seconds(first) + added * reading_each_token_);
}

}  // namespace larder::sim
