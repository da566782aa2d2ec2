#include "workloads/mooncake.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "tests/files/temporary.h"
#include "tests/unit/workloads/read.h"

namespace larder::workloads {
namespace {

using namespace std::chrono_literals;

const std::string good =
    R"({"timestamp": 5, "input_length": 600, "output_length": 7, "hash_ids": [3, 4]})"
    "\n";

struct Case {
  std::string name;
  std::string line;     // comes as the second one, behind a good line
  std::string problem;  // what the message says behind "line 2: "
};

const std::string id_rule = ", must be a whole number from 0 to 18446744073709551615";
const std::string count_rule = ", must be a whole number from 0 to 4294967295";
const std::string time_rule = ", must be a number of milliseconds from 0 to 9223372036854";

std::string with_ids(const std::string& ids) {
  return R"({"timestamp": 5, "input_length": 600, "output_length": 7, "hash_ids": )" + ids + "}";
}
std::string with_time(const std::string& time) {
  return R"({"timestamp": )" + time + R"(, "input_length": 0, "output_length": 7, "hash_ids": []})";
}
std::string with_input(const std::string& input) {
  return R"({"timestamp": 5, "input_length": )" + input +
         R"(, "output_length": 7, "hash_ids": [1]})";
}
std::string with_output(const std::string& output) {
  return R"({"timestamp": 5, "input_length": 1, "output_length": )" + output +
         R"(, "hash_ids": [1]})";
}

const std::vector<Case> cases{
    {"NegativeId", with_ids("[3, -1]"), "hash_ids[1] is -1" + id_rule},
    {"FractionalId", with_ids("[1.5, 4]"), "hash_ids[0] is 1.5" + id_rule},
    {"IdWithExponent", with_ids("[3, 1e3]"), "hash_ids[1] is 1e3" + id_rule},
    {"IdBeyond64Bits", with_ids("[3, 18446744073709551616]"),
     "hash_ids[1] is 18446744073709551616" + id_rule},
    {"IdIsText", with_ids(R"([3, "4"])"), "hash_ids[1] is the string '4'" + id_rule},
    {"IdIsNull", with_ids("[null, 4]"), "hash_ids[0] is null" + id_rule},
    {"IdIsBoolean", with_ids("[true, 4]"), "hash_ids[0] is true" + id_rule},
    {"IdIsAList", with_ids("[[3], 4]"), "hash_ids[0] is an array" + id_rule},
    {"IdIsAnObject", with_ids("[{}, 4]"), "hash_ids[0] is an object" + id_rule},
    {"IdsAreANumber", with_ids("3"), "hash_ids is 3, must be a list"},
    {"IdsAreAnObject", with_ids("{}"), "hash_ids is an object, must be a list"},
    {"TooFewIds", with_ids("[3]"), "hash_ids has 1 ids, but 600 input tokens are 2 blocks of 512"},
    {"TooManyIds", with_ids("[3, 4, 5]"),
     "hash_ids has 3 ids, but 600 input tokens are 2 blocks of 512"},
    {"NoTimestamp", R"({"input_length": 1, "output_length": 7, "hash_ids": [3]})",
     "the field 'timestamp' is missing"},
    {"NoInput", R"({"timestamp": 5, "output_length": 7, "hash_ids": [3]})",
     "the field 'input_length' is missing"},
    {"NoOutput", R"({"timestamp": 5, "input_length": 1, "hash_ids": [3]})",
     "the field 'output_length' is missing"},
    {"NoIds", R"({"timestamp": 5, "input_length": 1, "output_length": 7})",
     "the field 'hash_ids' is missing"},
    {"OnlyNestedFields",
     R"({"x": {"timestamp": 5, "input_length": 1, "output_length": 7, "hash_ids": [1]}})",
     "the field 'timestamp' is missing"},
    {"FieldTwice", R"({"timestamp": 5, "timestamp": 6})", "the field 'timestamp' comes twice"},
    {"NegativeTime", with_time("-1"), "timestamp is -1" + time_rule},
    {"NegativeFractionalTime", with_time("-0.5"), "timestamp is -0.5" + time_rule},
    {"NanTime", with_time("NaN"),
     "column 15: syntax error while parsing value - invalid literal; last read: '\"timestamp\": "
     "N'"},
    {"InfiniteTime", with_time("1e999"), "number overflow parsing '1e999'"},
    {"TimeBeyond292Years", with_time("9223372036855"), "timestamp is 9223372036855" + time_rule},
    {"HugeTime", with_time("1e300"), "timestamp is 1e300" + time_rule},
    {"TimeIsText", with_time(R"("5")"), "timestamp is the string '5'" + time_rule},
    {"TimeGoesBack", with_time("4.9"), "the timestamp is earlier than that of the line before"},
    {"NegativeInput", with_input("-3"), "input_length is -3" + count_rule},
    {"FractionalInput", with_input("3.5"), "input_length is 3.5" + count_rule},
    {"InputBeyondTheBound", with_input("4294967296"), "input_length is 4294967296" + count_rule},
    {"NegativeOutput", with_output("-1"), "output_length is -1" + count_rule},
    {"OutputIsNull", with_output("null"), "output_length is null" + count_rule},
    {"CutShort", R"({"timestamp": 5, "input_length": 600, "outp)",
     "column 44: syntax error while parsing object key - invalid string: missing closing quote; "
     "last read: '\"outp'; expected string literal"},
    {"CutAfterAnId", R"({"timestamp": 5, "input_length": 600, "output_length": 7, "hash_ids": [3)",
     "column 73: syntax error while parsing array - unexpected end of input; expected ']'"},
    {"EmptyLine", "", "the line is empty"},
    {"BlankLine", " \t\r", "the line is empty"},
    {"NotAnObject", "[1, 2]", "must be a JSON object, not an array"},
    {"ANumber", "17", "must be a JSON object, not 17"},
    {"TwoObjects", with_ids("[3, 4]") + " {}",
     "column 79: syntax error while parsing value - unexpected '{'; expected end of input"},
    {"NulByte", std::string("{\"timestamp\": \0}", 16), "column 15: a NUL byte"},
    {"NulsBehindAWholeObject", with_ids("[3, 4]") + std::string(3, '\0'), "column 78: a NUL byte"},
    {"BytesThatAreNoText", "{\"timestamp\": \x01\xff}",
     "column 15: syntax error while parsing value - invalid literal; last read: "
     "'\"timestamp\": <U+0001>'"},
    {"MinusZeroId", with_ids("[3, -0]"), "hash_ids[1] is -0" + id_rule},
};

void PrintTo(const Case& bad, std::ostream* out) { *out << bad.line; }

class BadMooncakeLine : public testing::TestWithParam<Case> {};

TEST_P(BadMooncakeLine, E4IsAnErrorWithItsNumberAndWhatIsWrong) {
  const TemporaryDirectory directory;
  for (const char* end : {"\n", ""}) {
    if (GetParam().line.empty() && *end == '\0') continue;  // no line at all
    const auto path = directory.file("trace.jsonl", good + GetParam().line + end);
    EXPECT_EQ(message_of({path}),
              "BAD_FILE (-2006): " + path.string() + ": line 2: " + GetParam().problem);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadMooncakeLine, testing::ValuesIn(cases),
                         [](const auto& param) { return param.param.name; });

TEST(Mooncake, E10AnEmptyFileIsAnError) {
  const TemporaryDirectory directory;
  const auto path = directory.file("trace.jsonl", "");
  EXPECT_EQ(message_of({path}),
            "BAD_FILE (-2006): " + path.string() + ": line 1: the file is empty");
}

TEST(Mooncake, E1IdsAreFull64Bits) {
  const TemporaryDirectory directory;
  const auto all = read_all(
      {directory.file("t.jsonl", with_ids("[18446744073709551615, 9223372036854775808]"))});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->front().blocks, (std::vector<BlockId>{{std::numeric_limits<std::uint64_t>::max()},
                                                       {std::uint64_t{1} << 63}}));
}

TEST(Mooncake, AllowsOtherFieldsAnyOrderFractionsCarriageReturnsAndNoLastNewline) {
  const TemporaryDirectory directory;
  const auto path = directory.file(
      "t.jsonl",
      R"({"x": [{"timestamp": -1}], "hash_ids": [8], "output_length": 0, "input_length": 512, "timestamp": 1.5})"
      "\r\n" +
          with_time("9223372036854"));
  const auto all = read_all({path});
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].request.arrival, 1500us);
  EXPECT_EQ((*all)[0].request.output_tokens, 0u);
  EXPECT_EQ((*all)[0].blocks, std::vector<BlockId>{{8}});
  EXPECT_FALSE((*all)[0].request.speaker);
  EXPECT_EQ((*all)[1].request.arrival, 9223372036854ms);
}

TEST(Mooncake, TheBlockSizeIsAnOption) {
  const TemporaryDirectory directory;
  const auto path = directory.file("t.jsonl", with_ids("[1, 2, 3]"));
  EXPECT_EQ(message_of({path}, {.block_tokens = 256}), "read to the end");
  EXPECT_EQ(message_of({path}, {.block_tokens = 0}),
            "INVALID_PARAMS (-600): a block of 0 tokens cannot be");
}

TEST(Mooncake, E10ALineWithoutEndIsRefusedAndNotSwallowed) {
  const TemporaryDirectory directory;
  const auto path = directory.file("t.jsonl", good + std::string(mooncake_line_bytes_max + 1, ' '));
  EXPECT_EQ(message_of({path}),
            "BAD_FILE (-2006): " + path.string() + ": line 2: longer than 16384 KiB");
}

TEST(Mooncake, E10DeepNestingIsAnErrorAndNotACrash) {
  const TemporaryDirectory directory;
  const auto path = directory.file("t.jsonl", "{\"x\": " + std::string(4'000'000, '['));
  EXPECT_NE(message_of({path}).find("line 1: column"), std::string::npos);
}

TEST(Mooncake, LinesLongerThanTheReadBufferAreWhole) {
  const TemporaryDirectory directory;
  std::string ids = "[0";
  for (int i = 1; i < 100'000; ++i) ids += ", " + std::to_string(i);
  const std::string line =
      R"({"timestamp": 5, "input_length": 51200000, "output_length": 7, "hash_ids": )" + ids +
      "]}\n";
  const auto all = read_all({directory.file("t.jsonl", good + line + line)});
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[1].blocks.size(), 100'000u);
  EXPECT_EQ((*all)[2].blocks, (*all)[1].blocks);
}

TEST(Mooncake, E13MemoryDoesNotGrowWithTheNumberOfRows) {
  // Under a sanitizer, whose heap this does not see, nothing is shown.
  const auto heap_bytes = [] {
    const struct mallinfo2 heap = ::mallinfo2();
    return heap.uordblks + heap.hblkhd;
  };
  const TemporaryDirectory directory;
  const auto path = directory.path() / "t.jsonl";
  {
    std::ofstream out(path);
    for (int i = 0; i < 100'000; ++i) out << good;  // 7.8 MB
  }
  const std::vector<std::filesystem::path> paths{path};
  const auto reader = open_trace(paths);
  ASSERT_TRUE(reader);
  std::size_t after_some = 0;
  std::size_t most = 0;
  for (int row = 0; row < 100'000; ++row) {
    const auto request = (*reader)->next();
    ASSERT_TRUE(request) << request.error().message();
    ASSERT_NE(*request, nullptr);
    if (row == 10'000) after_some = heap_bytes();
    if (row >= 10'000 && row % 1'000 == 0) most = std::max(most, heap_bytes());
  }
  EXPECT_EQ((*reader)->next().value(), nullptr);
  EXPECT_LE(most, after_some + 4096);
}

TEST(Mooncake, ALineThatIsWrittenReadsBackAsTheSameRequest) {
  const std::vector<BlockId> blocks{{7}, {std::numeric_limits<std::uint64_t>::max()}};
  const Request request{.arrival = 1234ms,
                        .input_tokens = 513,
                        .output_tokens = 9,
                        .block_tokens = 512,
                        .blocks = blocks};
  const std::string line = mooncake_line(request);
  EXPECT_EQ(line,
            "{\"timestamp\": 1234, \"input_length\": 513, \"output_length\": 9, \"hash_ids\": "
            "[7, 18446744073709551615]}\n");
  const TemporaryDirectory directory;
  const auto all = read_all({directory.file("t.jsonl", line)});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->front().request.arrival, request.arrival);
  EXPECT_EQ(all->front().request.input_tokens, request.input_tokens);
  EXPECT_EQ(all->front().request.output_tokens, request.output_tokens);
  EXPECT_EQ(all->front().blocks, blocks);
}

}  // namespace
}  // namespace larder::workloads
