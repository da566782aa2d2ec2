#include "core/base/percent.h"

#include <gtest/gtest.h>

#include <random>

namespace larder {
namespace {

TEST(Percent, EveryByteComesBackAndNoneReachesATerminalThatIsNotShown) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::string text = percent_escaped(bytes);
  for (const char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  EXPECT_EQ(percent_unescaped(text).value(), bytes);
}

TEST(Percent, EscapesWhatItMustAndNoMore) {
  EXPECT_EQ(percent_escaped("page/1@x y"), "page/1@x y");
  EXPECT_EQ(percent_escaped(std::string_view("a b%\0\xff", 6)), "a b%25%00%FF");
  EXPECT_EQ(percent_unescaped("%61%2f").value(), "a/");
}

TEST(Percent, TextInAnyLanguageStandsForItself) {
  for (const std::string_view text : {"Größe", "ключ/1", "鍵", "🔑", "\u07ff\u0800\uffff"}) {
    EXPECT_EQ(percent_escaped(text), text);
  }
}

TEST(Percent, WhatIsNoTextOrWouldSteerATerminalIsEscaped) {
  EXPECT_EQ(percent_escaped("\x1b[31m"), "%1B[31m");
  EXPECT_EQ(percent_escaped("\xc2\x9b"), "%C2%9B");                // a control character, U+009B
  EXPECT_EQ(percent_escaped("a\u202eb"), "a%E2%80%AEb");           // turns the direction
  EXPECT_EQ(percent_escaped("\xc0\xaf"), "%C0%AF");                // overlong
  EXPECT_EQ(percent_escaped("\xe0\x80\xaf"), "%E0%80%AF");         // overlong
  EXPECT_EQ(percent_escaped("\xed\xa0\x80"), "%ED%A0%80");         // a surrogate
  EXPECT_EQ(percent_escaped("\xf4\x90\x80\x80"), "%F4%90%80%80");  // beyond U+10FFFF
  EXPECT_EQ(percent_escaped("\xe2\x82"), "%E2%82");                // cut off
  EXPECT_EQ(percent_escaped("\xe2\x82q"), "%E2%82q");
}

TEST(Percent, AnyBytesComeBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 12, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() : random() | 0x80);
    EXPECT_EQ(percent_unescaped(percent_escaped(bytes)).value(), bytes);
  }
}

TEST(Percent, AHalfEscapeIsRefusedWithItsPlace) {
  for (const char* text : {"ab%", "ab%4", "ab%4g", "ab%g4", "ab%%", "ab%+1", "ab% 1"}) {
    const auto bytes = percent_unescaped(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_NE(bytes.error().message().find("position 2"), std::string::npos);
  }
}

}  // namespace
}  // namespace larder
