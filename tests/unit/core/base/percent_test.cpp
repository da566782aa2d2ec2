#include "core/base/percent.h"

#include <gtest/gtest.h>

namespace larder {
namespace {

TEST(Percent, EveryByteComesBackAndOnlyPrintableOnesAreSeen) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::string text = percent_escaped(bytes);
  for (const char c : text) EXPECT_TRUE(c > 0x20 && c < 0x7f);
  EXPECT_EQ(percent_unescaped(text).value(), bytes);
}

TEST(Percent, EscapesWhatItMustAndNoMore) {
  EXPECT_EQ(percent_escaped("page/1@x"), "page/1@x");
  EXPECT_EQ(percent_escaped(std::string_view("a b%\0\xff", 6)), "a%20b%25%00%FF");
  EXPECT_EQ(percent_unescaped("%61%2f").value(), "a/");
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
