#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "terminal/output.h"
#include "tests/recording/recorded.h"
#include "tests/unit/sim/cli/ran.h"

namespace larder::sim {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(IncidentCommand, SaysWhatWasComparedAndWhatWasLeftOut) {
  Recorded recorded;
  recorded.put("a");
  recorded.write();
  const std::string directory = recorded.directory.path();
  const Ran one = run({"incident", directory});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_TRUE(has(one.out, "no later state follows with which the end could be compared"))
      << one.out;
  recorded.begin_slot();
  recorded.put("b");
  recorded.write();
  const Ran two = run({"incident", directory});
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_TRUE(has(two.out, "1 state compared, the same digests")) << two.out;
  const auto size = std::filesystem::file_size(directory + "/00000002.state");
  recorded.directory.file("00000002.state", std::string(size, 'x'));
  const Ran damaged = run({"incident", directory});
  EXPECT_EQ(damaged.code, 1);
  EXPECT_TRUE(has(damaged.out, "DAMAGE")) << damaged.out;
  EXPECT_TRUE(has(damaged.err, "the recording is damaged; left out are " +
                                   terminal::with_thousands(size) + " of "))
      << damaged.err;
}

TEST(IncidentCommand, SaysThatAKeyIsNotKnown) {
  Recorded recorded;
  recorded.put("a");
  recorded.write();
  const std::string directory = recorded.directory.path();
  const Ran ran = run({"incident", directory, "--key", "of-nobody"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(has(ran.err, "nothing is known of key 'of-nobody'")) << ran.err;
  EXPECT_EQ(run({"incident", directory, "--key", "a"}).code, 0);
  const Ran what_if = run({"incident", directory, "--policy", "fifo", "--pool-size", "0.5"});
  EXPECT_EQ(what_if.code, 0) << what_if.err;
  EXPECT_TRUE(has(what_if.out, "policy                 leaf-first            fifo")) << what_if.out;
}

}  // namespace
}  // namespace larder::sim
