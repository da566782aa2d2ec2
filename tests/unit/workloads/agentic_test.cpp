#include "workloads/agentic.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/files/temporary.h"
#include "tests/unit/workloads/read.h"

namespace larder::workloads {
namespace {

using namespace std::chrono_literals;

std::string session(const std::string& requests) {
  return R"({"id": "s", "block_size": 64, "hash_id_scope": "local", "requests": [)" + requests +
         "]}";
}
std::string request(const std::string& t, const std::string& ids = "[1]",
                    const std::string& tokens = "64") {
  return R"({"t": )" + t + R"(, "type": "n", "in": )" + tokens + R"(, "out": 2, "hash_ids": )" +
         ids + "}";
}

struct Case {
  std::string name;
  std::string text;
  std::string problem;
};

const std::string id_rule = ", must be a whole number from 0 to 18446744073709551615";
const std::string count_rule = ", must be a whole number from 0 to 4294967295";
const std::string time_rule = ", must be a number of seconds from 0 to 4600000000";

const std::vector<Case> cases{
    {"Empty", "", "the file is empty"},
    {"NotJson", "{\n\"block_size\": 64,\n?",
     "line 3, column 1: syntax error while parsing object key - invalid literal; last read: "
     "'64,<U+000A>?'; expected string literal"},
    {"CutShort", session(request("0")).substr(0, 127),
     "line 1, column 128: syntax error while parsing array - unexpected end of input; expected "
     "']'"},
    {"NulBehindTheObject", session(request("0")) + std::string(1, '\0'), "byte 130: a NUL byte"},
    {"AList", "[1]", "must be a JSON object"},
    {"NoBlockSize", R"({"requests": []})", "the field 'block_size' is missing"},
    {"BlockSizeZero", R"({"block_size": 0, "requests": []})", "block_size is 0"},
    {"NoRequests", R"({"block_size": 64})", "the field 'requests' is missing"},
    {"NoRequestInThem", session(""), "there are no requests"},
    {"RequestsAreANumber", R"({"block_size": 64, "requests": 5})", "requests is 5, must be a list"},
    {"GlobalScope", R"({"block_size": 64, "hash_id_scope": "global", "requests": []})",
     "hash_id_scope is the string 'global', must be \"local\""},
    {"RequestIsANumber", session("7"), "requests[0] is 7, must be an object"},
    {"NoTime", session(R"({"in": 0, "out": 0, "hash_ids": []})"),
     "requests[0]: the field 't' is missing"},
    {"NegativeTime", session(request("0") + "," + request("-0.5")),
     "requests[1].t is -0.5" + time_rule},
    {"TimeIsText", session(request("\"0\"")), "requests[0].t is the string '0'" + time_rule},
    {"NanTime", session(request("NaN")),
     "line 1, column 76: syntax error while parsing value - invalid literal; last read: '\"t\": "
     "N'"},
    {"HugeTime", session(request("4600000001")), "requests[0].t is 4600000001" + time_rule},
    {"TimeGoesBack", session(request("2") + "," + request("1")),
     "requests[1].t is earlier than that of the agent's request before"},
    {"NegativeInput", session(request("0", "[]", "-1")), "requests[0].in is -1" + count_rule},
    {"HugeInput", session(request("0", "[]", "4294967296")),
     "requests[0].in is 4294967296" + count_rule},
    {"FractionalInput", session(request("0", "[]", "1.5")), "requests[0].in is 1.5" + count_rule},
    {"NoOutput", session(R"({"t": 0, "in": 0, "hash_ids": []})"),
     "requests[0]: the field 'out' is missing"},
    {"NegativeThinkTime",
     session(R"({"t": 0, "in": 0, "out": 0, "hash_ids": [], "think_time": -1})"),
     "requests[0].think_time is -1" + time_rule},
    {"NoIds", session(R"({"t": 0, "in": 0, "out": 0})"),
     "requests[0]: the field 'hash_ids' is missing"},
    {"TooFewIds", session(request("0", "[]")),
     "requests[0].hash_ids has 0 ids, but 64 input tokens are 1 full blocks of 64"},
    {"IdForAPartialBlock", session(request("0", "[1, 2]", "65")),
     "requests[0].hash_ids has 2 ids, but 65 input tokens are 1 full blocks of 64"},
    {"NegativeId", session(request("0", "[-1]")), "requests[0].hash_ids[0] is -1" + id_rule},
    {"FractionalId", session(request("0", "[1.5]")), "requests[0].hash_ids[0] is 1.5" + id_rule},
    {"IdWithExponent", session(request("0", "[1e3]")),
     "requests[0].hash_ids[0] is 1000.0" + id_rule},
    {"IdBeyond64Bits", session(request("0", "[18446744073709551616]")),
     "requests[0].hash_ids[0] is 1.8446744073709552e+19" + id_rule},
    {"SubAgentWithoutDuration", session(R"({"t": 1, "requests": []})"),
     "requests[0]: the field 'duration_ms' is missing"},
    {"SubAgentBeforeItsSession", session(R"({"t": 1, "duration_ms": 1001, "requests": []})"),
     "requests[0] began before its session: t - duration_ms < 0"},
    {"SubAgentWithoutAList", session(R"({"t": 1, "duration_ms": 0, "requests": 3})"),
     "requests[0].requests is 3, must be a list"},
    {"BadIdInASubAgent",
     session(R"({"t": 1, "duration_ms": 0, "requests": [)" + request("0", "[null]") + "]}"),
     "requests[0].requests[0].hash_ids[0] is null" + id_rule},
};

void PrintTo(const Case& bad, std::ostream* out) { *out << bad.text; }

class BadAgenticFile : public testing::TestWithParam<Case> {};

TEST_P(BadAgenticFile, E4IsAnErrorWithItsPlaceAndWhatIsWrong) {
  const TemporaryDirectory directory;
  const auto path = directory.file("s.json", GetParam().text);
  EXPECT_EQ(message_of({path}, {.format = TraceFormat::agentic}),
            "BAD_FILE (-2006): " + path.string() + ": " + GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(All, BadAgenticFile, testing::ValuesIn(cases),
                         [](const auto& param) { return param.param.name; });

TEST(Agentic, SubAgentsBeginTheirDurationBeforeTheirTimeAndRunBesideTheirParent) {
  const TemporaryDirectory directory;
  // Ends at 79.224 s after 59.750 s: its requests count from 19.474 s.
  const auto path = directory.file(
      "s.json", session(request("0") + R"(, {"t": 79.224, "type": "subagent", "duration_ms": 59750,
                         "requests": [)" +
                        request("0") + "," + request("6.5") + "]}, " + request("20")));
  const auto all = read_all({path});
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 4u);
  const std::vector<Duration> arrivals{0ms, 19474ms, 20000ms, 25974ms};
  const std::vector<std::uint32_t> agents{0, 1, 0, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ((*all)[i].request.arrival, arrivals[i]) << i;
    EXPECT_EQ((*all)[i].request.speaker, (Speaker{.session = 0, .agent = agents[i]})) << i;
  }
}

TEST(Agentic, IdsOfSeveralFilesNeverMeetAndThoseOfOneFileDo) {
  const TemporaryDirectory directory;
  const std::string max = "18446744073709551615";
  const auto a = directory.file("a.json", session(request("0", "[" + max + "]") + "," +
                                                  request("1", "[" + max + ", 0]", "128")));
  const auto b = directory.file("b.json", session(request("0", "[" + max + "]")));
  const auto all = read_all({a, b});
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[0].blocks, (std::vector<BlockId>{{0}}));
  EXPECT_EQ((*all)[1].blocks, (std::vector<BlockId>{{2}}));  // of b, at the same time as a's first
  EXPECT_EQ((*all)[2].blocks, (std::vector<BlockId>{{0}, {1}}));
}

TEST(Agentic, ThinkTimeIsThereWhereTheFileHasIt) {
  const TemporaryDirectory directory;
  const auto all =
      read_all({directory.file("s.json", session(R"({"t": 0, "in": 0, "out": 0, "hash_ids": []},
                           {"t": 9, "in": 63, "out": 0, "hash_ids": [], "think_time": 2.25})"))});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_FALSE((*all)[0].request.think_time);
  EXPECT_EQ((*all)[1].request.think_time, 2250ms);
}

TEST(Agentic, FilesOfDifferentBlockSizesAreNotOneTrace) {
  const TemporaryDirectory directory;
  const auto a = directory.file("a.json", session(request("0")));
  const auto b = directory.file("b.json", R"({"block_size": 32, "requests": []})");
  EXPECT_EQ(message_of({a, b}),
            "BAD_FILE (-2006): " + b.string() + ": block_size is 32, but 64 in the files before");
}

TEST(Agentic, E10DeepNestingIsAnErrorAndNotACrash) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += R"({"t": 1, "duration_ms": 0, "requests": [)";
  for (int i = 0; i < 20'000; ++i) text += "]}";
  EXPECT_NE(message_of({directory.file("s.json", session(text))}).find("nest deeper than 8"),
            std::string::npos);
}

}  // namespace
}  // namespace larder::workloads
