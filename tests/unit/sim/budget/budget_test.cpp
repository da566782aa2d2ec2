#include "sim/budget/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace larder::sim {
namespace {

BudgetConfig config_of(std::string_view cluster, std::string_view model) {
  BudgetConfig config;
  config.hardware = hardware_preset(cluster).value();
  config.model = model_preset(model).value();
  return config;
}

Result<Budget> budget_of(const BudgetConfig& config) {
  LARDER_TRY(const PackingShares packing,
             whole_pages_packed(page_shape(config), segment_to_fill(config)));
  return make_budget(config, packing);
}

std::map<std::string, std::uint64_t> by_name(const std::vector<BudgetPart>& parts) {
  std::map<std::string, std::uint64_t> bytes;
  for (const BudgetPart& part : parts) bytes[part.name] = part.bytes.value;
  return bytes;
}

std::uint64_t sum_of(const std::vector<BudgetPart>& parts) {
  std::uint64_t sum = 0;
  for (const BudgetPart& part : parts) sum += part.bytes.value;
  return sum;
}

void expect_sums(const Budget& budget) {
  Bytes contributed;
  for (const HostBudget& host : budget.hosts) {
    EXPECT_EQ(sum_of(host.parts) + host.left.value, host.installed.value) << host.kind;
    EXPECT_EQ(host.parts[0].bytes, host.contributed);
    contributed += host.contributed * host.count;
  }
  EXPECT_EQ(budget.contributed, contributed);
  EXPECT_EQ(sum_of(budget.use), budget.contributed.value);
}

TEST(Budget, PartsSumToTheMemoryAndUseToWhatIsContributed) {
  for (const std::string_view cluster : hardware_preset_names()) {
    for (const Move::Transport transport : {Move::Transport::verbs, Move::Transport::tcp}) {
      BudgetConfig config = config_of(cluster, "llama-3.1-70b");
      config.transport = transport;
      config.host_cache = cluster.starts_with("cpu") ? Bytes{} : 100_GiB;
      const Result<Budget> budget = budget_of(config);
      ASSERT_TRUE(budget) << cluster << budget.error().message();
      expect_sums(*budget);
      EXPECT_LT(budget->hosts[0].left, 8_MiB) << "all that is left is contributed";
    }
  }
}

// Two sockets of 512 GiB; no GPU, so neither engines nor staging. Each part by hand.
TEST(Budget, AServerWithoutGpusGivesTheRestToThePool) {
  BudgetConfig config = config_of("cpu-2x100", "llama-3.1-70b");
  config.contributed = 900_GiB;
  const Budget budget = budget_of(config).value();
  const auto parts = by_name(budget.hosts[0].parts);
  EXPECT_EQ(budget.hosts[0].installed, 1_TiB);
  EXPECT_EQ(parts.at("pool"), (900_GiB).value);
  EXPECT_EQ(parts.at("host_cache") + parts.at("staging") + parts.at("in_flight"), 0u);
  EXPECT_EQ(parts.at("connections"), 0u);  // no engine anywhere
  EXPECT_EQ(parts.at("reserve"), (16_GiB).value);
  EXPECT_EQ(parts.at("page_structs"), (16_GiB).value);                       // 64 B of each 4 KiB
  EXPECT_EQ(parts.at("page_tables"), (900_GiB).value / 4096 * (8 + 2 * 8));  // and 2 NICs
  EXPECT_EQ(budget.hosts.size(), 1u);
  EXPECT_TRUE(budget.hosts[0].with_master);
}

// 8 x (0.9 x 80 GiB - 70.6 G x 2 / 8) of KV on the GPUs, twice on the host.
TEST(Budget, TheHostCacheIsTwiceTheKvOnTheGpus) {
  const BudgetConfig config = config_of("8xh800-8x200", "llama-3.1-70b");
  const auto parts = by_name(budget_of(config).value().hosts[0].parts);
  const double weights = static_cast<double>(parameters(config.model)) * 2;
  const double kv = 8 * 0.9 * 80 * (1 << 30) - weights;
  EXPECT_NEAR(static_cast<double>(parts.at("host_cache")), 2 * kv, 8 * 2 * 327'680);
  EXPECT_EQ(parts.at("reserve"), (80_GiB).value);
  // A batch of 16 pages of 512 tokens in each direction.
  EXPECT_EQ(parts.at("staging"), 2ULL * 16 * 512 * 327'680);
  EXPECT_EQ(parts.at("in_flight"), 0u);
}

TEST(Budget, WithoutAHostCacheReadsInFlightHaveTheirOwnMemory) {
  BudgetConfig config = config_of("8xh800-8x200", "llama-3.1-70b");
  config.engines = 2;
  config.host_cache = 0_B;
  const auto parts = by_name(budget_of(config).value().hosts[0].parts);
  EXPECT_EQ(parts.at("host_cache"), 0u);
  EXPECT_EQ(parts.at("in_flight"), 2ULL * 2 * 16 * 512 * 327'680);
}

// Pages of 160 MiB in two objects, on 8 hosts up to the high watermark of 95 %.
TEST(Budget, ReplicasDivideWhatIsUsable) {
  BudgetConfig config = config_of("cpu-2x100", "llama-3.1-70b");
  config.contributed = 800_GiB;
  const Budget once = budget_of(config).value();
  config.replicas = 2;
  const Budget twice = budget_of(config).value();
  EXPECT_EQ(once.contributed, 800_GiB * 8);
  EXPECT_EQ(once.usable, once.payload);
  EXPECT_NEAR(static_cast<double>(once.payload.value), 0.95 * 6400 * (1 << 30),
              0.001 * 6400 * (1 << 30));
  EXPECT_EQ(twice.payload, once.payload);
  EXPECT_EQ(twice.usable, once.payload / 2);
  EXPECT_EQ(once.pages, once.payload / 160_MiB);
  EXPECT_EQ(twice.pages, once.pages / 2);
  EXPECT_EQ(once.objects / 2, once.pages);
  EXPECT_NEAR(static_cast<double>(once.tokens), static_cast<double>(once.pages * 512), 512);
}

TEST(Budget, TheMasterIsCountedOnTheFirstHost) {
  BudgetConfig config = config_of("cpu-2x100", "llama-3.1-8b");
  config.page_tokens = 16;  // so pages are small, and metadata counts
  config.hardware.hosts.push_back(hardware_preset("8xh800-8x200")->hosts[0]);
  config.host_cache = 100_GiB;
  const Budget budget = budget_of(config).value();
  expect_sums(budget);
  const auto first = by_name(budget.hosts[0].parts);
  const auto second = by_name(budget.hosts[1].parts);
  EXPECT_EQ(second.at("master_metadata"), 0u);
  EXPECT_NEAR(static_cast<double>(first.at("master_metadata")),
              static_cast<double>(budget.objects * budget.master_each_object.value),
              static_cast<double>(budget.master_each_object.value));
  EXPECT_GT(first.at("master_metadata"), (1_GiB).value);
  EXPECT_EQ(budget.hosts[1].first, 8u);
}

TEST(Budget, WhatDoesNotFitIsRefusedWithTheLargestPart) {
  BudgetConfig config = config_of("cpu-2x100", "llama-3.1-70b");
  config.contributed = 1000_GiB;
  Result<Budget> budget = budget_of(config);
  ASSERT_FALSE(budget);
  EXPECT_EQ(budget.error().code(), ErrorCode::no_available_handle);
  std::string message = budget.error().message();
  for (const char* part :
       {"cpu-2x100", "has 1.00 TiB of memory", "the largest part is contributed", "1000.00 GiB"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
  // Without a wish for the pool it is another part that is too large.
  config = config_of("8xh800-8x200", "llama-3.1-70b");
  config.host_cache = 2_TiB;
  budget = budget_of(config);
  ASSERT_FALSE(budget);
  message = budget.error().message();
  EXPECT_NE(message.find("the largest part is host cache of the engines, 2.00 TiB"),
            std::string::npos)
      << message;
}

TEST(Budget, ImpossibleWishesAreErrors) {
  const auto error_of = [](auto change) {
    BudgetConfig config = config_of("8xh800-8x200", "llama-3.1-70b");
    change(config);
    const Result<Budget> budget = budget_of(config);
    return budget ? std::string("it was possible") : budget.error().message();
  };
  const auto expect = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  };
  expect(error_of([](auto& config) { config.replicas = 0; }), "0 replicas; 1 to 16");
  expect(error_of([](auto& config) { config.replicas = 9; }), "9 replicas lie on as many hosts");
  expect(error_of([](auto& config) { config.engines = 3; }), "3 engines do not divide the 8 GPUs");
  expect(error_of([](auto& config) { config.engines = 8; }), "does not fit");
  expect(error_of([](auto& config) { config.contributed = 0_B; }), "no room for one page");
  expect(error_of([](auto& config) { config.engines = 0, config.host_cache = 1_GiB; }),
         "a host cache is of engines");
  expect(error_of([](auto& config) { config.watermarks.high = 2; }), "watermark");
  // Together they pass 64 bits, and would be next to nothing.
  expect(error_of([](auto& config) {
           config.reserve = Bytes{~std::uint64_t{0}}, config.host_cache = Bytes{1ull << 40};
         }),
         "16384.00 PiB are asked for; at most 1.00 PiB");
}

// Layers x 2 x KV heads x head size x 2 bytes, or layers x (latent + rope) x 2; by hand.
TEST(Budget, E12PagesHaveTheBytesOfTheirTokens) {
  const std::map<std::string, std::uint64_t> of_token{{"llama-3.1-8b", 131'072},
                                                      {"llama-3.1-70b", 327'680},
                                                      {"qwen3-32b", 262'144},
                                                      {"qwen3-235b-a22b", 192'512},
                                                      {"deepseek-v3", 70'272}};
  for (const auto& [model, bytes] : of_token) {
    BudgetConfig config = config_of("cpu-2x100", model);
    EXPECT_EQ(budget_of(config)->page.value, 512 * bytes) << model;
    config.kv_type = KvType::fp8;
    EXPECT_EQ(budget_of(config)->page.value, 256 * bytes) << model;
  }
}

TEST(Budget, OverTcpManyPeersTakeNoMoreThanTheKernelLetsThem) {
  BudgetConfig config = config_of("8xh800-8x200", "llama-3.1-8b");
  config.transport = Move::Transport::tcp;
  config.host_cache = 100_GiB;
  // One engine here and 8 nodes, 8 engines and one node here: 16 pairs of 8 connections.
  EXPECT_EQ(by_name(budget_of(config)->hosts[0].parts).at("connections"), (10_MiB).value * 8 * 16);
  config.hardware.hosts[0].count = 2'000;
  const Budget budget = budget_of(config).value();
  EXPECT_EQ(by_name(budget.hosts[0].parts).at("connections"),
            budget.hosts[0].installed.value / 32 * 3);  // 9.375 %
}

}  // namespace
}  // namespace larder::sim
