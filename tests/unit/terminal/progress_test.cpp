#include "terminal/progress.h"

#include <gtest/gtest.h>

#include <cmath>

#include "terminal/output.h"

namespace larder::terminal {
namespace {

TEST(BarText, ShowsTheShareAndTakesAnyNumber) {
  EXPECT_EQ(bar_text(0, 4), "[>   ]   0 %");
  EXPECT_EQ(bar_text(0.5, 4), "[==> ]  50 %");
  EXPECT_EQ(bar_text(1, 4), "[====] 100 %");
  EXPECT_EQ(bar_text(7, 4), "[====] 100 %");
  EXPECT_EQ(bar_text(-1, 4), "[>   ]   0 %");
  EXPECT_EQ(bar_text(std::nan(""), 4), "[>   ]   0 %");
}

TEST(Numbers, AreWrittenForPeople) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(12031), "12,031");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(as_percent(0.36641), "36.64 %");
  EXPECT_EQ(as_percent(std::nullopt), "no data");
}

}  // namespace
}  // namespace larder::terminal
