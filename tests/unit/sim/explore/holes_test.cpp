#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/explore/run.h"
#include "sim/explore/scenario_text.h"

// The holes that tests/model/findings.md tells of, each as scenarios of tests/scenarios. That they
// would fail without the rule that closes the hole is what mutants show: each scenario is named by
// at least one of tests/mutants, which tools/mutants.py holds against it.

namespace larder::sim {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {  // tests run in the project's root
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << ": run it in the project's root";
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> files(const char* folder, const char* ending) {
  std::vector<fs::path> found;
  for (const auto& each : fs::directory_iterator(folder)) {
    if (each.path().extension() == ending) found.push_back(each.path());
  }
  std::ranges::sort(found);
  return found;
}

TEST(Holes, EachScenarioPasses) {
  const ThrowingAssertions throwing;
  for (const fs::path& file : files("tests/scenarios", ".scenario")) {
    const auto scenario = parse_scenario(text_of(file), file.string());
    ASSERT_TRUE(scenario) << scenario.error().message();
    const RunResult run = run_scenario(*scenario, {.tells = RunConfig::Tells::all});
    for (const Violation& violation : run.violations) {
      ADD_FAILURE() << file << ": " << to_string(violation.invariant) << ": " << violation.what
                    << "\n"
                    << to_text(run.time_line);
    }
  }
}

// Where the rule is one of the guards, it can be left out here.
TEST(Holes, WithoutItsGuardTheScenarioFails) {
  const ThrowingAssertions throwing;
  for (const auto& [name, guard] : std::vector<std::pair<const char*, bool Guards::*>>{
           {"h01-a-fill-after-its-retirement", &Guards::retired_put_ids},
           {"h10-the-older-master-still-answers", &Guards::footer},
           {"h10-the-older-master-still-answers-one-sided", &Guards::footer}}) {
    const auto scenario =
        parse_scenario(text_of("tests/scenarios/" + std::string(name) + ".scenario"), name);
    ASSERT_TRUE(scenario) << scenario.error().message();
    Guards guards;
    guards.*guard = false;
    EXPECT_FALSE(run_scenario(*scenario, {.guards = guards}).violations.empty()) << name;
  }
}

// H8 and H12 are about FILE segments, which do not exist yet.
TEST(Holes, EachThatCanBeSimulatedHasAScenario) {
  std::set<std::string> holes;
  for (const fs::path& file : files("tests/scenarios", ".scenario")) {
    holes.insert(file.filename().string().substr(0, 3));
  }
  const std::set<std::string> wanted{"h01", "h02", "h03", "h04", "h05",
                                     "h06", "h07", "h09", "h10", "h11"};
  EXPECT_EQ(holes, wanted);
}

TEST(Holes, EachScenarioHasAMutantThatItMustKill) {
  std::map<std::string, int> mutants;
  for (const fs::path& file : files("tests/scenarios", ".scenario")) mutants[file.stem()] = 0;
  for (const fs::path& file : files("tests/mutants", ".patch")) {
    const std::string patch = text_of(file);
    const std::string head = patch.substr(0, patch.find("\ndiff "));
    constexpr std::string_view label = "\nScenario: ";
    const std::size_t at = head.find(label);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + label.size();
    const std::string name = head.substr(begin, head.find('\n', begin) - begin);
    ASSERT_TRUE(mutants.contains(name)) << file << " names a scenario that is not there: " << name;
    ++mutants[name];
  }
  for (const auto& [scenario, count] : mutants) EXPECT_GE(count, 1) << scenario;
}

}  // namespace
}  // namespace larder::sim
