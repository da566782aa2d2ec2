#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/files/temporary.h"
#include "tests/support/traces.h"
#include "tests/unit/sim/cli/ran.h"

namespace larder::sim {
namespace {

using nlohmann::json;

const std::string two_lines =
    R"({"timestamp": 0, "input_length": 1000, "output_length": 7, "hash_ids": [1, 2]})"
    "\n"
    R"({"timestamp": 1, "input_length": 1000, "output_length": 7, "hash_ids": [1, 3]})"
    "\n";

TEST(CommandLine, HelpTeachesWithAnExampleAndIsNoError) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"trace", "stats"},
                                             {"trace", "generate"},
                                             {"hit-rate"},
                                             {"replay"},
                                             {"lockstep"},
                                             {"compare"},
                                             {"hardware"},
                                             {"budget"}}) {
    std::vector<std::string> arguments = command;
    arguments.push_back("--help");
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_NE(ran.out.find("Example: larder-sim " + command.front()), std::string::npos) << ran.out;
  }
  const Ran top = run({"--help"});
  EXPECT_EQ(top.code, 0);
  EXPECT_LT(std::count(top.out.begin(), top.out.end(), '\n'), 30) << top.out;  // one screen
}

TEST(CommandLine, AStoryIsToldByItsName) {
  const Ran ran = run({"story", "writer-crashes"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("operation 1: dies in it"), std::string::npos) << ran.out;
  EXPECT_EQ(run({"story", "of-nobody"}).code, 2);
}

TEST(CommandLine, AScenarioIsWrittenReadAndRun) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() / "seven.txt";
  ASSERT_EQ(run({"explore", "--seed", "7", "--operations", "40", "--write", file}).code, 0);
  const Ran ran = run({"explore", "--scenario", file});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("no violation"), std::string::npos) << ran.out;
  const Ran bad = run({"explore", "--scenario", directory.file("bad.txt", "node0 1MiB\nclint\n")});
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.err.find("bad.txt:2: 'clint' begins no line"), std::string::npos) << bad.err;
}

TEST(CommandLine, AFailureIsShrunkIntoAFileThatFailsAgain) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() / "shrunk.txt";
  const Ran ran = run({"explore", "--seeds", "20", "--operations", "200", "--without", "state",
                       "--shrink", "3", "--shrunk", file});
  EXPECT_EQ(ran.code, 3);
  EXPECT_NE(ran.out.find("the guard 'state' is off"), std::string::npos) << ran.out;
  EXPECT_EQ(run({"explore", "--scenario", file, "--without", "state"}).code, 3);
  EXPECT_EQ(run({"explore", "--scenario", file}).code, 0);
}

TEST(CommandLine, AblationPrintsTablesOrJson) {
  const std::vector<std::string> few{"ablation", "--seeds", "1", "--operations", "60"};
  const Ran text = run(few);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("| retired-put-ids | a fill of a put"), std::string::npos) << text.out;
  std::vector<std::string> as_json = few;
  as_json.push_back("--json");
  const json result = json::parse(run(as_json).out);
  EXPECT_EQ(result.at("seeds"), 1);
  EXPECT_EQ(result.at("off").size(), 37u);
  EXPECT_EQ(result.at("off")[0].at("wrong_reads"), 0) << "with all guards";
}

TEST(CommandLine, ASmallWorldIsExhaustedOrItsShortestWayIsTold) {
  const Ran good = run({"explore", "--exhaustive", "two-writers"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_NE(good.out.find("exhausted: all"), std::string::npos) << good.out;
  const Ran bad = run({"explore", "--exhaustive", "two-writers", "--without", "state"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_NE(bad.out.find("broken: I1"), std::string::npos) << bad.out;
  EXPECT_NE(bad.out.find("--without state --way '"), std::string::npos) << bad.out;
  const Ran unknown = run({"explore", "--exhaustive", "of-nobody"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("two-replicas"), std::string::npos) << unknown.err;
}

// A commit's name is a seed, by its first 16 digits.
TEST(CommandLine, ACommitIsASeed) {
  const auto hash = [](const std::string& seed) {
    return json::parse(
               run({"explore", "--seeds", "1", "--operations", "20", "--json", "--first", seed})
                   .out)
        .at("state_hash")
        .get<std::string>();
  };
  EXPECT_EQ(hash("5d2e0123456789abcdef"), hash("5d2e0123456789ab"));
  EXPECT_NE(hash("5d2e0123456789ab"), hash("5d2e0123456789ac"));
  EXPECT_EQ(run({"explore", "--first", "xyz"}).code, 2);
}

TEST(CommandLine, WrongUsageIsExitCode2WithTheReasonOnStderr) {
  const TemporaryDirectory directory;
  const std::string trace = directory.file("t.jsonl", two_lines);
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"no-such-command"},
           {"trace"},
           {"trace", "stats"},
           {"trace", "stats", trace, "--no-such-flag"},
           {"trace", "stats", trace, "--format", "csv"},
           {"trace", "stats", trace, "--block-size", "0"},
           {"trace", "stats", trace, "--block-size", "-1"},
           {"trace", "stats", trace, "--block-size", "many"},
           {"trace", "stats", trace, trace},
           {"trace", "generate", "--requests", "-1"},
           {"trace", "generate", "--requests", "0"},
           {"trace", "generate", "--requests", "1.5"},
           {"trace", "generate", "--rate", "0"},
           {"trace", "generate", "--rate", "nan"},
           {"trace", "generate", "--block-size", "0"},
           {"trace", "generate", "--chat", "wait=3"},
           {"trace", "generate", "--chat", "weight"},
           {"trace", "generate", "--chat", "weight=-1"},
           {"trace", "generate", "--chat", "think=nan"},
           {"explore", "--seeds", "0"},
           {"explore", "--operations", "0"},
           {"explore", "--threads", "0"},
           {"ablation", "--seeds", "0"},
           {"ablation", "--first", "xyz"},
           {"hit-rate"},
           {"hit-rate", trace, "--policy", "mru"},
           {"hit-rate", trace, "--policy", ""},
           {"hit-rate", trace, "--blocks", "1000,"},
           {"hit-rate", trace, "--blocks", "-1"},
           {"hit-rate", trace, "--blocks", "1e3"},
           {"hit-rate", trace, "--blocks", "18446744073709551616"},
       }) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(ran.out, "") << testing::PrintToString(arguments);
    EXPECT_NE(ran.err, "") << testing::PrintToString(arguments);
  }
}

TEST(CommandLine, ABadTraceIsExitCode1WithItsLineOnStderr) {
  const TemporaryDirectory directory;
  const std::string trace = directory.file("t.jsonl", two_lines + "{\"timestamp\": 2");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"trace", "stats", trace}, {"hit-rate", trace}}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 1);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(trace + ": line 3: column 16: "), std::string::npos) << ran.err;
  }
  EXPECT_EQ(run({"trace", "stats", directory.path() / "none"}).code, 1);
}

TEST(CommandLine, AFullDiskIsExitCode1AndNothingIsLeftBehind) {
  Ran ran = run({"trace", "generate", "--requests", "10", "--out", "/dev/full"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("No space left on device"), std::string::npos) << ran.err;
  const TemporaryDirectory directory;
  ran = run({"trace", "generate", "--out", directory.path() / "no" / "out"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("No such file or directory"), std::string::npos) << ran.err;
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(TraceStats, AsJsonHasStableKeys) {
  const TemporaryDirectory directory;
  const Ran ran = run({"trace", "stats", directory.file("t.jsonl", two_lines), "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out), json::parse(R"({
    "requests": 2, "sessions": 0, "agents": 0,
    "first_arrival_s": 0.0, "last_arrival_s": 0.001, "distinct_timestamps": 2,
    "input_tokens": 2000, "output_tokens": 14,
    "block_accesses": 4, "unique_blocks": 3, "trie_violations": 0,
    "infinite_pool": {
      "block_hits": 1, "block_hit_ratio": 0.25,
      "leading_block_hits": 1, "leading_block_hit_ratio": 0.25,
      "leading_token_hits": 512, "leading_token_hit_ratio": 0.256},
    "used_once_ratio": 0.6666666666666666,
    "reuse": [{"uses_min": 1, "uses_max": 1, "blocks": 2}, {"uses_min": 2, "uses_max": 2, "blocks": 1}],
    "input_length": {"p50": 1000, "p90": 1000, "max": 1000},
    "output_length": {"p50": 7, "p90": 7, "max": 7},
    "blocks_per_request": {"p50": 2, "p90": 2, "max": 2}})"));
}

TEST(TraceStats, ForPeopleIsAlignedAndHasThousands) {
  const TemporaryDirectory directory;
  const Ran ran = run({"trace", "stats", directory.file("t.jsonl", two_lines)});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("  input tokens                           2,000\n"), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("  block hits                                 1   25.00 %\n"),
            std::string::npos)
      << ran.out;
}

TEST(TraceGenerate, WritesWhatItPrints) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "t.jsonl";
  const Ran printed = run({"trace", "generate", "--requests", "20", "--chat", "weight=0", "--agent",
                           "weight=1,system=1024,think=0.5"});
  ASSERT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(std::count(printed.out.begin(), printed.out.end(), '\n'), 20);
  const Ran written = run({"trace", "generate", "--requests", "20", "--chat", "weight=0", "--agent",
                           "weight=1,system=1024,think=0.5", "--out", path});
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(written.out, "");
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), printed.out);
  EXPECT_EQ(run({"trace", "stats", path}).code, 0);
}

TEST(HitRate, OfAnUnknownPolicyItNamesThoseThatThereAre) {
  const Ran ran = run({"hit-rate", "workloads/samples/sessions.jsonl", "--policy", "mru"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("no eviction policy is named 'mru'; there are lru, "), std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("; and belady, the bound"), std::string::npos) << ran.err;
}

// The defaults are for whoever tries the shipped sample: they show a cache that is too small, and
// one that is large enough.
TEST(Defaults, ShowSomethingOnTheShippedSample) {
  const std::string sample = "workloads/samples/sessions.jsonl";
  const json rates = json::parse(run({"hit-rate", sample, "--policy", "lru", "--json"}).out);
  EXPECT_LT(rates.front().at("hit_ratio").get<double>(),
            0.8 * rates.back().at("hit_ratio").get<double>());
  const Ran replay = run({"lockstep", sample, "--verify", "off", "--json"});
  ASSERT_EQ(replay.code, 0) << replay.err;
  EXPECT_GT(json::parse(replay.out).at("evictions"), 0);
}

TEST(HitRate, AsJsonIsAnArrayInTheOrderAsked) {
  const TemporaryDirectory directory;
  const std::string trace = directory.file("t.jsonl", two_lines);
  const Ran ran = run({"hit-rate", "--policy", "lru,fifo", "--blocks", "inf,0", trace, "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out), json::parse(R"([
    {"policy": "lru", "blocks": "inf", "accesses": 4, "hits": 1, "hit_ratio": 0.25},
    {"policy": "lru", "blocks": 0, "accesses": 4, "hits": 0, "hit_ratio": 0.0},
    {"policy": "fifo", "blocks": "inf", "accesses": 4, "hits": 1, "hit_ratio": 0.25},
    {"policy": "fifo", "blocks": 0, "accesses": 4, "hits": 0, "hit_ratio": 0.0}])"));
}

TEST(Lockstep, PrintsItsNumbersAndKeepsThemWithPoints) {
  const TemporaryDirectory directory;
  const std::string trace = directory.file("t.jsonl", two_lines);
  const std::string out = directory.path() / "out";
  const Ran ran = run({"lockstep", trace, "--nodes", "1", "--memory", "1MiB", "--page-bytes",
                       "4 KiB", "--out", out, "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json printed = json::parse(ran.out);
  EXPECT_EQ(printed.at("world"), "sim");
  EXPECT_EQ(printed.at("trace"), "t.jsonl");
  EXPECT_EQ(printed.at("requests"), 2);
  EXPECT_EQ(printed.at("pages"), 4);
  EXPECT_EQ(printed.at("page_hits"), 1);
  EXPECT_EQ(printed.at("puts"), 3);
  EXPECT_EQ(printed.at("bytes_read"), 4096);
  EXPECT_EQ(printed.at("bytes_written"), 3 * 4096);
  EXPECT_EQ(printed.at("state_hash").get<std::string>().size(), 16u);
  EXPECT_GT(printed.at("virtual_s"), 0);
  EXPECT_FALSE(printed.contains("series"));
  std::ifstream file(out + "/sim.json");
  EXPECT_EQ(json::parse(file).at("series").size(), 2u);
}

TEST(Lockstep, E10ABrokenTraceIsExitCode1WithTheLine) {
  const TemporaryDirectory directory;
  const std::string trace = directory.file("t.jsonl", two_lines + "{\"timestamp\": 2");
  const Ran ran = run({"lockstep", trace});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("line 3"), std::string::npos) << ran.err;
}

TEST(Lockstep, WrongUsageIsExitCode2AndNamesTheFlag) {
  const TemporaryDirectory directory;
  const std::string trace = directory.file("t.jsonl", two_lines);
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--nodes", "0"},
                                             {"--nodes", "-1"},
                                             {"--memory", "1 EUR"},
                                             {"--memory", "1KiB"},
                                             {"--page-bytes", "0"},
                                             {"--policy", "random"},
                                             {"--verify", "perhaps"}}) {
    std::vector<std::string> arguments{"lockstep", trace};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << flags[0] << ' ' << flags[1];
    EXPECT_NE((ran.err + ran.out).find(flags[0]), std::string::npos) << ran.err;
  }
}

TEST(Compare, SaysThatTwoRunsAgreeOrWhereTheyPart) {
  const TemporaryDirectory directory;
  const std::string trace = directory.file("t.jsonl", two_lines);
  const std::string a = directory.path() / "a";
  const std::string b = directory.path() / "b";
  const std::string html = directory.path() / "report.html";
  ASSERT_EQ(run({"lockstep", trace, "--page-bytes", "4KiB", "--out", a}).code, 0);
  ASSERT_EQ(run({"lockstep", trace, "--page-bytes", "4KiB", "--out", b}).code, 0);
  const Ran same = run({"compare", a, b + "/sim.json", "--html", html});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_NE(same.out.find("decisions of 2 requests are the same"), std::string::npos);
  EXPECT_TRUE(std::filesystem::file_size(html) > 1000);

  ASSERT_EQ(
      run({"lockstep", trace, "--page-bytes", "4KiB", "--requests-max", "1", "--out", b}).code, 0);
  const Ran different = run({"compare", a, b, "--json"});
  EXPECT_EQ(different.code, 1);
  EXPECT_NE(different.err.find("2 of simulated 1, 1 of simulated 2"), std::string::npos);
  EXPECT_FALSE(json::parse(different.out).at("agree"));
}

TEST(Compare, WhatCannotBeReadIsNamed) {
  const TemporaryDirectory directory;
  const std::string broken = directory.file("sim.json", "{");
  const std::string none = directory.path() / "none";
  Ran ran = run({"compare", broken, broken});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find(broken), std::string::npos) << ran.err;
  ran = run({"compare", none, none});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find(none), std::string::npos) << ran.err;
  directory.file("real.json", "{");
  ran = run({"compare", directory.path(), broken});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("name one of the files"), std::string::npos) << ran.err;
}

TEST(HitRate, E7OfNoAccessesIsNoData) {
  const TemporaryDirectory directory;
  const std::string trace = directory.file(
      "t.jsonl", R"({"timestamp": 0, "input_length": 0, "output_length": 7, "hash_ids": []})");
  const Ran ran = run({"hit-rate", trace, "--policy", "lru", "--blocks", "10", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(json::parse(ran.out).at(0).at("hit_ratio").is_null());
  EXPECT_NE(run({"hit-rate", trace}).out.find("no data"), std::string::npos);
}

TEST(HitRate, OfTheConversationTraceIsTheIndependentlyComputedOne) {
  LARDER_NEEDS_PUBLISHED_TRACES();
  const Ran ran = run({"hit-rate", published_traces() / "conversation_trace.jsonl", "--policy",
                       "lru", "--blocks", "1000,10000,50000,inf", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::vector<int> hits;
  for (const json& point : json::parse(ran.out)) hits.push_back(point.at("hits"));
  EXPECT_EQ(hits, (std::vector<int>{12'831, 60'921, 102'290, 105'710}));
}

TEST(Hardware, WithoutANameListsThePresets) {
  const Ran ran = run({"hardware"});
  EXPECT_EQ(ran.code, 0);
  for (const char* name : {"8xh800-8x200", "8xh800-4x200", "8xa100-2x100", "8xh20-4x200",
                           "8xh200-8x400", "cpu-1x25", "cpu-2x100"}) {
    EXPECT_NE(ran.out.find(name), std::string::npos) << name;
  }
}

TEST(Hardware, ShowsLinksNearNicsAndAPath) {
  const Ran ran = run({"hardware", "8xh800-4x200"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* line : {"socket0 - dram0", "8 x 30.72",
                           "gpu3      nearest: nic1 (24.51); same-socket: nic0 (24.51)",
                           "host0/gpu0 to host7/dram1: 24.51 GB/s", "host0/nic0 to leaf0"}) {
    EXPECT_NE(ran.out.find(line), std::string::npos) << line << "\n" << ran.out;
  }
}

TEST(Hardware, JsonHasTheNicsOfEachMemoryAndTheFile) {
  const Ran ran = run({"hardware", "8xa100-2x100", "--hosts", "3", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json out = json::parse(ran.out);
  EXPECT_EQ(out.at("hosts"), 3);
  EXPECT_EQ(out.at("file").at("hosts").at(0).at("count"), 3);
  int gpus = 0;
  for (const json& place : out.at("kinds").at(0).at("places")) {
    if (place.at("place") == "gpu5") {
      EXPECT_EQ(place.at("nics").at(0).at("nic"), "nic1");
      EXPECT_EQ(place.at("nics").at(0).at("nearness"), "nearest");
    }
    gpus += place.at("place").get<std::string>().starts_with("gpu") ? 1 : 0;
  }
  EXPECT_EQ(gpus, 8);
  EXPECT_EQ(out.at("paths").at(0).at("from"), "host0/gpu0");
}

TEST(Hardware, AFileOfAPresetIsThatPreset) {
  const TemporaryDirectory directory;
  const Ran written = run({"hardware", "cpu-2x100", "--file"});
  ASSERT_EQ(written.code, 0) << written.err;
  const std::string file = directory.file("mine.json", written.out);
  EXPECT_EQ(run({"hardware", file}).out, run({"hardware", "cpu-2x100"}).out);
}

TEST(Hardware, E10WhatIsWrongIsNamedWithItsPlace) {
  const TemporaryDirectory directory;
  const std::string bad = directory.file("bad.json", R"({"hosts": [{"preset": "x", "count": 1}]})");
  Ran ran = run({"hardware", bad});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("bad.json: /hosts/0/preset: 'x' is no preset"), std::string::npos)
      << ran.err;
  ran = run({"hardware", "8xh900"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("there are 8xh800-8x200"), std::string::npos) << ran.err;
  ran = run({"hardware", "cpu-1x25", "--hosts", "99999"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("/hosts/0/count"), std::string::npos) << ran.err;
  EXPECT_EQ(run({"hardware", "cpu-1x25", "--json", "--file"}).code, 2);
}

TEST(Budget, SaysWithWhatReplayIsAskedForTheSamePool) {
  const std::vector<std::string> hosts{"--cluster", "cpu-2x100", "--model",
                                       "qwen3-32b", "--hosts",   "4"};
  std::vector<std::string> command{"budget", "--memory-per-node", "300GiB"};
  command.insert(command.end(), hosts.begin(), hosts.end());
  const Ran budget = run(command);
  ASSERT_EQ(budget.code, 0) << budget.err;
  const std::string setting = "--nodes 8 --memory-per-node 150GiB";
  EXPECT_NE(budget.out.find("As a setting of replay: " + setting +
                            ", a node for each of a host's 2 memories.\n"),
            std::string::npos)
      << budget.out;

  command = {"replay",
             "workloads/samples/sessions.jsonl",
             "--serving",
             "off",
             "--fabric",
             "off",
             "--nodes",
             "8",
             "--memory-per-node",
             "150GiB"};
  command.insert(command.end(), hosts.begin(), hosts.end());
  const Ran replay = run(command);
  EXPECT_EQ(replay.code, 0) << replay.err;
}

TEST(Budget, APartIsARowAndJsonHasTheSameBytes) {
  const std::vector<std::string> command{
      "budget", "--cluster",         "cpu-2x100", "--model",    "qwen3-32b", "--hosts",
      "4",      "--memory-per-node", "800GiB",    "--replicas", "2"};
  Ran ran = run(command);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("contributed to the pool"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("The pool: 3.12 TiB contributed, pages of 128.00 MiB"), std::string::npos)
      << ran.out;
  std::vector<std::string> with_json = command;
  with_json.push_back("--json");
  ran = run(with_json);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json out = json::parse(ran.out);
  const std::uint64_t contributed = std::uint64_t{800} << 30;
  std::uint64_t sum = out.at("hosts").at(0).at("left_bytes");
  for (const json& part : out.at("hosts").at(0).at("parts")) {
    sum += part.at("bytes").get<std::uint64_t>();
  }
  EXPECT_EQ(sum, out.at("hosts").at(0).at("memory_bytes"));
  EXPECT_EQ(out.at("contributed_bytes"), 4 * contributed);
  EXPECT_EQ(out.at("usable_bytes"), out.at("payload_bytes").get<std::uint64_t>() / 2);
}

TEST(Budget, WasteIsMeasuredWithThePagesOfTheTrace) {
  const TemporaryDirectory directory;
  std::string trace;
  for (int i = 0; i < 400; ++i) {  // 1,000 tokens: a page of 512, and one of 488
    trace += R"({"timestamp": 0, "input_length": 1000, "output_length": 7, "hash_ids": [)" +
             std::to_string(2 * i) + ", " + std::to_string(2 * i + 1) + "]}\n";
  }
  const std::vector<std::string> command{"budget",
                                         directory.file("trace.jsonl", trace),
                                         "--cluster",
                                         "cpu-2x100",
                                         "--model",
                                         "qwen3-32b",
                                         "--memory-per-node",
                                         "10GiB",
                                         "--json"};
  const json whole = json::parse(run(command).out);
  EXPECT_EQ(whole.at("measured").at("trace_pages"), 800);
  EXPECT_GT(whole.at("measured").at("refusals"), 0);
  std::vector<std::string> cut_command = command;
  cut_command.push_back("--cut-pages");
  const json cut = json::parse(run(cut_command).out);
  const auto bytes = [](const json& out, std::string_view name) {
    for (const json& part : out.at("use")) {
      if (part.at("part") == name) return part.at("bytes").get<double>();
    }
    return -1.0;
  };
  EXPECT_NEAR(bytes(whole, "tails") / (bytes(whole, "payload") + bytes(whole, "tails")),
              24.0 / 1024, 0.001);
  EXPECT_EQ(bytes(cut, "tails"), 0);
}

TEST(Budget, E10WhatCannotBeIsSaidAndWhatDoesNotFitIsExitCode1) {
  const auto error_of = [](const std::vector<std::string>& more, int code) {
    std::vector<std::string> command{"budget"};
    command.insert(command.end(), more.begin(), more.end());
    const Ran ran = run(command);
    EXPECT_EQ(ran.code, code) << ran.out;
    return ran.err;
  };
  const auto expect = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(
      error_of({"--cluster", "cpu-1x25", "--model", "qwen3-32b", "--memory-per-node", "380GiB"}, 1),
      "the largest part is contributed to the pool, 380.00 GiB");
  expect(error_of({"--cluster", "cpu-1x25", "--model", "gpt-9"}, 2), "there are llama-3.1-8b");
  expect(error_of({"--cluster", "cpu-9x9", "--model", "qwen3-32b"}, 2), "there are 8xh800-8x200");
  expect(error_of({"--cluster", "cpu-1x25", "--model", "qwen3-32b", "--reserve", "much"}, 2),
         "--reserve");
  expect(error_of({"--cluster", "cpu-1x25", "--model", "qwen3-32b", "--page-tokens", "0"}, 2),
         "--page-tokens");
  const TemporaryDirectory directory;
  const std::string bad = directory.file("bad.jsonl", two_lines + "{\"timestamp\": -1}\n");
  expect(error_of({bad, "--cluster", "cpu-1x25", "--model", "qwen3-32b"}, 1), "line 3");
}

}  // namespace
}  // namespace larder::sim
