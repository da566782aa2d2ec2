#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/files/temporary.h"
#include "tests/support/traces.h"
#include "tests/unit/sim/cli/ran.h"
#include "tests/unit/sim/cli/small_commands.h"

namespace larder::sim {
namespace {

using nlohmann::json;

TEST(ReplayCommand, WritesItsFilesAndTheyAgree) {
  const TemporaryDirectory directory;
  const auto out = directory.path() / "run";
  const Ran ran = run(small("replay", {"--out", out, "--misses"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("time to first token"), std::string::npos) << ran.out;
  const json file = json::parse(text_of(out / "run.json"));
  EXPECT_EQ(file.at("format"), "larder-run");
  EXPECT_EQ(file.at("setting").at("memory-per-node"), "8GiB");
  const json& pages = file.at("pages");
  EXPECT_GT(pages.at("pool_hits"), 0);
  std::uint64_t missed = 0;
  for (const auto& [reason, count] : pages.at("misses_by_reason").items()) {
    missed += count.get<std::uint64_t>();
  }
  EXPECT_EQ(pages.at("missed"), missed);
  EXPECT_EQ(pages.at("asked").get<std::uint64_t>(), pages.at("hits").get<std::uint64_t>() + missed);
  EXPECT_EQ(lines_of(out / "misses.csv"), missed + 1);
  EXPECT_EQ(lines_of(out / "requests.csv"),
            file.at("requests").at("arrived").get<std::size_t>() + 1);
  EXPECT_EQ(lines_of(out / "timeline.csv"), file.at("intervals").at("end_s").size() + 1);
  EXPECT_GT(lines_of(out / "links.csv"), 1u);
  const json& curve = file.at("pool_curve");
  EXPECT_EQ(curve.at("fetched"), pages.at("pool_hits"));
  EXPECT_EQ(curve.at("pool_pages"), file.at("sizes").at("pool_pages"));
  EXPECT_LE(curve.at("found"), curve.at("belady_found"));
  EXPECT_LE(curve.at("belady_found"), curve.at("infinite_found"));
  EXPECT_NE(ran.out.find("no policy more than"), std::string::npos) << ran.out;
  // Again without the rows of misses: those of before are gone, and all else is the same.
  const std::string before = text_of(out / "run.json") + text_of(out / "requests.csv");
  ASSERT_EQ(run(small("replay", {"--out", out})).code, 0);
  EXPECT_FALSE(std::filesystem::exists(out / "misses.csv"));
  EXPECT_EQ(text_of(out / "run.json") + text_of(out / "requests.csv"), before);
}

TEST(ReplayCommand, FaultsStandInTheFile) {
  const Ran ran =
      run(small("replay", {"--fail", "node:1@5s+5s", "--fail", "master@20s+1s", "--json"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json faults = json::parse(ran.out).at("faults");
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].at("fault"), "node:1@5s+5s");
  EXPECT_EQ(faults[1].at("end_s"), 21);
}

TEST(ReplayCommand, SeveralSeedsGiveASpread) {
  const Ran one = run(small("replay", {"--json"}));
  const Ran three = run(small("replay", {"--json", "--seeds", "3"}));
  ASSERT_EQ(three.code, 0) << three.err;
  json first = json::parse(one.out);
  json spread = json::parse(three.out);
  const json ratio = spread.at("spread").at("hit_ratio");
  EXPECT_EQ(spread.at("spread").at("seeds"), 3);
  EXPECT_LE(ratio.at("least"), spread.at("pages").at("hit_ratio"));
  EXPECT_GE(ratio.at("most"), spread.at("pages").at("hit_ratio"));
  first.erase("spread");
  spread.erase("spread");
  EXPECT_EQ(first, spread) << "all else is of the first seed";
  EXPECT_EQ(run(small("replay", {"--seeds", "0"})).code, 2);
}

TEST(ReplayCommand, WrongUsageIsExitCode2AndSaysWhat) {
  for (const auto& [flags, says] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--engines", "0"}, "engines is 0"},
           {{"--engines", "-1"}, "--engines"},
           {{"--memory-per-node", "0"}, "zero bytes"},
           {{"--cluster", "9xh800"}, "9xh800"},
           {{"--model", "gpt-9"}, "gpt-9"},
           {{"--fail", "node:7@1s"}, "no node 7 of 2"},
           {{"--loop", "closed"}, "sessions"},
           {{"--policy", "random"}, "policy"},
           {{"--misses"}, "--out"},
           {{"--out", ""}, "--out: must not be empty"},
           {{"--html", ""}, "--html: must not be empty"},
           {{"--engines", ""}, "--engines: '' is no number"},
           {{"--speed", "nan"}, "--speed: 'nan' is no number"},
           {{"--speed", "1e-300"}, "speed is 1e-300"},
           {{"--cluster", ""}, "'' is no preset of hardware"},
           {{"--fail", "nic:host9/nic0@1s"}, "fail: nic:host9/nic0@1s: 'host9/nic0' is no NIC"},
           {{"--memory-per-node", "999999TiB"}, "memory-per-node is more than the 256 TiB"},
           {{"--page-tokens", "100"}, "page-tokens is 100"}}) {
    const Ran ran = run(small("replay", flags));
    EXPECT_EQ(ran.code, 2) << flags[0] << ran.err;
    EXPECT_NE((ran.err + ran.out).find(says), std::string::npos) << ran.err;
  }
}

constexpr const char* row =
    R"({"timestamp": 0, "input_length": 1024, "output_length": 5, "hash_ids": [1, 2]})";

TEST(ReplayCommand, E4ABadTimeIsExitCode1WithTheLine) {
  const TemporaryDirectory directory;
  for (const char* time : {"-1", "NaN", "null", "1e400", "\"5\"", "99999999999999999999", ""}) {
    std::string second = row;
    second.replace(second.find("0,"), 1, time);
    if (*time == 0) second.replace(0, second.find("\"input"), "{");
    const std::string trace = directory.file("t.jsonl", std::string(row) + "\n" + second + "\n");
    const Ran ran = run({"replay", trace});
    EXPECT_EQ(ran.code, 1) << time;
    EXPECT_NE(ran.err.find("line 2"), std::string::npos) << time << ran.err;
  }
  std::string later = row;
  later.replace(later.find("0,"), 1, "7");
  const std::string unsorted = directory.file("t.jsonl", later + "\n" + row + "\n");
  EXPECT_NE(run({"replay", unsorted}).err.find("line 2: the timestamp is earlier"),
            std::string::npos);
}

TEST(ReplayCommand, ALongerPromptThanTheModelsContextIsRejectedAndCounted) {
  const TemporaryDirectory directory;
  std::string ids = "0";
  for (int block = 1; block < 300; ++block) ids += ", " + std::to_string(block);
  const std::string trace = directory.file(
      "t.jsonl", std::string(row) + "\n" + R"({"timestamp": 0, "input_length": 153600,)" +
                     R"( "output_length": 5, "hash_ids": [)" + ids + "]}\n");
  std::vector<std::string> arguments = small("replay", {"--json"});
  arguments[1] = trace;
  const Ran ran = run(arguments);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json requests = json::parse(ran.out).at("requests");
  EXPECT_EQ(requests.at("arrived"), 2);
  EXPECT_EQ(requests.at("too_long"), 1);
  EXPECT_EQ(requests.at("completed"), 1);
}

TEST(ReplayCommand, WhatRunJsonCannotNameIsRefusedBeforeTheRun) {
  const TemporaryDirectory directory;
  std::vector<std::string> arguments = small("replay", {"--out", directory.path() / "run"});
  arguments[1] = directory.file("\xff.jsonl", std::string(row) + "\n");
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("is no UTF-8 without control characters"), std::string::npos) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "run"));
}

TEST(ReplayCommand, APlaceThatCannotBeWrittenIsSaidBeforeTheRun) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("file", "x");
  for (const char* flag : {"--out", "--html"}) {
    const Ran ran = run(small("replay", {flag, file + "/below", "--speed", "0.001"}));
    EXPECT_EQ(ran.code, 1) << flag;
    EXPECT_NE(ran.err.find("file/below"), std::string::npos) << ran.err;
  }
}

TEST(ReplayCommand, E10ABrokenTraceIsExitCode1AndLeavesNoFile) {
  const TemporaryDirectory directory;
  const std::string trace = directory.file("t.jsonl", "{\"timestamp\": 0, \"input_length\": 1");
  const auto out = directory.path() / "run";
  const Ran ran = run({"replay", trace, "--out", out});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("line 1"), std::string::npos) << ran.err;
  EXPECT_TRUE(std::filesystem::is_empty(out));
}

TEST(ExplainCommand, ClassesSumToTheMissesAndBelady) {
  const TemporaryDirectory directory;
  const auto out = directory.path() / "run";
  ASSERT_EQ(
      run(small("replay", {"--serving", "off", "--memory-per-node", "2GiB", "--out", out})).code,
      0);
  const json pages = json::parse(text_of(out / "run.json")).at("pages");
  const Ran ran = run({"explain", out, "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json told = json::parse(ran.out);
  EXPECT_EQ(told.at("missed"), pages.at("missed"));
  EXPECT_EQ(told.at("misses_by_reason"), pages.at("misses_by_reason"));
  const auto evicted = told.at("misses_by_reason").at("evicted").get<std::uint64_t>();
  EXPECT_GT(evicted, 0u);
  EXPECT_EQ(told.at("evicted_belady_kept").get<std::uint64_t>() +
                told.at("evicted_belady_lost").get<std::uint64_t>(),
            evicted);
  EXPECT_GT(told.at("evicted_belady_kept"), 0);
  const Ran text = run({"explain", out});
  EXPECT_NE(text.out.find("Belady"), std::string::npos) << text.out;
}

TEST(ExplainCommand, TellsOfOneRequestAndOfOnePage) {
  const TemporaryDirectory directory;
  const auto out = directory.path() / "run";
  ASSERT_EQ(run(small("replay", {"--out", out})).code, 0);
  const Ran request = run({"explain", out, "--request", "0"});
  ASSERT_EQ(request.code, 0) << request.err;
  EXPECT_NE(request.out.find("cold"), std::string::npos) << request.out;
  const Ran key = run({"explain", out, "--key", "0"});
  ASSERT_EQ(key.code, 0) << key.err;
  EXPECT_NE(key.out.find("page 0 was asked for by"), std::string::npos) << key.out;
  EXPECT_EQ(run({"explain", out, "--request", "1000000"}).code, 2);
  EXPECT_EQ(run({"explain", out, "--request", ""}).code, 2);
  EXPECT_EQ(run({"explain", out, "--key", ""}).code, 2);
  EXPECT_EQ(run({"explain", out, "--key", "18446744073709551615"}).code, 2);
  EXPECT_EQ(run({"explain", directory.path()}).code, 1);
}

TEST(ExplainCommand, TriesOneMoreOfEachResource) {
  const TemporaryDirectory directory;
  const auto out = directory.path() / "run";
  ASSERT_EQ(run(small("replay", {"--out", out, "--speed", "4"})).code, 0);
  const Ran ran = run({"explain", out, "--bottleneck", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json told = json::parse(ran.out).at("one_more_of_each");
  ASSERT_GE(told.size(), 7u);
  for (const json& each : told) {
    if (each.at("resource") == "GPU compute") {
      EXPECT_LT(each.at("ttft_mean_s"), told[0].at("ttft_mean_s"));
    }
  }
}

const std::string spec = R"({"trace": "workloads/samples/sessions.jsonl",
  "setting": {"model": "llama-3.1-8b", "hosts": 2, "engines": 2, "gpus-per-engine": 1,
              "host-memory": "128GiB", "nodes": 2, "requests-max": 60},
  "vary": {"memory-per-node": {"from": "1GiB", "to": "4GiB", "factor": 2},
           "policy": ["lru", "leaf-first"]},
  "seeds": 2})";

TEST(SweepCommand, E8OneCsvTheSameOnAnyNumberOfThreads) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("spec.json", spec);
  const auto one = directory.path() / "one";
  const auto two = directory.path() / "two";
  const Ran ran = run({"sweep", file, "--out", one});
  ASSERT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(run({"sweep", file, "--out", two, "--jobs", "3"}).code, 0);
  EXPECT_EQ(lines_of(one / "sweep.csv"), 13u);
  EXPECT_EQ(text_of(one / "sweep.csv"), text_of(two / "sweep.csv"));
  EXPECT_TRUE(text_of(one / "sweep.csv").starts_with("run,memory-per-node,policy,seed,error,"));
  EXPECT_NE(text_of(one / "sweep.csv").find("\n11,4GiB,leaf-first,2,,60,"), std::string::npos);
}

TEST(SweepCommand, SaysHowManyRunsCouldNotBeAndFailsWhereNoneCould) {
  const TemporaryDirectory directory;
  const auto some = [&](const std::string& nodes) {
    return directory.file("spec.json", R"({"trace": "workloads/samples/sessions.jsonl",
      "setting": {"model": "llama-3.1-8b", "hosts": 2, "engines": 2, "gpus-per-engine": 1,
                  "host-memory": "128GiB", "requests-max": 5},
      "vary": {"memory-per-node": ["1GiB", "9TiB"], "nodes": )" +
                                           nodes + "}}");
  };
  const Ran half = run({"sweep", some("[2]"), "--out", directory.path() / "half"});
  EXPECT_EQ(half.code, 0);
  EXPECT_NE(half.out.find("1 of 2 runs could not be, the first: "), std::string::npos) << half.out;
  const Ran none = run({"sweep", some("[0, 20000]"), "--out", directory.path() / "none"});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("4 of 4 runs could not be, the first: "), std::string::npos) << none.err;
  EXPECT_EQ(lines_of(directory.path() / "none" / "sweep.csv"), 5u) << "each with its error";
}

TEST(ReplayCommand, AWordThatIsNoneIsToldWithThoseThatThereAre) {
  const Ran ran = run({"replay", "workloads/samples/sessions.jsonl", "--kv-type", "fp4"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("kv-type: 'fp4' is none of its words (Of the KV: fp16 or fp8)"),
            std::string::npos)
      << ran.err;
}

TEST(SweepCommand, GoesOnAfterAnInterruption) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("spec.json", spec);
  const auto out = directory.path() / "out";
  ASSERT_EQ(run({"sweep", file, "--out", out}).code, 0);
  const std::string whole = text_of(out / "sweep.csv");
  // As if it had been killed in the middle of a row.
  std::string part = text_of(out / "part-0-of-1.csv");
  part.resize(part.size() * 2 / 3);
  std::ofstream(out / "part-0-of-1.csv", std::ios::binary) << part;
  std::filesystem::remove(out / "sweep.csv");
  const Ran refused = run({"sweep", file, "--out", out});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--resume"), std::string::npos) << refused.err;
  const Ran joined = run({"sweep", file, "--out", out, "--join"});
  EXPECT_EQ(joined.code, 1);
  EXPECT_NE(joined.err.find("are not done yet"), std::string::npos) << joined.err;
  ASSERT_EQ(run({"sweep", file, "--out", out, "--resume"}).code, 0);
  EXPECT_EQ(text_of(out / "sweep.csv"), whole);
  const std::string other = directory.file("other.json", spec + "\n");
  EXPECT_EQ(run({"sweep", other, "--out", out, "--resume"}).code, 2);
}

TEST(SweepCommand, WorkersShareTheRunsAndTheLastOneJoinsThem) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("spec.json", spec);
  const auto alone = directory.path() / "alone";
  const auto shared = directory.path() / "shared";
  ASSERT_EQ(run({"sweep", file, "--out", alone}).code, 0);
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  for (const char* rank : {"1", "0"}) {
    ::setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    EXPECT_FALSE(std::filesystem::exists(shared / "sweep.csv"));
    EXPECT_EQ(run({"sweep", file, "--out", shared}).code, 0);
  }
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(lines_of(shared / "part-1-of-2.csv"), 7u);
  EXPECT_EQ(text_of(shared / "sweep.csv"), text_of(alone / "sweep.csv"));
}

TEST(SweepCommand, ARowThatIsNotWholeIsNoneOfTheSweep) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("spec.json", spec);
  const auto out = directory.path() / "out";
  ASSERT_EQ(run({"sweep", file, "--out", out}).code, 0);
  std::ofstream(out / "part-0-of-1.csv", std::ios::binary | std::ios::app) << "3,1GiB\n";
  const Ran ran = run({"sweep", file, "--out", out, "--resume"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("the line '3,1GiB' is of no run"), std::string::npos) << ran.err;
}

TEST(SweepCommand, JobsHaveAnEnd) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("spec.json", spec);
  for (const char* jobs : {"0", "4000000000", "-1", ""}) {
    const Ran ran = run({"sweep", file, "--out", directory.path() / "out", "--jobs", jobs});
    EXPECT_EQ(ran.code, 2) << jobs;
    EXPECT_NE(ran.err.find("--jobs"), std::string::npos) << ran.err;
  }
}

TEST(SweepCommand, WhatCannotBeIsARowAndABadSpecAnError) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("spec.json", R"({
    "trace": "workloads/samples/sessions.jsonl", "setting": {"requests-max": 5},
    "vary": {"engines": [1, 9]}})");
  const auto out = directory.path() / "out";
  ASSERT_EQ(run({"sweep", file, "--out", out}).code, 0);
  EXPECT_NE(text_of(out / "sweep.csv").find("1,9,1,\"engines is 9"), std::string::npos)
      << text_of(out / "sweep.csv");
  for (const auto& [text, place] : std::vector<std::pair<std::string, std::string>>{
           {R"({"vary": {}})", "'trace' is missing"},
           {R"({"trace": "t", "vary": {"engine": [1]}})", "/vary/engine"},
           {R"({"trace": "t", "vary": {"engines": [1, -1]}})", "/vary/engines/1"},
           {R"({"trace": "t", "vary": {"engines": []}})", "/vary/engines"},
           {R"({"trace": "t", "vary": {"engines": {"from": 1, "to": 2}}})", "/vary/engines"},
           {R"({"trace": "t", "vary": {"engines": {"from": 1, "to": 2, "step": 0}}})", "step"},
           {R"({"trace": "t", "vary": {}, "seeds": 0})", "/seeds"},
           {R"({"trace": "t", "vary": {"seed": [1]}})", "/vary/seed"}}) {
    const Ran ran = run({"sweep", directory.file("bad.json", text), "--out", out / "bad"});
    EXPECT_EQ(ran.code, 1) << text << ran.err;
    EXPECT_NE(ran.err.find(place), std::string::npos) << ran.err;
  }
}

TEST(PlanCommand, FindsTheCheapestAndThePriceOfALostNode) {
  const TemporaryDirectory directory;
  const auto out = directory.path() / "plan";
  const Ran ran = run(small("plan", {"--slo", "ttft_p90<10s", "--price", "8xh800-8x200=20",
                                     "--vary", "engines=1,2,17", "--out", out, "--json"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json plan = json::parse(ran.out);
  EXPECT_EQ(json::parse(text_of(out / "plan.json")), plan);
  ASSERT_EQ(plan.at("candidates").size(), 3u);
  EXPECT_EQ(plan.at("cheapest"), 0);
  // Both engines fit on one host, but the nodes are on two.
  EXPECT_EQ(plan.at("candidates")[0].at("cost_per_hour"), 40);
  EXPECT_NE(plan.at("candidates")[2].at("error"), "");
  EXPECT_FALSE(plan.at("cheapest_without_one_node").is_null());
  EXPECT_GE(plan.at("price_of_surviving_per_hour"), 0);
  const Ran none = run(small("plan", {"--slo", "ttft_p90<1ns", "--price", "8xh800-8x200=20"}));
  EXPECT_EQ(none.code, 0);
  EXPECT_NE(none.out.find("None of them meets"), std::string::npos) << none.out;
}

TEST(PlanCommand, WhatIsKnownOfARunStandsWithItsSetting) {
  const std::vector<std::string> words =
      small("plan", {"--slo", "ttft_p90<10s", "--price", "8xh800-8x200=20", "--vary",
                     "memory-per-node=1GiB,inf"});
  const std::string note = "The pool is without limit";
  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json");
  const json plan = json::parse(run(as_json).out);
  const json& candidates = plan.at("candidates");
  ASSERT_EQ(candidates.size(), 4u) << "two fleets with two sizes";
  for (const json& candidate : candidates) {
    const bool without_limit = candidate.at("varied") == "memory-per-node=inf";
    EXPECT_EQ(candidate.at("notes").dump().find(note) != std::string::npos, without_limit);
  }
  const bool cheapest =
      candidates[plan.at("cheapest").get<std::size_t>()].at("varied") == "memory-per-node=inf";
  const std::string text = run(words).out;
  EXPECT_EQ(text.find("! " + note) != std::string::npos, cheapest) << text;
}

TEST(PlanCommand, WantsPricesAndObjectives) {
  for (const auto& [flags, says] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--slo", "ttft_p90<2s"}, "have no price"},
           {{"--slo", "ttft_p90>2s", "--price", "8xh800-8x200=1"}, "below"},
           {{"--slo", "speed<2s", "--price", "8xh800-8x200=1"}, "speed"},
           {{"--slo", "hit_ratio>2", "--price", "8xh800-8x200=1"}, "from 0 to 1"},
           {{"--slo", "ttft_p90<2s", "--price", "h=1"}, "no hosts 'h'"},
           {{"--slo", "ttft_p90<2s", "--price", "8xh800-8x200=-1"}, "--price: "},
           {{"--slo", "ttft_p90<2s", "--price", "8xh800-8x200=nan"}, "--price: "},
           {{"--slo", "ttft_p90<2s", "--price", "8xh800-8x200=1", "--gpus-per-engine", "0"},
            "gpus-per-engine is 0"}}) {
    const Ran ran = run(small("plan", flags));
    EXPECT_NE(ran.code, 0) << says;
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
  }
}

TEST(CompareCommand, HoldsTwoRunsAgainstEachOther) {
  const TemporaryDirectory directory;
  const auto a = directory.path() / "a";
  const auto b = directory.path() / "b";
  ASSERT_EQ(run(small("replay", {"--out", a})).code, 0);
  ASSERT_EQ(run(small("replay", {"--out", b, "--policy", "lru"})).code, 0);
  const Ran ran = run({"compare", a, b, "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json compared = json::parse(ran.out);
  EXPECT_EQ(compared.at("different_settings"), json::parse(R"({"policy": ["leaf-first", "lru"]})"));
  EXPECT_EQ(compared.at("numbers").at("pages.asked")[0],
            compared.at("numbers").at("pages.asked")[1]);
  EXPECT_NE(run({"compare", a, b}).out.find("pages.hits"), std::string::npos);
  EXPECT_EQ(run({"compare", a, directory.path()}).code, 2);
}

// As version 1 was before it had the curve of the pool and calibrated costs.
TEST(RunFiles, OfBeforeStillOpen) {
  const TemporaryDirectory directory;
  const auto old = directory.path() / "old";
  const auto fresh = directory.path() / "fresh";
  ASSERT_EQ(run(small("replay", {"--out", old})).code, 0);
  ASSERT_EQ(run(small("replay", {"--out", fresh})).code, 0);
  json file = json::parse(text_of(old / "run.json"));
  for (const char* const later : {"pool_curve", "calibration"}) EXPECT_EQ(file.erase(later), 1u);
  for (const char* const later : {"costs", "costs-at"}) {
    EXPECT_EQ(file.at("setting").erase(later), 1u);
  }
  std::ofstream(old / "run.json", std::ios::binary) << file.dump();
  EXPECT_EQ(run({"report", old}).code, 0);
  EXPECT_EQ(run({"explain", old}).code, 0);
  const Ran compared = run({"compare", old, fresh});
  ASSERT_EQ(compared.code, 0) << compared.err;
  EXPECT_NE(compared.out.find("pool_curve.infinite_found"), std::string::npos) << compared.out;
  EXPECT_NE(compared.out.find("time_s"), std::string::npos);
  const json numbers = json::parse(run({"compare", old, fresh, "--json"}).out).at("numbers");
  EXPECT_TRUE(numbers.at("pool_curve.asked")[0].is_null());
  EXPECT_EQ(numbers.at("time_s")[0], numbers.at("time_s")[1]) << "matched by name, not by place";
}

TEST(Reference, AnUnlimitedPoolReproducesTheConversationTrace) {
  LARDER_NEEDS_PUBLISHED_TRACES();
  const Ran ran =
      run({"replay", published_traces() / "conversation_trace.jsonl", "--serving", "off",
           "--fabric", "off", "--every", "1s", "--memory-per-node", "inf", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json pages = json::parse(ran.out).at("pages");
  EXPECT_EQ(pages.at("asked"), 288'500);
  EXPECT_EQ(pages.at("hits"), 105'710);
  EXPECT_EQ(pages.at("misses_by_reason").at("cold"), 182'790);
  // And the pool found all that any could, of all pages.
  const json curve = json::parse(ran.out).at("pool_curve");
  EXPECT_EQ(curve.at("asked"), 288'500);
  EXPECT_EQ(curve.at("found"), 105'710);
  EXPECT_EQ(curve.at("infinite_found"), 105'710);
  EXPECT_EQ(curve.at("different_pages"), 182'790);
  EXPECT_TRUE(curve.at("pool_pages").is_null());
}

TEST(Reference, TheAgenticSessionsReplayInAClosedLoop) {
  LARDER_NEEDS_PUBLISHED_TRACES();
  const Ran ran =
      run({"replay", published_traces() / "agentic", "--loop", "closed", "--sessions", "4",
           "--model", "llama-3.1-8b", "--engines", "2", "--gpus-per-engine", "1", "--host-memory",
           "128GiB", "--nodes", "2", "--memory-per-node", "64GiB", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json requests = json::parse(ran.out).at("requests");
  std::uint64_t ended = 0;
  for (const auto& [name, count] : requests.items()) {
    if (name != "arrived" && name != "warmup") ended += count.get<std::uint64_t>();
  }
  EXPECT_EQ(requests.at("arrived"), ended);
  EXPECT_GT(requests.at("completed"), 0);
}

}  // namespace
}  // namespace larder::sim
