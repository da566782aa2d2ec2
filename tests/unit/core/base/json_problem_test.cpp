#include "core/base/json_problem.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace larder {
namespace {

std::string problem(const std::string& text) { return json_problem(std::runtime_error(text)); }

TEST(JsonProblem, LeavesOutWhatIsTheParsers) {
  EXPECT_EQ(problem("[json.exception.parse_error.101] parse error at line 3, column 5: syntax"),
            "line 3, column 5: syntax");
  EXPECT_EQ(problem("[json.exception.out_of_range.406] number overflow parsing '1e999'"),
            "number overflow parsing '1e999'");
  EXPECT_EQ(problem("plain"), "plain");
}

TEST(JsonProblem, IsOneBoundedLine) {
  EXPECT_EQ(problem("parse error at line 1: '\n'").find('\n'), std::string::npos);
  EXPECT_LE(problem(std::string(10'000, 'x')).size(), 300);
}

}  // namespace
}  // namespace larder
