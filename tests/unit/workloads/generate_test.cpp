#include "workloads/generate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/files/temporary.h"
#include "tests/unit/workloads/read.h"
#include "workloads/mooncake.h"
#include "workloads/statistics.h"

namespace larder::workloads {
namespace {

using namespace std::chrono_literals;

std::string text_of(const GeneratorOptions& options) {
  const auto reader = generate_trace(options);
  EXPECT_TRUE(reader) << reader.error().message();
  std::string text;
  while (true) {
    const auto request = (*reader)->next();
    EXPECT_TRUE(request) << request.error().message();
    if (!request || *request == nullptr) return text;
    text += mooncake_line(**request);
  }
}

std::vector<OwnedRequest> requests_of(const GeneratorOptions& options) {
  const auto reader = generate_trace(options);
  EXPECT_TRUE(reader) << reader.error().message();
  return *read_all(**reader);
}

TraceStatistics statistics_of(const GeneratorOptions& options) {
  const auto reader = generate_trace(options);
  EXPECT_TRUE(reader) << reader.error().message();
  return *trace_statistics(**reader);
}

GeneratorOptions only(SessionKind kind, GeneratorOptions options = {}) {
  for (const SessionKind other : session_kinds) options.shape(other).weight = other == kind ? 1 : 0;
  return options;
}

TEST(Generate, TheShippedSampleIsWhatTheGeneratorMakes) {
  std::ifstream file("workloads/samples/sessions.jsonl", std::ios::binary);
  ASSERT_TRUE(file) << "the sample is missing, or this does not run from the project's root";
  const std::string shipped{std::istreambuf_iterator<char>(file), {}};
  EXPECT_LT(shipped.size(), 300u << 10);
  EXPECT_EQ(shipped, text_of({.requests = 400}))
      << "if this is wanted: larder-sim trace generate --requests 400 "
         "--out workloads/samples/sessions.jsonl";
}

TEST(Generate, TheSampleHasHitsAndMisses) {
  const TraceStatistics sum = statistics_of({.requests = 400});
  EXPECT_EQ(sum.requests, 400u);
  EXPECT_GT(sum.block_hits, sum.block_accesses / 4);
  EXPECT_GT(sum.unique_blocks, sum.block_accesses / 4);
}

TEST(Generate, TheTraceIsATruePrefixTreeWithIdsByFirstUse) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const GeneratorOptions options{.seed = seed, .requests = 2'000, .block_tokens = 64};
    EXPECT_EQ(statistics_of(options).trie_violations, 0u);
    std::uint64_t next = 0;
    for (const OwnedRequest& one : requests_of(options)) {
      EXPECT_EQ(one.blocks.size(), (one.request.input_tokens + 63) / 64);
      for (const BlockId id : one.blocks) {
        EXPECT_LE(id.value, next);
        if (id.value == next) ++next;
      }
    }
  }
}

TEST(Generate, WhatIsWrittenReadsBackAsItWas) {
  const TemporaryDirectory directory;
  const GeneratorOptions options{.requests = 500};
  const auto read = read_all({directory.file("t.jsonl", text_of(options))});
  ASSERT_TRUE(read) << read.error().message();
  const std::vector<OwnedRequest> made = requests_of(options);
  ASSERT_EQ(read->size(), made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ((*read)[i].request.arrival, made[i].request.arrival);
    EXPECT_EQ((*read)[i].request.input_tokens, made[i].request.input_tokens);
    EXPECT_EQ((*read)[i].request.output_tokens, made[i].request.output_tokens);
    EXPECT_EQ((*read)[i].blocks, made[i].blocks);
  }
}

TEST(Generate, AnotherSeedIsAnotherTrace) {
  EXPECT_EQ(text_of({.seed = 7, .requests = 50}), text_of({.seed = 7, .requests = 50}));
  EXPECT_NE(text_of({.seed = 7, .requests = 50}), text_of({.seed = 8, .requests = 50}));
}

TEST(Generate, TheRateIsMetOverALongTrace) {
  GeneratorOptions options{.requests = 40'000, .requests_per_second = 20};
  const TraceStatistics sum = statistics_of(options);
  const double seconds = std::chrono::duration<double>(sum.last_arrival).count();
  EXPECT_NEAR(40'000 / seconds, 20, 2);
}

TEST(Generate, AgentsShareOneOfTheSystemPromptsAndNothingElse) {
  GeneratorOptions options = only(SessionKind::agent, {.requests = 600, .block_tokens = 100});
  options.agent.system_prompts = 2;
  options.agent.system_tokens = 1'050;  // ten full blocks
  std::map<std::uint64_t, std::set<std::uint32_t>> sessions_of;
  std::set<std::vector<BlockId>> prompts;
  for (const OwnedRequest& one : requests_of(options)) {
    ASSERT_GE(one.blocks.size(), 10u);
    prompts.insert({one.blocks.begin(), one.blocks.begin() + 10});
    for (std::size_t i = 10; i < one.blocks.size(); ++i) {
      sessions_of[one.blocks[i].value].insert(one.request.speaker->session);
    }
  }
  EXPECT_EQ(prompts.size(), 2u);
  for (const auto& [block, sessions] : sessions_of) EXPECT_EQ(sessions.size(), 1u);
}

TEST(Generate, AChatsNextInputContinuesItsLastInputAndAnswer) {
  std::map<std::uint32_t, OwnedRequest> last;
  int continued = 0;
  for (const OwnedRequest& one : requests_of(only(SessionKind::chat, {.requests = 500}))) {
    const std::uint32_t session = one.request.speaker->session;
    const auto before = last.find(session);
    EXPECT_EQ(one.request.think_time.has_value(), before != last.end());
    if (before != last.end()) {
      const Request& earlier = before->second.request;
      EXPECT_GT(one.request.input_tokens, earlier.input_tokens + earlier.output_tokens);
      for (std::size_t i = 0; i < earlier.input_tokens / 512; ++i) {
        EXPECT_EQ(one.blocks[i], before->second.blocks[i]);
      }
      EXPECT_GE(one.request.arrival, earlier.arrival + *one.request.think_time);
      ++continued;
    }
    last[session] = one;
  }
  EXPECT_GT(continued, 100);
}

TEST(Generate, DocumentsAreIndependentAndTheirQuestionsAreToo) {
  const GeneratorOptions options = only(SessionKind::document, {.requests = 300});
  std::map<std::uint64_t, std::set<std::uint32_t>> sessions_of;
  for (const OwnedRequest& one : requests_of(options)) {
    for (const BlockId id : one.blocks) sessions_of[id.value].insert(one.request.speaker->session);
    EXPECT_LE(one.request.input_tokens, 8 * (12'000u + 80u));
  }
  for (const auto& [block, sessions] : sessions_of) EXPECT_EQ(sessions.size(), 1u);
}

TEST(Generate, LengthsHaveTheirMean) {
  GeneratorOptions options = only(SessionKind::chat, {.requests = 20'000});
  options.chat.output_tokens = 1'000;
  const TraceStatistics sum = statistics_of(options);
  EXPECT_NEAR(static_cast<double>(sum.output_tokens) / 20'000, 1'000, 25);
  // Of an exponential distribution, half is below mean * ln 2.
  EXPECT_NEAR(static_cast<double>(sum.output_lengths->p50), 693, 25);
}

TEST(Generate, NoInputIsLongerThanTheContext) {
  GeneratorOptions options{.requests = 3'000, .context_tokens_max = 7'000};
  EXPECT_LE(statistics_of(options).input_lengths->max, 7'000u);
}

TEST(Generate, OptionsThatNoTraceCanHaveAreErrors) {
  const auto detail = [](const GeneratorOptions& options) {
    const auto reader = generate_trace(options);
    return reader ? "made" : reader.error().facts().detail;
  };
  const std::string prefix = "cannot generate a trace: ";
  EXPECT_EQ(detail({.requests = 0}), prefix + "it would have no requests");
  EXPECT_EQ(detail({.block_tokens = 0}), prefix + "a block has 0 tokens");
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), 1e9}) {
    EXPECT_EQ(detail({.requests_per_second = rate}),
              prefix + "the rate must be from 0.000001 to 1000000 requests per second");
  }
  EXPECT_EQ(detail({.context_tokens_max = 6'001}),
            prefix + "agent: a system prompt of 6000 tokens leaves no room in a context of 6001");
  EXPECT_EQ(detail({.context_tokens_max = 0}),
            prefix + "chat: a system prompt of 700 tokens leaves no room in a context of 0");
  EXPECT_EQ(detail({.chat = {}, .agent = {}, .document = {}}),
            prefix + "all kinds of sessions have weight 0");
  EXPECT_EQ(detail({.chat = {.weight = 1, .system_prompts = 0}}),
            prefix + "chat: the number of system prompts is 0");
  EXPECT_EQ(detail({.chat = {.weight = 1, .think_time = -1s}}),
            prefix + "chat: the think time must be from 0 to 30 days");
}

TEST(Generate, ATraceBeyondTheEndOfTimeIsAnError) {
  GeneratorOptions options = only(SessionKind::chat, {.requests = 1'000'000});
  options.requests_per_second = 1e-6;
  options.chat.requests = 100'000;
  options.chat.think_time = std::chrono::days(30);
  const auto reader = generate_trace(options);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(read_all(**reader).error().facts().detail,
            "the generated trace would last more than 292 years: raise the rate");
}

}  // namespace
}  // namespace larder::workloads
