#include "sim/planning/plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/planning/one_more.h"
#include "sim/planning/perfect_cache.h"
#include "sim/planning/sweep_spec.h"
#include "tests/unit/sim/planning/small.h"

namespace larder::sim {
namespace {

TEST(Plan, FewerMachinesKeepAllTheirGpusBusy) {
  Setting setting = small_setting();
  setting.hardware = hardware_preset("8xh800-8x200").value();
  setting.hardware.hosts.push_back(hardware_preset("cpu-2x100").value().hosts.front());
  setting.hardware.hosts[0].count = 4;
  setting.hardware.hosts[1].count = 2;
  setting.hosts = 0;
  setting.gpus_per_engine = 4;
  const std::vector<Setting> fleets = smaller_fleets(setting, 2).value();
  std::vector<std::vector<std::uint32_t>> shapes;  // GPU hosts, others, engines, nodes
  for (const Setting& fleet : fleets) {
    const auto& hosts = fleet.hardware.hosts;
    shapes.push_back(
        {hosts[0].count, hosts.size() > 1 ? hosts[1].count : 0, fleet.engines, fleet.nodes});
  }
  EXPECT_EQ(
      shapes,
      (std::vector<std::vector<std::uint32_t>>{
          {2, 0, 4, 2}, {2, 1, 4, 1}, {2, 2, 4, 2}, {4, 0, 8, 4}, {4, 1, 8, 1}, {4, 2, 8, 2}}));
}

TEST(Plan, HostsInUseCostWhatTheyCost) {
  Setting setting = small_setting();
  EXPECT_EQ(cost_of(setting).error().code(), ErrorCode::not_supported);
  setting.hardware.hosts[0].price_per_hour = 12.5;
  setting.hosts = 8;  // of which an engine's and two nodes' are in use
  const Cost cost = cost_of(setting).value();
  EXPECT_EQ(cost.hosts, 2u);
  EXPECT_EQ(cost.per_hour, 25);
}

TEST(Plan, WhatCannotBeIsRefusedBeforeAnythingIsPlaced) {
  Setting setting = small_setting();
  setting.gpus_per_engine = 0;
  EXPECT_EQ(smaller_fleets(setting, 2).error().facts().detail,
            "gpus-per-engine is 0; it must be at least 1");
  setting = small_setting();
  setting.nodes = 4'000'000'000;  // a list of so many places would take all memory
  EXPECT_EQ(cost_of(setting).error().facts().detail,
            "nodes is 4000000000; it can be from 1 to 10000");
}

TEST(Plan, TheFrontierIsWhatNobodyBeatsInBoth) {
  EXPECT_EQ(on_frontier({{1, 1}, {2, 3}, {2, 2}, {3, 3}, {4, 5}, {1, 1}}),
            (std::vector<bool>{true, true, false, false, true, true}));
}

TEST(Plan, ObjectivesAreReadAndHeldAgainstWhatCameLater) {
  const Slo fast = parse_slo("ttft_p90<1500ms").value();
  EXPECT_EQ(fast.metric, Slo::Metric::ttft_p90);
  EXPECT_EQ(fast.bound, 1.5);
  EXPECT_EQ(parse_slo("hit_ratio>0.25").value().bound, 0.25);
  for (const char* text : {"", "ttft_p90", "ttft_p90>1s", "hit_ratio<0.5", "hit_ratio>1.5",
                           "hit_ratio>nan", "ttft_p95<1s", "ttft_p90<-1s"}) {
    EXPECT_FALSE(parse_slo(text)) << text;
  }
  const auto run = run_small(small_setting()).value();
  EXPECT_EQ(measured(run, Slo::Metric::ttft_p90, Duration(0)), run.ttft_s(0.9));
  EXPECT_EQ(measured(run, Slo::Metric::hit_ratio, Duration(0)), run.totals.hit_ratio());
  EXPECT_NE(measured(run, Slo::Metric::hit_ratio, run.time / 2), run.totals.hit_ratio());
  EXPECT_EQ(measured(run, Slo::Metric::hit_ratio, run.time), std::nullopt);
  EXPECT_TRUE(meets(run, {parse_slo("ttft_p90<1h").value()}, Duration(0)));
  EXPECT_FALSE(meets(run, {parse_slo("ttft_p90<1ns").value()}, Duration(0)));
}

TEST(OneMore, ChangesOneThingEach) {
  const Setting setting = small_setting();
  const std::vector<OneMore> all = one_more_of_each(setting);
  ASSERT_EQ(all.size(), 7u);
  for (const OneMore& more : all) {
    const auto run = run_small(more.setting);
    EXPECT_TRUE(run) << more.resource << run.error().message();
  }
  const auto& nics = all[3];
  EXPECT_EQ(nics.resource, "NICs");
  EXPECT_EQ(nics.setting.hardware.hosts[0].parts.size(), setting.hardware.hosts[0].parts.size());
  EXPECT_NE(nics.setting.hardware, setting.hardware);
}

TEST(PerfectCache, HadWhatComesAgainSoonest) {
  // With room for one page besides the first: 2 is worth more than 3, since it comes again.
  struct Trace final : workloads::TraceReader {
    Result<const workloads::Request*> next() override {
      if (at == requests.size()) return nullptr;
      request = {.input_tokens = 20, .block_tokens = 10, .blocks = requests[at++]};
      return &request;
    }
    std::vector<std::vector<workloads::BlockId>> requests{{{1}, {2}}, {{1}, {3}}, {{1}, {2}}};
    std::size_t at = 0;
    workloads::Request request;
  };
  Trace trace;
  const PerfectCache cache = PerfectCache::of(trace, {.page_tokens = 10, .pages = 2}).value();
  EXPECT_FALSE(cache.had(0, 0) || cache.had(0, 1));
  EXPECT_TRUE(cache.had(1, 0));
  EXPECT_FALSE(cache.had(1, 1));
  EXPECT_TRUE(cache.had(2, 0) && cache.had(2, 1));
}

TEST(SweepSpec, RunsAreAllCombinationsTheSeedFastest) {
  const SweepSpec spec = read_sweep(R"({"trace": "t", "setting": {"nodes": 3},
      "vary": {"engines": [1, 2], "memory-per-node": ["1GiB", "inf"]}, "seeds": [7, 9]})")
                             .value();
  ASSERT_EQ(spec.runs(), 8u);
  const Setting first = spec.setting(0).value();
  EXPECT_EQ(first.nodes, 3u);
  EXPECT_EQ(first.engines, 1u);
  EXPECT_EQ(first.seed, 7u);
  EXPECT_EQ(spec.setting(1).value().seed, 9u);
  EXPECT_FALSE(spec.setting(2).value().memory_per_node);
  EXPECT_EQ(spec.setting(7).value().engines, 2u);
  EXPECT_EQ(result_columns().size(), error_cells(Error(ErrorCode::invalid_params)).size());
  EXPECT_EQ(result_columns().size(), result_cells(run_small(small_setting()).value()).size());
}

TEST(SweepSpec, ARowEndsWithTheNotesOfItsRun) {
  EXPECT_EQ(result_columns().back(), "notes");
  const auto quiet = run_small(small_setting()).value();
  EXPECT_TRUE(quiet.notes.empty());
  EXPECT_EQ(result_cells(quiet).back(), "");

  Setting setting = small_setting();
  setting.serving = false;
  setting.memory_per_node.reset();
  const auto noted = run_small(setting).value();
  EXPECT_EQ(
      result_cells(noted).back(),
      "\"The pool is without limit, and is not held against the hosts' memory. Without serving "
      "computing takes no time: times to first token are those of the pool alone.\"");
}

TEST(SweepSpec, E10WhatIsWrongIsNamedWithItsPlace) {
  const auto wrong = [](const std::string& text) {
    const auto spec = read_sweep(text);
    return spec ? std::string("read") : spec.error().facts().detail;
  };
  EXPECT_EQ(wrong(R"({"trace": "t", "setting": {"nodes": 3}, "vary": {"nodes": [1]}})"),
            "/vary/nodes: stands in \"setting\" too: it either varies or does not");
  EXPECT_EQ(wrong(R"({"trace": "t", "format": "csv", "vary": {}})"),
            "/format: 'csv' is no format of traces: mooncake or agentic");
  EXPECT_TRUE(wrong(R"({"trace": "t", "vary": {"\u001b[31m": [1]}})")
                  .starts_with("/vary/\\x1b[31m/0: '\\x1b[31m' is no parameter"));
}

TEST(SweepSpec, RangesStepOrMultiply) {
  const auto range = [](std::string parameter, std::string from, std::string to,
                        std::string_view step, std::string_view factor) {
    return expand_range({.parameter = std::move(parameter), .values = {from, to}}, step, factor);
  };
  EXPECT_EQ(range("engines", "1", "4", "1", "").value(),
            (std::vector<std::string>{"1", "2", "3", "4"}));
  EXPECT_EQ(range("speed", "1", "2", "0.1", "").value().size(), 11u);
  EXPECT_EQ(range("memory-per-node", "1GiB", "4GiB", "", "2").value(),
            (std::vector<std::string>{"1GiB", "2GiB", "4GiB"}));
  EXPECT_EQ(range("memory-per-node", "1GiB", "2GiB", "512MiB", "").value(),
            (std::vector<std::string>{"1GiB", "1536MiB", "2GiB"}));
  EXPECT_FALSE(range("engines", "4", "1", "1", ""));
  EXPECT_FALSE(range("engines", "1", "4", "0", ""));
  EXPECT_FALSE(range("engines", "1", "4", "", "1"));
  EXPECT_FALSE(range("engines", "0", "1000000000", "0.001", ""));
  EXPECT_FALSE(range("policy", "a", "b", "1", ""));
  EXPECT_FALSE(range("lease", "1s", "2s", "1s", ""));
  EXPECT_EQ(range("speed", "nan", "2", "1", "").error().facts().detail,
            "speed: from and to are no range");
  EXPECT_FALSE(range("speed", "1", "inf", "", "2"));
  EXPECT_EQ(range("memory-per-node", "1GiB", "17179869183GiB", "", "3").error().facts().detail,
            "memory-per-node: to is more than 4 EiB");
}

}  // namespace
}  // namespace larder::sim
