#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary.h"
#include "tests/unit/sim/cli/ran.h"

namespace larder::sim {
namespace {

using nlohmann::json;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Without the guards 'state' and 'footer', the get during the put reads what is not there yet.
const std::string wrong_read =
    "seed 1\none-sided\nno-checksum\nvalues up to 64KiB\nnic 1MiB each second\nnode0 "
    "1MiB\nclient0\nclient1\n"
    "at 1s client0 put page 64KiB\nat 1.02s client1 get page\n";

TEST(ExploreCommand, AScenarioIsOnlyShrunkIfThatIsAskedForAndNeverIntoItself) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("wrong.scenario", wrong_read);
  const Ran again =
      run({"explore", "--scenario", file, "--without", "state", "--without", "footer"});
  EXPECT_NE(again.code, 0);
  EXPECT_TRUE(has(again.out, "I1 whole bytes")) << again.out;
  EXPECT_FALSE(has(again.out, "the smallest that was found")) << again.out;
  const Ran refused = run({"explore", "--scenario", file, "--without", "state", "--without",
                           "footer", "--shrink", "1", "--shrunk", file});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(has(refused.err, "would write over")) << refused.err;
  EXPECT_EQ(content(file), wrong_read);
  const std::string other = directory.path() / "other.scenario";
  const Ran shrunk = run({"explore", "--scenario", file, "--without", "state", "--without",
                          "footer", "--shrink", "1", "--shrunk", other});
  EXPECT_TRUE(has(shrunk.out, "the smallest that was found")) << shrunk.out;
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_EQ(content(file), wrong_read);
}

TEST(ExploreCommand, AViolationHasAnExitCodeOfItsOwnAndNamesAllSeeds) {
  const std::vector<std::string> broken{"explore", "--seeds",   "12",    "--operations",
                                        "200",     "--shrink",  "0",     "--without",
                                        "state",   "--without", "footer"};
  const Ran ran = run(broken);
  EXPECT_EQ(ran.code, 3);
  std::vector<std::string> as_json = broken;
  as_json.emplace_back("--json");
  const json result = json::parse(run(as_json).out);
  const json& failing = result.at("failing_seeds");
  ASSERT_GT(failing.size(), 1u);
  EXPECT_EQ(failing.size(), result.at("violations"));
  std::string seeds;
  for (const json& seed : failing) seeds += (seeds.empty() ? "" : ", ") + seed.dump();
  const std::string again =
      "explore --seed " + failing[0].dump() + " --operations 200 --without state --without footer";
  EXPECT_EQ(ran.err, "VIOLATION: " + std::to_string(failing.size()) +
                         " of 12 seeds broke an invariant: " + seeds + " (larder-sim " + again +
                         " --tell tells the first)\n");
  const Ran told = run({"explore", "--seed", failing[0].dump(), "--operations", "200", "--without",
                        "state", "--without", "footer", "--tell"});
  EXPECT_EQ(told.code, 3);
  EXPECT_TRUE(has(told.out, "operation 1: ")) << told.out.substr(0, 2000);
  EXPECT_TRUE(has(run({"explore", "--help"}).out, "3 an invariant broke"));
}

TEST(ExploreCommand, AViolationIsToldInTheNumbersOfTheTimeLine) {
  const TemporaryDirectory directory;
  const Ran ran = run({"explore", "--scenario", directory.file("wrong", wrong_read), "--tell",
                       "--without", "state", "--without", "footer"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_TRUE(has(ran.out, "client0  operation 1: put page 64KiB")) << ran.out;
  EXPECT_TRUE(has(ran.out, "client1  operation 2: get page")) << ran.out;
  EXPECT_TRUE(has(ran.out, "I1 whole bytes: operation 2, get of 'page', returned [")) << ran.out;
  EXPECT_TRUE(has(ran.out, ") of no put")) << ran.out;
  const std::size_t at = ran.out.find("I1 whole bytes");
  EXPECT_LT(ran.out.find('\n', at) - at, 240u) << ran.out;
}

TEST(ExploreCommand, OneSeedIsTheSameRunAsItsScenario) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() / "seven";
  ASSERT_EQ(run({"explore", "--seed", "7", "--operations", "50", "--write", file}).code, 0);
  const json alone =
      json::parse(run({"explore", "--seed", "7", "--operations", "50", "--json"}).out);
  EXPECT_EQ(alone.at("seeds"), 1);
  const std::string hash = "state hash " + alone.at("state_hash").get<std::string>();
  EXPECT_TRUE(has(run({"explore", "--scenario", file}).out, hash));
  EXPECT_TRUE(
      has(run({"explore", "--seed", "7", "--seeds", "2", "--operations", "50"}).out, "2 seeds"));
}

TEST(ExploreCommand, SaysWhatOperationsFailedWithAndHowManyDidNotBegin) {
  const json all = json::parse(run({"explore", "--seed", "3", "--json"}).out);
  const auto count = [&](const char* name) { return all.at(name).get<std::uint64_t>(); };
  EXPECT_GE(count("operations") + count("operations_not_begun"), 1000u);
  ASSERT_GT(count("operations_failed"), 0u);
  const Ran ran = run({"explore", "--seed", "3"});
  EXPECT_TRUE(has(ran.out, "\nfailed with ")) << ran.out;
}

TEST(ExploreCommand, RefusesFlagsThatWouldDoNothing) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("wrong", wrong_read);
  for (const auto& [arguments, flag] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--exhaustive", "two-writers", "--threads", "2"}, "--threads"},
           {{"--exhaustive", "two-writers", "--seeds", "2"}, "--seeds"},
           {{"--exhaustive", "two-writers", "--tell"}, "--tell"},
           {{"--exhaustive", "two-writers", "--write", "f"}, "--write"},
           {{"--scenario", file, "--seeds", "2"}, "--seeds"},
           {{"--scenario", file, "--hours", "1"}, "--hours"},
           {{"--scenario", file, "--first", "2"}, "--first"},
           {{"--states", "5"}, "--states"},
           {{"--tell"}, "--tell"},
           {{"--write", "f", "--seeds", "3"}, "--seeds"},
           {{"--hours", "1", "--seeds", "3"}, "--hours"}}) {
    std::vector<std::string> whole{"explore"};
    whole.insert(whole.end(), arguments.begin(), arguments.end());
    const Ran ran = run(whole);
    EXPECT_EQ(ran.code, 2) << testing::PrintToString(arguments);
    EXPECT_TRUE(has(ran.err, flag)) << ran.err;
  }
  for (const char* flag : {"--json", "--file"}) {
    const Ran ran = run({"hardware", flag});
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(has(ran.err, "name it")) << ran.err;
  }
}

TEST(PoliciesCommand, NamesThePlaceOfWhatIsWrong) {
  const TemporaryDirectory directory;
  for (const auto& [text, error] : std::vector<std::pair<std::string, std::string>>{
           {R"({"traces": [{"path": "t"}], "policies": ["lru"]})", "traces[0].blocks is missing"},
           {R"({"traces": [{"path": "t", "blocks": [1], "size": 3}], "policies": ["lru"]})",
            "traces[0] has the unknown key 'size'; known are path, blocks"},
           {R"({"traces": [{"path": "t", "blocks": []}], "policies": ["lru"]})",
            "traces[0].blocks wants a list of whole numbers"},
           {R"({"traces": [], "policies": ["lru"]})", "traces wants a list"},
           {R"({"traces": []})", "policies is missing"}}) {
    const Ran ran = run({"policies", directory.file("sweep.json", text), directory.path()});
    EXPECT_EQ(ran.code, 1);
    EXPECT_TRUE(has(ran.err, "sweep.json: " + error)) << ran.err;
  }
}

TEST(HitRateCommand, ShowsThatThereIsNoCache) {
  const Ran ran =
      run({"hit-rate", "workloads/samples/sessions.jsonl", "--policy", "lru", "--blocks", "0"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "no cache")) << ran.out;
}

TEST(ExploreCommand, AStoryWritesTheScenarioThatItTells) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() / "story";
  ASSERT_EQ(run({"story", "buffer-returned-early", "--write", file}).code, 0);
  const std::string told = run({"explore", "--scenario", file, "--tell"}).out;
  const std::string story = run({"story", "buffer-returned-early"}).out;
  const std::size_t begin = told.find("     0.000");
  ASSERT_NE(begin, std::string::npos) << told;
  EXPECT_TRUE(has(story, told.substr(begin, told.find("faults:") - begin))) << story << told;
  EXPECT_TRUE(has(story, "The pool: 1 node of 4.00 MiB, 2 clients, leases of 10s.")) << story;
  EXPECT_TRUE(has(story, "seals nothing")) << "the answer: " << story;
  EXPECT_TRUE(has(story,
                  "of 1 segments this put cannot use 1 where its writer failed before: the "
                  "others have 0 bytes free"))
      << story;
}

TEST(ExploreCommand, SaysWhatIsWrongWithAFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.path();
  for (const char* flag : {"--scenario", "--exhaustive"}) {
    const Ran ran = run({"explore", flag, path});
    EXPECT_EQ(ran.code, 1);
    EXPECT_TRUE(has(ran.err, path + " is a directory")) << ran.err;
  }
  EXPECT_TRUE(has(run({"hardware", path}).err, path + " is a directory"));
  EXPECT_TRUE(has(run({"explore", "--scenario", path + "/none"}).err,
                  path + "/none: No such file or directory"));
  const std::string world = "node0 1KiB\nclient0\n\nmay crash node0 once\n";
  const Ran wrong_flag = run({"explore", "--scenario", directory.file("w", world)});
  EXPECT_TRUE(has(wrong_flag.err, "w:4: 'may' stands in worlds")) << wrong_flag.err;
  EXPECT_TRUE(has(wrong_flag.err, "--exhaustive FILE")) << wrong_flag.err;
  const Ran fault = run({"explore", "--exhaustive",
                         directory.file("f", world + "at 1s client0 put k 64B\n"
                                                     "at 2s crash node0 for 1s\n")});
  EXPECT_TRUE(has(fault.err, "f:6: faults are written with 'may'")) << fault.err;
}

}  // namespace
}  // namespace larder::sim
