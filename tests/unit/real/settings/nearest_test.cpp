#include "real/settings/nearest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace larder::real {
namespace {

const std::vector<std::string> names{"listen", "lease", "exists-lease", "high-watermark",
                                     "low-watermark"};

TEST(Nearest, FindsWhatWasMeant) {
  EXPECT_EQ(nearest("lisen", names), "listen");
  EXPECT_EQ(nearest("lsiten", names), "listen");
  EXPECT_EQ(nearest("high_watermark", names), "high-watermark");
  EXPECT_EQ(nearest("higwatermark", names), "high-watermark");
  EXPECT_EQ(nearest("lease", names), "lease");
}

TEST(Nearest, GuessesNothingForWhatIsLikeNone) {
  EXPECT_EQ(nearest("", names), std::nullopt);
  EXPECT_EQ(nearest("memory", names), std::nullopt);
  EXPECT_EQ(nearest(std::string(5000, 'l'), names), std::nullopt);
  EXPECT_EQ(nearest("listen", {}), std::nullopt);
}

RC_GTEST_PROP(Nearest, ANameIsNearestToItself, (const std::string& text)) {
  RC_PRE(text.size() <= 100);
  const std::vector<std::string> candidates{text + "x", text, "other"};
  RC_ASSERT(nearest(text, candidates).value() == text);
}

}  // namespace
}  // namespace larder::real
