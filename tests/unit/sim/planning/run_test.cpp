#include "sim/planning/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

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

// What a test gives instead of a file.
struct ListTrace final : workloads::TraceReader {
  struct Row {
    Duration arrival;
    std::vector<workloads::BlockId> blocks;
  };
  explicit ListTrace(std::vector<Row> list) : rows(std::move(list)) {}
  Result<const workloads::Request*> next() override {
    if (at == rows.size()) return nullptr;
    const Row& row = rows[at++];
    request = {.arrival = row.arrival,
               .input_tokens = row.blocks.size() * 512,
               .output_tokens = 1,
               .block_tokens = 512,
               .blocks = row.blocks};
    return &request;
  }
  std::vector<Row> rows;
  std::size_t at = 0;
  workloads::Request request;
};

TEST(Run, E1IdsThatDifferOnlyInTheirUpperHalfAreDifferentPages) {
  constexpr std::uint64_t upper = std::uint64_t{1} << 63;
  using std::chrono::seconds;
  Setting setting = small_setting();
  setting.serving = false;
  Records records;
  ListTrace trace({{seconds(0), {{1}, {2}}},
                   {seconds(10), {{1 + upper}, {2 + upper}}},
                   {seconds(20), {{1}, {2}}},
                   {seconds(30), {{1 + upper}, {~std::uint64_t{0}}}}});
  const auto run = sim::run(setting, trace, records).value();
  ASSERT_EQ(records.all.size(), 4u);
  EXPECT_EQ(records.all[1].hits(), 0u);
  EXPECT_EQ(records.all[2].pool_hits, 2u);
  EXPECT_EQ(records.all[3].pool_hits, 1u);
}

TEST(Run, E4TheTimesOfTheRequestsAreThoseOfTheTrace) {
  using std::chrono::seconds;
  Records records;
  ListTrace trace({{seconds(3), {{1}}}, {seconds(3), {{2}}}, {seconds(7), {{3}}}});
  const auto run = sim::run(small_setting(), trace, records).value();
  std::vector<Duration> arrivals;
  for (const RequestRecord& record : records.all) arrivals.push_back(record.arrival - Instant{});
  std::ranges::sort(arrivals);
  EXPECT_EQ(arrivals, (std::vector<Duration>{seconds(3), seconds(3), seconds(7)}));
}

TEST(Run, E7AnIntervalWithoutRequestsHasNoDataAndAFullyCachedRequestFinishes) {
  using std::chrono::seconds;
  Records records;
  ListTrace trace({{seconds(0), {{1}, {2}, {3}}}, {seconds(100), {{1}, {2}, {3}}}});
  const auto run = sim::run(small_setting(), trace, records).value();
  ASSERT_EQ(records.all.size(), 2u);
  EXPECT_EQ(records.all[1].outcome, Outcome::completed);
  EXPECT_EQ(records.all[1].hits(), 3u);
  EXPECT_GE(records.all[1].computed_tokens, 1u);
  EXPECT_EQ(run.totals.hit_ratio(), 0.5) << "hits over totals: 3 of 6";
  std::size_t without = 0;
  for (const TableColumn& column : timeline_table(run)) {
    if (column.name != "hit_ratio" && column.name != "ttft_p50_s") continue;
    ASSERT_EQ(column.cells.size(), run.intervals.size());
    for (std::size_t row = 0; row < column.cells.size(); ++row) {
      const bool empty = std::holds_alternative<std::monostate>(column.cells[row]);
      EXPECT_EQ(empty, run.intervals[row].arrived == 0) << column.name << row;
      without += empty ? 1 : 0;
    }
  }
  EXPECT_GT(without, 100u) << "nothing came for a hundred seconds";
}

TEST(Run, E10APageLargerThanANodeIsRefusedAndAPromptLargerThanThePoolIsServed) {
  Setting setting = small_setting();
  setting.nodes = 1;
  setting.memory_per_node = Bytes{(64ull << 20) - 1};
  EXPECT_EQ(run_small(setting).error().code(), ErrorCode::invalid_params);
  setting.memory_per_node = Bytes{200ull << 20};  // of two pages
  Records records;
  const auto run = run_small(setting, records).value();
  EXPECT_EQ(run.totals.completed(), 200u);
  EXPECT_EQ(run.totals.blocks, run.totals.hits() + sum(run.totals.misses));
  EXPECT_LE(run.pool.used, *setting.memory_per_node);
}

TEST(Run, E10TheHitRateOfLruNeverFallsAsThePoolGrows) {
  Setting setting = small_setting();
  setting.serving = false;
  setting.fabric = false;
  setting.policy = "lru";
  setting.every = std::chrono::seconds(1);
  std::uint64_t before = 0;
  std::vector<std::uint64_t> all;
  for (const std::uint64_t gib : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 256u}) {
    setting.memory_per_node = Bytes{gib << 30};
    const auto run = run_small(setting).value();
    EXPECT_GE(run.totals.hits(), before) << gib;
    before = run.totals.hits();
    all.push_back(before);
  }
  EXPECT_LT(all.front(), all.back()) << "the sizes tell nothing";
}

TEST(Run, E12TheHitsOfTheTiersSumToTheTotalAndPagesHaveTheBytesOfTheirTokens) {
  const auto run = run_small(small_setting()).value();
  EXPECT_EQ(run.totals.gpu_hits + run.totals.host_hits + run.totals.pool_hits, run.totals.hits());
  EXPECT_GT(run.totals.gpu_hits, 0u);
  // 512 tokens of 32 layers, K and V of 8 heads of 128 numbers of 2 bytes.
  EXPECT_EQ(run.sizes.page_bytes, Bytes{512ull * 32 * 2 * 8 * 128 * 2});
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

TEST(Run, AFaultBehindItsEndIsSaid) {
  Setting setting = small_setting();
  setting.faults = {{.kind = PlannedFault::Kind::master, .at = std::chrono::hours(5)}};
  const auto run = run_small(setting).value();
  ASSERT_FALSE(run.notes.empty());
  EXPECT_EQ(
      run.notes.back().rfind("The fault master@18000s never came: the run was over after ", 0), 0u)
      << run.notes.back();
  EXPECT_EQ(run.totals.hits(), run_small(small_setting()).value().totals.hits());
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
           {[](Setting& s) { s.memory_per_node = Bytes{2ull << 40}; }, "which has 2: ask for"},
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
           {[](Setting& s) { s.speed = 1e-300; }, "speed is 1e-300; it can be from 0.000001"},
           {[](Setting& s) { s.gpu_speed = 1e300; }, "gpu-speed is 1e+300; it can be"},
           {[](Setting& s) { s.gpu_speed = 1e-6; }, "takes more than 100000 s"},
           {[](Setting& s) { s.master_speed = std::nan(""); }, "master-speed is nan; it can be"},
           {[](Setting& s) { s.page_tokens = 512 << 20; }, "page-tokens is 536870912; it can be"},
           {[](Setting& s) { s.host_memory = Bytes{~std::uint64_t{0}}; }, "more than 256 TiB"},
           {[](Setting& s) { s.lease = Duration(1); }, "lease is 1ns; it can be from 1s on"},
           {[](Setting& s) { s.every = std::chrono::hours(876'000); }, "more than 366 days"},
           {[](Setting& s) { s.nodes = 10'000; },
            "16.00 GiB of node 28, 2494 more (memory-per-node"},
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
