#include "core/pattern/pattern.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>

#include "core/protocol/limits.h"

namespace larder {
namespace {

bool glob_matches(std::string_view glob, std::string_view text) {
  return Pattern::make(regex_of_glob(glob).value()).value().matches(text);
}

TEST(Pattern, IsFoundAnywhereUnlessItIsAnchored) {
  EXPECT_TRUE(Pattern::make("b+").value().matches("abbc"));
  EXPECT_FALSE(Pattern::make("^b+").value().matches("abbc"));
  EXPECT_TRUE(Pattern::make("^a.*c$").value().matches("a\n\xff c"));
  EXPECT_TRUE(Pattern::make("^a.b$").value().matches(std::string_view("a\0b", 3)));
}

TEST(Pattern, WhatIsNoneIsRefusedWithWhatIsWrong) {
  const auto open = Pattern::make("page/(a|b");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code(), ErrorCode::invalid_params);
  EXPECT_NE(open.error().message().find("missing ): page/(a|b"), std::string::npos)
      << open.error().message();
  EXPECT_FALSE(Pattern::make("a{1000}{1000}"));
  EXPECT_FALSE(Pattern::make("(?=a)b"));
  const auto longer = Pattern::make(std::string(pattern_bytes_max + 1, 'a'));
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().message().find("4097 bytes; at most 4096"), std::string::npos);
}

// Where matchers that go back would take longer than the universe has existed.
TEST(Pattern, TakesLinearTime) {
  const std::string text(1024, 'a');
  EXPECT_FALSE(Pattern::make("^(a+)+(a*)*(a|aa)+$b").value().matches(text));
  EXPECT_FALSE(glob_matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab", text));
}

TEST(Glob, SaysWhatPeopleKnow) {
  EXPECT_TRUE(glob_matches("page/*", "page/1/2"));
  EXPECT_FALSE(glob_matches("page/*", "a page/1"));
  EXPECT_TRUE(glob_matches("h?llo", "hello"));
  EXPECT_FALSE(glob_matches("h?llo", "heello"));
  EXPECT_TRUE(glob_matches("h[ae]llo", "hallo"));
  EXPECT_FALSE(glob_matches("h[^e]llo", "hello"));
  EXPECT_TRUE(glob_matches("[0-9]*", "7x"));
  EXPECT_FALSE(glob_matches("[a-]", "b"));
  EXPECT_TRUE(glob_matches("[a-]", "-"));
  EXPECT_TRUE(glob_matches("a\\*b", "a*b"));
  EXPECT_FALSE(glob_matches("a\\*b", "axb"));
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_FALSE(glob_matches("", "a"));
  EXPECT_TRUE(glob_matches("a.b|c", "a.b|c"));
  EXPECT_FALSE(glob_matches("a.b", "axb"));
}

TEST(Glob, WhatIsNoneIsRefusedWithItsPlace) {
  const auto says = [](std::string_view glob, std::string_view what) {
    const auto regex = regex_of_glob(glob);
    ASSERT_FALSE(regex) << glob;
    EXPECT_EQ(regex.error().code(), ErrorCode::invalid_params);
    EXPECT_NE(regex.error().message().find(what), std::string::npos) << regex.error().message();
  };
  says("ab[cd", "'[' at position 2 is not closed");
  says("ab[]", "'[' at position 2 has nothing in it");
  says("ab\\", "'\\' at position 2 escapes nothing");
  says("[z-a]", "'-' at position 2 makes a range that ends before it begins");
}

RC_GTEST_PROP(Glob, EscapedBytesMatchThemselvesAlone, (std::string text, std::string other)) {
  std::string glob;
  for (const char c : text) glob += {'\\', c};
  RC_ASSERT(glob_matches(glob, text));
  RC_ASSERT(glob_matches(glob, other) == (text == other));
}

}  // namespace
}  // namespace larder
