#include "terminal/version.h"

#include <gmock/gmock.h>

namespace larder::terminal {
namespace {

TEST(Version, NamesProgramVersionAndBuild) {
  EXPECT_THAT(version_text("larder"), testing::MatchesRegex(R"(larder [0-9.]+ \(.*[A-Za-z]+\))"));
}

}  // namespace
}  // namespace larder::terminal
