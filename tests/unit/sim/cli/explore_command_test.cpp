#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
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

TEST(ExploreCommand, SaysWhatIsWrongWithAFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.path();
  for (const char* flag : {"--scenario", "--exhaustive"}) {
    const Ran ran = run({"explore", flag, path});
    EXPECT_EQ(ran.code, 1);
    EXPECT_TRUE(has(ran.err, path + ": is a directory")) << ran.err;
  }
  EXPECT_TRUE(has(run({"hardware", path}).err, path + ": is a directory"));
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
