#include "sim/calibration/coordinate_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace larder::sim {
namespace {

double squared(double a) { return a * a; }

TEST(CoordinateSearch, FindsTheLeastOfASumOfSquaredLogarithms) {
  const std::vector<std::size_t> free{0, 2};
  const auto found = coordinate_search({10, 5, 4e9}, free, [](const std::vector<double>& at) {
    return squared(std::log(at[0] / 3000)) + squared(std::log(at[2] / 1e9));
  });
  EXPECT_NEAR(found[0], 3000, 3000 * 0.03);
  EXPECT_NEAR(found[2], 1e9, 1e9 * 0.03);
}

TEST(CoordinateSearch, LeavesAloneWhatIsNotFree) {
  const std::vector<std::size_t> free{0};
  const auto found = coordinate_search({8, 5}, free, [](const std::vector<double>& at) {
    return squared(std::log(at[0] / 2)) + squared(std::log(at[1] / 2));
  });
  EXPECT_EQ(found[1], 5);
}

TEST(CoordinateSearch, NeverMakesItWorseAndStaysPositive) {
  const std::vector<std::size_t> free{0};
  // The less the better: as little as there may be.
  const auto found =
      coordinate_search({100}, free, [](const std::vector<double>& at) { return at[0]; });
  EXPECT_EQ(found[0], 1);
  // From nothing: one.
  const auto none = coordinate_search(
      {0}, free, [](const std::vector<double>& at) { return squared(std::log(at[0])); });
  EXPECT_EQ(none[0], 1);
}

TEST(CoordinateSearch, EndsAfterSoManyRounds) {
  const std::vector<std::size_t> free{0};
  int asked = 0;
  (void)coordinate_search({1e9}, free,
                          [&](const std::vector<double>& at) {
                            ++asked;
                            return at[0];
                          },
                          {.rounds_max = 3});
  EXPECT_EQ(asked, 1 + 2 * 3);
}

}  // namespace
}  // namespace larder::sim
