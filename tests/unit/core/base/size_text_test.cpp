#include "core/base/size_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/base/printable.h"

namespace larder {
namespace {

TEST(SizeText, TakesWhatPeopleWrite) {
  const std::pair<const char*, std::uint64_t> sizes[] = {
      {"0", 0},
      {"4096", 4096},
      {"17B", 17},
      {"17 b", 17},
      {"1k", 1024},
      {"1KB", 1024},
      {"1kib", 1024},
      {"512MiB", std::uint64_t{512} << 20},
      {"4GiB", std::uint64_t{4} << 30},
      {"4gb", std::uint64_t{4} << 30},
      {"4 GiB", std::uint64_t{4} << 30},
      {"2T", std::uint64_t{2} << 40},
      {"3PiB", std::uint64_t{3} << 50},
      {"007", 7},
      {"18446744073709551615", ~std::uint64_t{0}},
      {"16777215TiB", std::uint64_t{16777215} << 40},
  };
  for (const auto& [text, bytes] : sizes) {
    const Result<Bytes> size = parse_size(text);
    ASSERT_TRUE(size) << text << ": " << size.error().message();
    EXPECT_EQ(size->value, bytes) << text;
  }
}

TEST(SizeText, RefusesEverythingElseAndNamesIt) {
  const char* texts[] = {"",
                         " ",
                         "GiB",
                         "-1",
                         "+1",
                         " 1",
                         "1 ",
                         "1  G",
                         "1.5G",
                         "1e9",
                         "0x10",
                         "\"4G\"",
                         "'4G'",
                         "4GiBs",
                         "4Gi B",
                         "4 i",
                         "4ib",
                         "4bi",
                         "1,024",
                         "1_024",
                         "4GG",
                         "18446744073709551616",
                         "16777216TiB",
                         "99999999999999999999GiB",
                         "4\n",
                         "4G\t",
                         "4Gi"};
  for (const char* text : texts) {
    const Result<Bytes> size = parse_size(text);
    ASSERT_FALSE(size) << text << " was taken as " << size->value;
    EXPECT_EQ(size.error().code(), ErrorCode::invalid_params);
    EXPECT_NE(size.error().message().find(in_quotes(text)), std::string::npos)
        << size.error().message();
  }
}

TEST(SizeText, IsReadAgainAsWritten) {
  EXPECT_EQ(size_text(0_B), "0 B");
  EXPECT_EQ(size_text(1023_B), "1023 B");
  EXPECT_EQ(size_text(1_KiB), "1.00 KiB");
  EXPECT_EQ(size_text(1536_MiB), "1.50 GiB");
  EXPECT_EQ(size_text(Bytes{~std::uint64_t{0}}), "16384.00 PiB");
}

RC_GTEST_PROP(SizeText, ReadsBackWhatItWritesExactly, (std::uint64_t number)) {
  const Bytes size{number << *rc::gen::inRange(0, 41)};
  RC_ASSERT(parse_size(exact_size_text(size)).value() == size);
}

TEST(SizeText, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> reasons[] = {
      {"-1", "no sign"},          {"'4gb'", "quotes are part of it"}, {"4.5GiB", "fractions"},
      {"1e3", "'e3' is not one"}, {"99999999999GiB", "64 bits"},      {"", "empty"}};
  for (const auto& [text, reason] : reasons) {
    EXPECT_NE(parse_size(text).error().message().find(reason), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace larder
