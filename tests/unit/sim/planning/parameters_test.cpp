#include "sim/planning/parameters.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/planning/run_comparison.h"
#include "sim/planning/run_file.h"
#include "tests/unit/sim/planning/small.h"

namespace larder::sim {
namespace {

TEST(Parameters, EachReadsBackWhatItWrites) {
  std::set<std::string_view> names;
  for (const Parameter& parameter : parameters()) {
    EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
    Setting setting;
    const std::string text = parameter.get(setting);
    ASSERT_TRUE(parameter.set(setting, text)) << parameter.name << ' ' << text;
    EXPECT_EQ(parameter.get(setting), text);
    EXPECT_FALSE(parameter.help.empty() || parameter.group.empty()) << parameter.name;
  }
}

TEST(Parameters, TakeWhatPeopleWrite) {
  Setting setting;
  ASSERT_TRUE(set_parameter(setting, "memory-per-node", "1.5TiB") ||
              set_parameter(setting, "memory-per-node", "1536GiB"));
  EXPECT_EQ(setting.memory_per_node, Bytes{1536ull << 30});
  ASSERT_TRUE(set_parameter(setting, "memory-per-node", "inf"));
  EXPECT_FALSE(setting.memory_per_node);
  ASSERT_TRUE(set_parameter(setting, "serving", "off"));
  EXPECT_FALSE(setting.serving);
  ASSERT_TRUE(set_parameter(setting, "prefetch-base", "500ms"));
  EXPECT_EQ(setting.engine.prefetch.base, std::chrono::milliseconds(500));
}

TEST(Parameters, NameWhatIsWrong) {
  Setting setting;
  for (const auto& [name, text] :
       std::initializer_list<std::pair<const char*, const char*>>{{"engines", "-1"},
                                                                  {"engines", "8.5"},
                                                                  {"engines", ""},
                                                                  {"speed", "nan"},
                                                                  {"speed", "inf"},
                                                                  {"memory-per-node", "1 EUR"},
                                                                  {"serving", "maybe"},
                                                                  {"router", "random"},
                                                                  {"lease", "-1s"},
                                                                  {"cluster", "\x1b[31mred"},
                                                                  {"model", "\xff"},
                                                                  {"fail", "node:1"}}) {
    const Status set = set_parameter(setting, name, text);
    ASSERT_FALSE(set) << name << ' ' << text;
    EXPECT_NE(set.error().message().find(name), std::string::npos) << set.error().message();
  }
  EXPECT_FALSE(set_parameter(setting, "engine", "8"));
}

TEST(PlannedFault, IsReadAndWritten) {
  for (const char* text : {"node:3@600s+120s", "host:0@0s", "nic:host3/nic1@1500ms+60s",
                           "master@600s+10s", "node:1@1s,node:2@1s+5s"}) {
    const auto faults = parse_faults(text);
    ASSERT_TRUE(faults) << text << faults.error().message();
    EXPECT_EQ(faults_text(*faults), text);
  }
  for (const char* text : {"node:3", "node@1s", "node:x@1s", "master:1@1s", "disk:1@1s", "@1s",
                           "node:3@", "node:3@-1s", "node:3@1s+", "node:3@1s+0s", "node:3@1s,",
                           "nic:@1s", "nic:host0/\x1b[31m@1s"}) {
    const auto faults = parse_faults(text);
    EXPECT_EQ(faults.has_value(), std::string_view(text).ends_with(',')) << text;
  }
}

TEST(RunFile, ASettingIsReadBackFromIt) {
  Setting setting = small_setting();
  setting.faults = parse_faults("node:1@20s+5s").value();
  setting.memory_per_node = std::nullopt;
  setting.engine.prefetch.policy = PrefetchPolicy::best_effort;
  const auto run = run_small(setting).value();
  const TraceName trace{.paths = {"a.jsonl"}, .format = "mooncake", .block_tokens = 512};
  const std::string text = run_json(run, trace);
  const RunSummary summary = read_run(text).value();
  EXPECT_EQ(summary.trace, trace);
  EXPECT_EQ(summary.requests, 200u);
  EXPECT_EQ(summary.pages, run.totals.blocks);
  EXPECT_EQ(summary.state_hash, run.state_hash);
  for (const Parameter& parameter : parameters()) {
    EXPECT_EQ(parameter.get(summary.setting), parameter.get(setting)) << parameter.name;
  }
  EXPECT_EQ(summary.setting.hardware, setting.hardware);
  EXPECT_EQ(summary.setting.model_numbers, setting.model_numbers);
  // So the run can be made again.
  EXPECT_EQ(run_small(summary.setting).value().state_hash, run.state_hash);
}

TEST(RunFile, ABadOneIsAnErrorWithThePlace) {
  for (const auto& [text, says] : std::initializer_list<std::pair<const char*, const char*>>{
           {"{", ""},
           {"[]", "/format"},
           {"{}", "/format"},
           {R"({"format": "larder-run", "version": 2})", "/version"},
           {R"({"format": "larder-run", "version": 1})", "missing"}}) {
    const auto summary = read_run(text);
    ASSERT_FALSE(summary) << text;
    EXPECT_EQ(summary.error().code(), ErrorCode::bad_file);
    EXPECT_NE(summary.error().message().find(says), std::string::npos) << summary.error().message();
  }
}

TEST(RunFile, WhatCannotBeOfOneRunIsAnErrorWithThePlace) {
  const auto run = run_small(small_setting()).value();
  const nlohmann::json right = nlohmann::json::parse(run_json(run, {.paths = {"a.jsonl"}}));
  for (const auto& [place, value, says] :
       std::vector<std::tuple<const char*, nlohmann::json, const char*>>{
           {"/pages/hits", 1'000'000, "/pages/hits: 1000000 of "},
           {"/requests", "many", "/requests: string where an object belongs"},
           {"/trace/format", "csv", "/trace/format: 'csv' is no format of traces"},
           {"/setting/engines", "two", "/setting/engines: "},
           {"/hardware/hosts", nlohmann::json::array(), "/hardware/hosts: there is none"},
           {"/model/layers", 0, "/model/layers: 0 is not from 1"},
           {"/state_hash", "xyz", "/state_hash: "}}) {
    nlohmann::json damaged = right;
    damaged[nlohmann::json::json_pointer(place)] = value;
    const auto read = read_run(damaged.dump());
    ASSERT_FALSE(read) << place;
    EXPECT_EQ(read.error().code(), ErrorCode::bad_file) << place;
    EXPECT_TRUE(read.error().facts().detail.starts_with(says)) << read.error().message();
  }
}

// A run without GPUs has no saved GPU time: what stands below it must not move.
TEST(RunComparison, NumbersStandBesideThoseOfTheSameName) {
  Setting alone = small_setting();
  alone.serving = false;
  alone.gpus_per_engine = 1;
  const std::string with = run_json(run_small(small_setting()).value(), {});
  nlohmann::ordered_json without =
      nlohmann::ordered_json::parse(run_json(run_small(alone).value(), {}));
  without["saved_gpu_s"] = nullptr;
  const auto first = read_run_numbers(with).value();
  const auto second = read_run_numbers(without.dump()).value();
  const nlohmann::ordered_json compared = comparison_json(first, second).at("numbers");
  const auto right = nlohmann::ordered_json::parse(with);
  EXPECT_EQ(compared.at("pool.puts.asked")[0], right["pool"]["puts"]["asked"]);
  EXPECT_EQ(compared.at("pool.puts.asked")[1], without["pool"]["puts"]["asked"]);
  EXPECT_EQ(compared.at("saved_gpu_s.sum")[0], right["saved_gpu_s"]["sum"]);
  EXPECT_TRUE(compared.at("saved_gpu_s.sum")[1].is_null());
  EXPECT_EQ(comparison_json(second, first).at("numbers").size(), compared.size());
  EXPECT_NE(comparison_text(first, second).find("no data"), std::string::npos);
}

}  // namespace
}  // namespace larder::sim
