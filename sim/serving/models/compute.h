#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/time.h"
#include "sim/serving/models/gpu.h"
#include "sim/serving/models/model.h"

namespace larder::sim {

// What is reached of what a GPU can do at most, and what else a pass costs. All are assumed;
// docs/simulator.md says what they rest on.
struct ComputeCosts {
  double linear_efficiency = 0.55;
  double attention_efficiency = 0.4;
  double memory_efficiency = 0.8;
  double memory_share = 0.9;  // of the GPU's memory, for weights and KV
  Duration each_pass = std::chrono::milliseconds(1);
};

// GPUs that serve one model together, by tensor parallelism.
struct ServingShape {
  Model model;
  Gpu gpu;
  std::uint32_t gpus = 1;
  KvType kv_type = KvType::fp16;
  ComputeCosts costs;
};

// What one pass through all layers computes: chunks of prompts, and one token of each request that
// decodes.
class Pass {
 public:
  // The next tokens of a prompt, `before` of which have their KV already.
  void add_prompt(std::uint64_t tokens, std::uint64_t before) {
    tokens_ += tokens;
    pairs_ += tokens * before + tokens * (tokens + 1) / 2;
    before_ += before;
  }
  void add_decode(std::uint64_t requests, std::uint64_t context_tokens) {
    tokens_ += requests;
    read_ += context_tokens;
  }
  std::uint64_t tokens() const { return tokens_; }

 private:
  friend class Compute;
  std::uint64_t tokens_ = 0;
  std::uint64_t pairs_ = 0;   // of a query and a key
  std::uint64_t before_ = 0;  // tokens whose KV the chunks look at
  std::uint64_t read_ = 0;    // tokens whose KV decoding reads
};

// How long passes take, and how much KV fits: a roofline over the model's and the GPU's numbers.
//
//   pass = each_pass + max(linear, weights) + attention + reading
//
// linear: 2 FLOPs for each parameter and token. attention: of each query with each key before it,
// in all heads and layers, 2 FLOPs for each number of a head's K and V; with MLA also the K and V
// of the context, which each chunk makes of its latent vectors. weights: all that the pass needs
// are read from memory once; of experts as many as its tokens can choose. reading: of the KV that
// decoding looks at. Work and weights are divided evenly over the GPUs.
//
// Not modelled: what the GPUs exchange (it is part of the efficiency), the output matrix,
// sampling, dequantization.
class Compute {
 public:
  // Errors: invalid_params with the numbers, where GPUs do not divide the heads, or the weights
  // leave no room for one token.
  static Result<Compute> make(const ServingShape& shape);

  const ServingShape& shape() const { return shape_; }
  // Whose KV the GPUs hold.
  std::uint64_t kv_tokens() const { return kv_tokens_; }
  // Of one token on each GPU.
  Bytes kv_bytes_each_gpu() const { return kv_bytes_each_gpu_; }

  Duration time(const Pass& pass) const;
  // `steps` passes of decoding alone, one after the other: each adds one token to the context of
  // each request.
  struct Decoding {
    std::uint64_t requests = 0;
    std::uint64_t context_tokens = 0;  // of all requests, before the first step
  };
  Duration time(const Decoding& decoding, std::uint64_t steps) const;

 private:
  explicit Compute(const ServingShape& shape);
  double seconds(const Pass& pass) const;

  ServingShape shape_;
  Bytes kv_bytes_each_gpu_;
  std::uint64_t kv_tokens_ = 0;
  // In seconds:
  double each_pass_;
  double linear_each_token_;
  double attention_each_pair_;
  double expanding_each_token_;
  double reading_each_token_;
  double dense_weights_;
  double expert_weights_;  // of all experts
};

}  // namespace larder::sim
