#include "core/base/printable.h"

#include <gtest/gtest.h>

#include "core/base/duration_text.h"
#include "core/base/error.h"
#include "core/base/size_text.h"

namespace larder {
namespace {

using namespace std::string_view_literals;

TEST(Printable, LeavesWhatATerminalShows) {
  EXPECT_EQ(printable("plain, 'quoted' 50% \\ text"), "plain, 'quoted' 50% \\ text");
  EXPECT_EQ(printable("größer — 中文"), "größer — 中文");
}

TEST(Printable, EscapesWhatATerminalObeysAndWhatIsNoText) {
  EXPECT_EQ(printable("a\x1b[2Jb\0c\n"sv), "a\\x1b[2Jb\\x00c\\x0a");
  EXPECT_EQ(printable("\xff\xc3 \x7f"sv), "\\xff\\xc3 \\x7f");
  // A mark that turns the direction of the line, U+202E.
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");
}

TEST(Printable, CutsBetweenCharactersAndSaysSo) {
  EXPECT_EQ(printable("12345", 5), "12345");
  EXPECT_EQ(printable("123456", 5), "12345...");
  EXPECT_EQ(printable("1234\x01", 5), "1234...");
  EXPECT_EQ(printable("1234ö", 5), "1234...");
  EXPECT_LE(in_quotes(std::string(1 << 20, 'x')).size(), 70u);
}

TEST(Error, HasADetailThatCanBeShownWhateverItQuotes) {
  const Error error(ErrorCode::invalid_params, std::string("no '\x1b[31m\n\0' here"sv));
  EXPECT_EQ(error.facts().detail, "no '\\x1b[31m\\x0a\\x00' here");
  const Error quotes_much(ErrorCode::bad_file, std::string(1 << 20, '\x1b'));
  EXPECT_LE(quotes_much.facts().detail.size(), 4096u);
  EXPECT_TRUE(quotes_much.facts().detail.ends_with("..."));
  const Error nowhere = Error(ErrorCode::rpc_fail).with_endpoint("a\nb:1");
  EXPECT_NE(nowhere.message().find("at a\\x0ab:1"), std::string::npos);
}

TEST(Error, OfAReaderOfTextsStaysShortWhateverItWasGiven) {
  const std::string huge = "7" + std::string(1 << 20, '\x1b');
  EXPECT_LT(parse_size(huge).error().message().size(), 400u);
  EXPECT_LT(parse_duration(huge).error().message().size(), 400u);
}

}  // namespace
}  // namespace larder
