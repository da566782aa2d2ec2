#include "sim/serving/models/compute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace larder::sim {
namespace {

using namespace larder::literals;

// One layer: attention 8 x (2 x 8 + 2 x 8) = 256 parameters, network 3 x 8 x 16 = 384. KV of a
// token: 2 x 2 x 4 x 2 = 32 bytes. Embeddings: 2 x 10 x 8 = 160 parameters.
Model small() {
  return {.name = "small",
          .layers = 1,
          .hidden = 8,
          .heads = 2,
          .kv_heads = 2,
          .head_size = 4,
          .feed_forward = 16,
          .vocabulary = 10,
          .context_tokens = 100};
}

// 1,280 FLOPs of a token take 1 us, 32 of a pair 25 ns; 1,600 bytes of weights take 1.6 us, and
// the 32 of a token's KV 32 ns. All efficiencies are 1.
ServingShape shape() {
  return {.model = small(),
          .gpu = {.name = "slow",
                  .fp16_flops = 1.28e9,
                  .fp8_flops = 0,
                  .memory = Bytes{3'200},
                  .memory_per_second = Bytes{1'000'000'000}},
          .costs = {.linear_efficiency = 1,
                    .attention_efficiency = 1,
                    .memory_efficiency = 1,
                    .memory_share = 1,
                    .each_pass = Duration(100)}};
}

Duration prompt(const ServingShape& shape, std::uint64_t tokens, std::uint64_t before) {
  Pass pass;
  pass.add_prompt(tokens, before);
  return Compute::make(shape).value().time(pass);
}

std::string refused(const ServingShape& shape) {
  const auto compute = Compute::make(shape);
  return compute ? "made" : compute.error().facts().detail;
}

void expect_near(Duration took, double nanoseconds) {
  EXPECT_NEAR(static_cast<double>(took.count()), nanoseconds, 1.01);
}

TEST(Compute, APromptTakesItsLinearLayersAndEachQueryWithEachKeyBeforeIt) {
  // 10 x 1,000 + (1 + ... + 10) x 25 ns: a pair is 2 x 2 x (4 + 4) = 32 FLOPs at 1.28 GFLOPS.
  expect_near(prompt(shape(), 10, 0), 100 + 10'000 + 55 * 25);
  // The same tokens behind 20 others: each also looks at those.
  expect_near(prompt(shape(), 10, 20), 100 + 10'000 + (200 + 55) * 25);
  // In chunks the pairs are the same, and the cost of a pass comes twice.
  EXPECT_NEAR(static_cast<double>((prompt(shape(), 10, 0) - prompt(shape(), 4, 0)).count()),
              static_cast<double>((prompt(shape(), 6, 4) - Duration(100)).count()), 2);
}

TEST(Compute, OneTokenTakesAsLongAsReadingTheWeights) {
  expect_near(prompt(shape(), 1, 0), 100 + 1'600 + 25);
}

TEST(Compute, DecodingReadsItsContextAndStepsGrowWithIt) {
  const Compute compute = Compute::make(shape()).value();
  Pass pass;
  pass.add_decode(2, 50);
  expect_near(compute.time(pass), 100 + 2'000 + 50 * 32);
  // Contexts of 50, 52 and 54.
  expect_near(compute.time({.requests = 2, .context_tokens = 50}, 3), 3 * 2'100 + 156 * 32);
}

TEST(Compute, GpusShareTheWork) {
  ServingShape two = shape();
  two.gpus = 2;
  expect_near(prompt(two, 10, 0), 100 + (10'000 + 55 * 25) / 2.0);
}

TEST(Compute, WhatTheWeightsLeaveIsForKv) {
  const Compute compute = Compute::make(shape()).value();
  EXPECT_EQ(compute.kv_bytes_each_gpu(), 32_B);
  EXPECT_EQ(compute.kv_tokens(), (3'200 - 1'600) / 32);
  // 70.55 G parameters in 2 bytes are 16.43 GiB on each of 8; of 72 GiB 55.57 are left, which are
  // 1.457 M tokens of 40 KiB each.
  const ServingShape large{
      .model = model_preset("llama-3.1-70b").value(), .gpu = gpu_preset("h800").value(), .gpus = 8};
  EXPECT_NEAR(static_cast<double>(Compute::make(large)->kv_tokens()), 1.457e6, 1e3);
}

TEST(Compute, AModelThatDoesNotFitItsGpusIsRefusedWithTheNumbers) {
  ServingShape tight = shape();
  tight.gpu.memory = Bytes{1'631};
  EXPECT_EQ(refused(tight),
            "small does not fit: its weights are 1.56 KiB, 1.56 KiB on each of 1 slow, which have "
            "1.59 KiB for weights and KV");
  tight.gpu.memory = Bytes{1'632};
  EXPECT_EQ(Compute::make(tight)->kv_tokens(), 1);
  const ServingShape deepseek{
      .model = model_preset("deepseek-v3").value(), .gpu = gpu_preset("h800").value(), .gpus = 8};
  EXPECT_THAT(refused(deepseek), testing::HasSubstr("deepseek-v3 does not fit"));
  ServingShape uneven = shape();
  uneven.gpus = 3;
  EXPECT_EQ(refused(uneven), "3 GPUs do not divide the 2 heads of small");
  ServingShape lazy = shape();
  lazy.costs.linear_efficiency = 0;
  EXPECT_EQ(refused(lazy), "an efficiency or share of 0.000000 is not in (0, 1]");
}

TEST(Compute, OfExpertsOnlyThoseThatTokensChooseAreRead) {
  ServingShape shape = larder::sim::shape();
  // Attention 256, choice 8 x 4 = 32, one of 4 experts of 3 x 8 x 10 = 240: 528 for each token.
  shape.model.feed_forward = 0;
  shape.model.mixture = Mixture{.experts = 4, .active = 1, .width = 10};
  // Weights: (256 + 32 + 160) x 2 = 896 ns, and 480 ns for each expert.
  expect_near(prompt(shape, 1, 0), 100 + 896 + 480 + 25);
  expect_near(prompt(shape, 2, 0), 100 + 896 + 2 * 480 + 75);
  expect_near(prompt(shape, 100, 0), 100 + 100 * 825 + 5'050 * 25);  // 1,056 FLOPs in 825 ns
}

TEST(Compute, LatentVectorsOfTheContextAreExpandedByEachChunk) {
  ServingShape shape = larder::sim::shape();
  shape.model.latent = LatentAttention{
      .query_rank = 0, .kv_rank = 4, .rope_size = 2, .nope_size = 3, .value_size = 5};
  // Queries 8 x 2 x 5 = 80, latent 8 x 6 = 48, its expansion 4 x 2 x 8 = 64, output 2 x 5 x 8 = 80,
  // network 384: 656 parameters, 1,025 ns. A pair: 2 x 2 x (5 + 5) = 40 FLOPs, 31.25 ns. The
  // expansion of a token: 2 x 64 = 128 FLOPs, 100 ns.
  expect_near(prompt(shape, 10, 20), 100 + 10 * 1'025 + 255 * 31.25 + 20 * 100);
}

TEST(Compute, Fp8WeightsRunAtTheFp8Rate) {
  ServingShape shape = larder::sim::shape();
  shape.model.parameter_bytes = 1;
  shape.gpu.fp8_flops = 2.56e9;
  expect_near(prompt(shape, 10, 0), 100 + 5'000 + 55 * 25);
  shape.gpu.fp8_flops = 0;
  expect_near(prompt(shape, 10, 0), 100 + 10'000 + 55 * 25);
}

TEST(Gpu, PresetsAreFoundByName) {
  for (const std::string_view name : gpu_preset_names()) {
    EXPECT_EQ(gpu_preset(name)->name, name);
  }
  EXPECT_THAT(gpu_preset("h801").error().message(),
              testing::HasSubstr("'h801' is no preset of a GPU: there are a100, "));
}

}  // namespace
}  // namespace larder::sim
