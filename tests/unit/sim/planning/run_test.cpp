#include "sim/planning/run.h"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/cache/belady.h"
#include "sim/planning/run_file.h"
#include "sim/planning/run_tables.h"
#include "tests/unit/sim/planning/small.h"

namespace larder::sim {
namespace {

template <class List>
std::uint64_t sum(const List& list) {
  return std::accumulate(list.begin(), list.end(), std::uint64_t{0});
}

TEST(Run, E5EachRequestEndsOnceAndEachPageIsAHitOrAMissForOneReason) {
  Records records;
  const auto run = run_small(small_setting(), records).value();
  const ServingTotals& totals = run.totals;
  EXPECT_EQ(totals.arrived, 200u);
  EXPECT_EQ(sum(totals.ended), 200u);
  EXPECT_EQ(records.all.size(), 200u);
  EXPECT_GT(totals.pool_hits, 0u);
  EXPECT_EQ(totals.blocks, totals.hits() + sum(totals.misses));
  EXPECT_EQ(records.by_page, totals.misses) << "the reasons of single pages are those of the sums";
  std::uint64_t pages = 0;
  for (const RequestRecord& record : records.all) {
    EXPECT_EQ(record.blocks, record.hits() + sum(record.misses)) << record.number;
    pages += record.blocks;
  }
  EXPECT_EQ(pages, totals.blocks);
}

TEST(Run, IntervalsSumToTheTotals) {
  Setting setting = small_setting();
  setting.intervals = 8;  // so that they are halved on the way
  const auto run = run_small(setting).value();
  EXPECT_LE(run.intervals.size(), 8u);
  EXPECT_GE(run.intervals.size(), 4u);
  Interval all;
  Instant before{};
  for (const Interval& interval : run.intervals) {
    EXPECT_GT(interval.end, before);
    before = interval.end;
    EXPECT_EQ(interval.arrived, sum(interval.ended));
    all.extend(interval);
  }
  EXPECT_EQ(before - Instant{}, run.time);
  EXPECT_EQ(all.arrived, run.totals.arrived);
  EXPECT_EQ(all.blocks, run.totals.blocks);
  EXPECT_EQ(all.gpu_hits, run.totals.gpu_hits);
  EXPECT_EQ(all.pool_hits, run.totals.pool_hits);
  EXPECT_EQ(all.misses, run.totals.misses);
  EXPECT_EQ(all.ttft.count(), run.ttft.count());
  EXPECT_EQ(all.pool.reads, run.pool.reads) << "the last sample is of the end";
}

TEST(Run, E8TheSameSeedGivesTheSameFilesAndAnotherOneOthers) {
  const auto text = [](std::uint64_t seed) {
    Setting setting = small_setting();
    setting.seed = seed;
    const auto run = run_small(setting).value();
    return run_json(run, {}) + csv_text(timeline_table(run)) + links_csv(run);
  };
  const std::string first = text(1);
  EXPECT_EQ(first, text(1));
  EXPECT_NE(first, text(2));
}

TEST(Run, WithoutServingNothingIsComputedAndThePoolAlonesHitsAreCounted) {
  Setting setting = small_setting();
  setting.serving = false;
  setting.fabric = false;
  const auto run = run_small(setting).value();
  EXPECT_EQ(run.totals.gpu_hits + run.totals.host_hits, 0u);
  EXPECT_GT(run.totals.pool_hits, 0u);
  EXPECT_EQ(run.links.edges(), 0u);
  EXPECT_EQ(run.sizes.gpu_pages, 0u);
}

// One request after the other, a pool without limit finds what an infinite cache finds.
TEST(Run, OneRequestAtATimeAnUnlimitedPoolIsAnInfiniteCache) {
  Setting setting = small_setting();
  setting.serving = false;
  setting.fabric = false;
  setting.memory_per_node = std::nullopt;
  setting.every = std::chrono::seconds(1);
  const auto run = run_small(setting).value();
  Belady cache;
  BlockNumbers numbers;
  const auto trace = small_trace();
  while (const workloads::Request* const request = trace->next().value()) {
    cache.request(numbers.of(request->blocks));
  }
  const CachePoint point = cache.at(std::nullopt);
  EXPECT_EQ(run.totals.blocks, point.accesses);
  EXPECT_EQ(run.totals.hits(), point.hits);
  EXPECT_EQ(run.totals.misses[static_cast<std::size_t>(MissReason::cold)],
            point.accesses - point.hits);
}

TEST(Run, E9TheWarmUpIsInNoTotalAndMustLeaveSomething) {
  Setting setting = small_setting();
  setting.warmup_requests = 150;
  Records records;
  const auto run = run_small(setting, records).value();
  EXPECT_EQ(run.totals.arrived, 200u);
  EXPECT_EQ(run.ttft.count(), 50u);
  std::uint64_t pages = 0;
  for (const RequestRecord& record : records.all) {
    if (record.number >= 150) pages += record.blocks;
  }
  EXPECT_EQ(run.totals.blocks, pages);
  setting.warmup_requests = 200;
  EXPECT_EQ(run_small(setting).error().code(), ErrorCode::invalid_params);
}

TEST(Run, E9MoreThanTheEnginesCanServeIsSaid) {
  Setting setting = small_setting();
  setting.engines = 1;
  setting.speed = 100;
  const auto run = run_small(setting).value();
  EXPECT_TRUE(run.pressure.overloaded());
  ASSERT_FALSE(run.notes.empty());
  EXPECT_NE(run.notes.front().find("More came than the engines can serve"), std::string::npos);
}

TEST(Run, WhatIsFetchedSavesTimeAndGoesOverLinks) {
  const auto run = run_small(small_setting()).value();
  ASSERT_TRUE(run.saved);
  EXPECT_GT(run.saved->pool, Duration(0));
  EXPECT_GT(run.saved->gpu, Duration(0));
  std::uint64_t over_nics = 0;
  for (std::uint32_t edge = 0; edge < run.links.edges(); ++edge) {
    const std::string name = run.topology.name(EdgeId{edge});
    if (name.find("to leaf") != std::string::npos) over_nics += run.links.moved({edge}).value;
    EXPECT_LE(run.links.share({edge}), 1.0) << name;
  }
  // Both nodes and both engines share the hosts, so about half of the bytes stay inside.
  EXPECT_GT(over_nics, 0u);
  EXPECT_LE(over_nics, run.pool.bytes_read.value + run.pool.bytes_put.value);
}

TEST(Run, ALostNodeCostsHitsWhileItIsAway) {
  Setting setting = small_setting();
  setting.serving = false;
  const auto whole = run_small(setting).value();
  setting.faults = parse_faults("node:0@20s+10s,master@35s+1s").value();
  const auto faulty = run_small(setting).value();
  const auto lost = static_cast<std::size_t>(MissReason::lost);
  EXPECT_EQ(whole.totals.misses[lost], 0u);
  EXPECT_GT(faulty.totals.misses[lost], 0u);
  EXPECT_LT(faulty.totals.hits(), whole.totals.hits());
  bool seen = false;
  for (const Interval& interval : faulty.intervals) {
    seen = seen || (interval.end > Instant{} + std::chrono::seconds(20) &&
                    interval.end < Instant{} + std::chrono::seconds(30) &&
                    interval.pool.reachable_nodes == 1);
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(faulty.intervals.back().pool.reachable_nodes, 2u);
}

TEST(Run, AHostThatIsLostTakesItsEnginesAlong) {
  Setting setting = small_setting();
  setting.faults = parse_faults("host:0@0s").value();
  Records records;
  const auto run = run_small(setting, records).value();
  EXPECT_EQ(run.totals.arrived, 200u);
  EXPECT_EQ(sum(run.totals.ended), 200u);
  // Both engines stand on the first host, which has eight GPUs.
  EXPECT_EQ(run.totals.failed(), 200u);
}

TEST(Run, WhichGpusThereAreIsToldByTheNameOfTheClusterOrOfItsHosts) {
  Setting setting = small_setting();
  setting.cluster = "mine.json";  // a preset that was written to a file
  EXPECT_EQ(setting.gpu_numbers().value().name, "h800");
  setting.hardware.hosts.push_back(setting.hardware.hosts.front());
  setting.hardware.hosts.back().name = "8xa100-2x100";
  EXPECT_NE(setting.gpu_numbers().error().message().find("several kinds"), std::string::npos);
  setting.hardware.hosts.pop_back();
  setting.hardware.hosts.front().name = "mine";
  const auto unknown = setting.gpu_numbers();
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("'mine.json'"), std::string::npos);
  setting.gpu = "a100";
  EXPECT_EQ(setting.gpu_numbers().value().name, "a100");
}

TEST(Run, AWatcherCanGiveItUp) {
  Records records;
  records.give_up = true;
  EXPECT_EQ(run_small(small_setting(), records).error().code(), ErrorCode::cancelled);
}

TEST(Run, WhatCannotBeIsRefusedWithTheNumbers) {
  struct Case {
    void (*change)(Setting&);
    const char* says;
  };
  for (const Case& wrong : std::initializer_list<Case>{
           {[](Setting& s) { s.memory_per_node = Bytes{0}; }, "pool of zero bytes"},
           {[](Setting& s) { s.memory_per_node = Bytes{1 << 20}; }, "one page takes"},
           {[](Setting& s) { s.memory_per_node = Bytes{2ull << 40}; }, "host0/dram0 has 1.00 TiB"},
           {[](Setting& s) { s.host_memory = Bytes{3ull << 40}; }, "the cache of engine 0"},
           {[](Setting& s) { s.host_memory = Bytes{1}; }, "less than a page"},
           {[](Setting& s) { s.engines = 17; }, "enough for 16"},
           {[](Setting& s) { s.gpus_per_engine = 9; }, "enough for 0"},
           {[](Setting& s) { s.gpus_per_engine = 3; }, "do not divide the 32 heads"},
           {[](Setting& s) { s.model_numbers = model_preset("llama-3.1-70b").value(); },
            "does not fit"},
           {[](Setting& s) { s.page_tokens = 700; }, "blocks of 512 tokens"},
           {[](Setting& s) { s.replicas = 3; }, "replicas is 3"},
           {[](Setting& s) { s.policy = "random"; }, "policy"},
           {[](Setting& s) { s.sessions = 3; }, "closed loop"},
           {[](Setting& s) { s.speed = 0; }, "speed"},
           {[](Setting& s) {
              s.gpu = "auto", s.cluster = "mine.json", s.hardware.hosts[0].name = "x";
            },
            "'mine.json'"},
           {[](Setting& s) { s.faults = parse_faults("node:2@1s").value(); }, "no node 2 of 2"},
           {[](Setting& s) { s.faults = parse_faults("host:2@1s").value(); }, "has 2 hosts"},
           {[](Setting& s) { s.faults = parse_faults("nic:host0/gpu0@1s").value(); }, "is no NIC"},
       }) {
    Setting setting = small_setting();
    wrong.change(setting);
    const auto run = run_small(setting);
    ASSERT_FALSE(run) << wrong.says;
    EXPECT_EQ(run.error().code(), ErrorCode::invalid_params) << run.error().message();
    EXPECT_NE(run.error().message().find(wrong.says), std::string::npos) << run.error().message();
  }
}

}  // namespace
}  // namespace larder::sim
