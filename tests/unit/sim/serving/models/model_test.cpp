#include "sim/serving/models/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "sim/serving/models/model_file.h"

namespace larder::sim {
namespace {

Model preset(std::string_view name) { return model_preset(name).value(); }

// Layers x (2 x KV heads x head size, or latent + rope) x bytes of a number.
TEST(Model, E12BytesPerTokenAgreeWithATableComputedByHand) {
  const std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> table{
      {"llama-3.1-8b", {131'072, 65'536}},     // 32 x 2 x 8 x 128 = 65,536
      {"llama-3.1-70b", {327'680, 163'840}},   // 80 x 2 x 8 x 128 = 163,840
      {"qwen2.5-72b", {327'680, 163'840}},     // the same
      {"qwen3-32b", {262'144, 131'072}},       // 64 x 2 x 8 x 128 = 131,072
      {"qwen3-235b-a22b", {192'512, 96'256}},  // 94 x 2 x 4 x 128 = 96,256
      {"deepseek-v3", {70'272, 35'136}},       // 61 x (512 + 64) = 35,136
      {"kimi-k2", {70'272, 35'136}},           // the same
  };
  ASSERT_EQ(table.size(), model_preset_names().size());
  for (const std::string_view name : model_preset_names()) {
    const auto& [fp16, fp8] = table.at(std::string(name));
    EXPECT_EQ(kv_bytes_per_token(preset(name), KvType::fp16), Bytes{fp16}) << name;
    EXPECT_EQ(kv_bytes_per_token(preset(name), KvType::fp8), Bytes{fp8}) << name;
  }
}

TEST(Model, RanksKeepWhatTheyCannotDivide) {
  const auto each = [](std::string_view name, std::uint32_t ranks) {
    return kv_bytes_per_token_and_rank(preset(name), KvType::fp16, ranks).value;
  };
  EXPECT_EQ(each("llama-3.1-70b", 8), 327'680 / 8);    // one head each
  EXPECT_EQ(each("qwen3-235b-a22b", 8), 192'512 / 4);  // 4 heads, each of them twice
  EXPECT_EQ(each("deepseek-v3", 8), 70'272);           // the latent vector on each
}

// The sizes that the model cards state, in billions of parameters: all, and active (which count
// embeddings and output matrix too).
TEST(Model, ParametersAreThoseThatTheModelCardsState) {
  const std::map<std::string, double> stated{
      {"llama-3.1-8b", 8.03},   {"llama-3.1-70b", 70.6}, {"qwen2.5-72b", 72.7}, {"qwen3-32b", 32.8},
      {"qwen3-235b-a22b", 235}, {"deepseek-v3", 671},    {"kimi-k2", 1'026}};
  for (const std::string_view name : model_preset_names()) {
    const double billions = static_cast<double>(parameters(preset(name))) / 1e9;
    EXPECT_NEAR(billions, stated.at(std::string(name)), billions * 0.002) << name;
  }
  const auto active = [](std::string_view name) {
    const Model model = preset(name);
    return std::lround(
        static_cast<double>(parameters_per_token(model) + 2ULL * model.vocabulary * model.hidden) /
        1e9);
  };
  EXPECT_EQ(active("qwen3-235b-a22b"), 22);
  EXPECT_NEAR(static_cast<double>(active("deepseek-v3")), 37, 1);
  EXPECT_NEAR(static_cast<double>(active("kimi-k2")), 32, 1);
}

TEST(Model, AnUnknownPresetIsRefusedWithThoseThatThereAre) {
  EXPECT_THAT(model_preset("gpt-2").error().message(),
              testing::HasSubstr("'gpt-2' is no preset of a model: there are llama-3.1-8b, "));
}

std::string problem(std::string_view text) {
  const auto model = read_model(text);
  return model ? "read" : model.error().facts().detail;
}

constexpr std::string_view small = R"({
  "name": "small", "layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "head_size": 16,
  "feed_forward": 256, "vocabulary": 1e3, "context_tokens": 4096})";

std::string changed(std::string_view from, const std::string& to) {
  std::string text(small);
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(ModelFile, EachPresetIsWrittenAndReadAgain) {
  for (const std::string_view name : model_preset_names()) {
    EXPECT_EQ(read_model(write_model(preset(name))).value(), preset(name)) << name;
  }
}

TEST(ModelFile, AModelIsItsNumbers) {
  const Model model = read_model(small).value();
  EXPECT_EQ(model.vocabulary, 1'000);
  EXPECT_EQ(kv_bytes_per_token(model, KvType::fp16), Bytes{2 * 2 * 2 * 16 * 2});
  // Attention 64 x (2 x 64 + 2 x 32) = 12,288 and network 3 x 64 x 256 = 49,152 in two layers.
  EXPECT_EQ(parameters_per_token(model), 2 * (12'288 + 49'152));
  EXPECT_EQ(parameters(model), 2 * (12'288 + 49'152) + 2 * 64 * 1'000);
}

TEST(ModelFile, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_EQ(problem(changed(R"("heads": 4)", R"("heads": 4, "head": 4)")),
            "the file: 'head' is no key here: there are name, layers, hidden, heads, vocabulary, "
            "context_tokens, kv_heads, head_size, feed_forward, mixture, tied_embeddings, "
            "parameter_bytes, latent");
  EXPECT_EQ(problem(changed(R"("layers": 2, )", "")), "the file: 'layers' is missing");
  EXPECT_EQ(problem(changed(R"("layers": 2)", R"("layers": 0)")),
            "/layers: 0 is not from 1 to 10000");
  EXPECT_EQ(problem(changed(R"("layers": 2)", R"("layers": 2.5)")),
            "/layers: 2.5 is no whole number from 0 on, or too large");
  EXPECT_EQ(problem(changed(R"("layers": 2)", R"("layers": "2")")),
            "/layers: string where a number belongs");
  EXPECT_EQ(problem(changed(R"("kv_heads": 2)", R"("kv_heads": 3)")),
            "/kv_heads: 3 do not divide 4 heads");
  EXPECT_EQ(problem(changed(R"("kv_heads": 2)", R"("kv_heads": 8)")),
            "/kv_heads: 8 is not from 1 to 4");
  EXPECT_EQ(problem(changed(R"("feed_forward": 256, )", "")),
            "/feed_forward: 0 is not from 1 to 10000000");
  EXPECT_EQ(
      problem(changed(R"("vocabulary")", R"("mixture": {"experts": 4, "active": 5, "width": 8},
                                                  "vocabulary")")),
      "/mixture/active: 5 is not from 1 to 4");
  EXPECT_EQ(problem(changed(R"("vocabulary")", R"("mixture": {"experts": 4}, "vocabulary")")),
            "/mixture: 'active' is missing");
  EXPECT_EQ(problem(changed(R"("kv_heads": 2, "head_size": 16)",
                            R"("latent": {"query_rank": 0, "kv_rank": 0, "rope_size": 1,
                                          "nope_size": 1, "value_size": 1})")),
            "/latent/kv_rank: 0 is not from 1 to 10000000");
  EXPECT_EQ(problem(changed(R"("small")", R"("\u001b[31mred")")),
            "/name: wants 1 to 200 bytes of text without control characters, not '\\x1b[31mred'");
  EXPECT_EQ(problem(changed(R"("small")", "\"" + std::string(201, 'x') + "\"")).substr(0, 30),
            "/name: wants 1 to 200 bytes of");
  EXPECT_THAT(problem("{"), testing::StartsWith("the file: no JSON: "));
  EXPECT_EQ(problem("[]"),
            "the file: array where an object belongs, with name, layers, hidden, heads, "
            "vocabulary, context_tokens, kv_heads, head_size");
}

// Each number by itself can be; their products would pass 64 bits, and be small again.
TEST(ModelFile, ProductsThatCannotBeAreRefused) {
  Model model = read_model(small).value();
  model.layers = 10'000;
  model.hidden = 10'000'000;
  model.heads = 10'000;
  model.kv_heads = 10'000;
  model.head_size = 10'000'000;
  EXPECT_EQ(problem(write_model(model)),
            "the model: its layers and vocabulary have more than a million billion parameters "
            "together");
  model = read_model(small).value();
  model.layers = 10'000;
  model.hidden = 1;
  model.heads = 10'000;
  model.kv_heads = 10'000;
  model.head_size = 1'000;
  EXPECT_EQ(problem(write_model(model)),
            "the model: the KV of one token has 400000000000 bytes; at most 4294967296");
  model = preset("deepseek-v3");
  model.latent->query_rank = 4'000'000'000;
  EXPECT_EQ(problem(write_model(model)),
            "/latent/query_rank: 4000000000 is not from 0 to 10000000");
}

}  // namespace
}  // namespace larder::sim
