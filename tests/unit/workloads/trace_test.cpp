#include "workloads/trace.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "tests/files/temporary.h"
#include "tests/support/traces.h"
#include "tests/unit/workloads/read.h"

namespace larder::workloads {
namespace {

constexpr std::string_view mooncake_text =
    R"({"timestamp": 5, "input_length": 600, "output_length": 7, "hash_ids": [3, 4]})";
constexpr std::string_view agentic_text =
    R"({"block_size": 64, "requests": [{"t": 1, "in": 64, "out": 1, "hash_ids": [9]}]})";

TEST(Trace, ContentDecidesTheFormatWhateverTheExtensionSays) {
  const TemporaryDirectory directory;
  EXPECT_EQ(read_all({directory.file("a.json", mooncake_text)})->front().request.block_tokens,
            512u);
  EXPECT_EQ(read_all({directory.file("b.jsonl", agentic_text)})->front().request.block_tokens, 64u);
  EXPECT_EQ(read_all({directory.file("c", agentic_text)})->front().request.block_tokens, 64u);
}

TEST(Trace, AFormatThatIsAskedForIsNotGuessed) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.jsonl", mooncake_text);
  EXPECT_EQ(message_of({path}, {.format = TraceFormat::agentic}),
            "BAD_FILE (-2006): " + path.string() + ": the field 'block_size' is missing");
}

TEST(Trace, NeitherContentNorExtensionIsAnErrorThatSaysWhatToDo) {
  const TemporaryDirectory directory;
  const auto path = directory.file("trace", "hello\n");
  EXPECT_EQ(message_of({path}), "BAD_FILE (-2006): " + path.string() +
                                    ": neither content nor extension tells the format; name it: "
                                    "mooncake or agentic");
}

TEST(Trace, PathsThatCannotBeReadAreErrorsThatSayWhy) {
  const TemporaryDirectory directory;
  const auto missing = directory.path() / "missing.jsonl";
  EXPECT_EQ(message_of({missing}), "FILE_NOT_FOUND (-1100): cannot open " + missing.string() +
                                       ": No such file or directory");
  EXPECT_EQ(message_of({directory.path()}), "BAD_FILE (-2006): " + directory.path().string() +
                                                " is a directory without any *.json session file");
  EXPECT_EQ(message_of({directory.path()}, {.format = TraceFormat::mooncake}),
            "FILE_OPEN_FAIL (-1101): " + directory.path().string() + " is a directory, not a file");
  const auto nameless = directory.file("empty", "");
  EXPECT_EQ(message_of({nameless}),
            "BAD_FILE (-2006): " + nameless.string() + ": line 1: the file is empty");
  EXPECT_EQ(message_of({}), "INVALID_PARAMS (-600): no trace file is named");

  const auto secret = directory.file("secret.jsonl", mooncake_text);
  ::chmod(secret.c_str(), 0);
  constexpr uid_t nobody = 65534;
  const uid_t self = ::geteuid();
  if (self == 0) ASSERT_EQ(::seteuid(nobody), 0);  // root may read everything
  const std::string message = message_of({secret});
  ASSERT_EQ(::seteuid(self), 0);
  EXPECT_EQ(message,
            "FILE_OPEN_FAIL (-1101): cannot open " + secret.string() + ": Permission denied");
}

TEST(Trace, TwoMooncakeFilesAreNotOneTrace) {
  const TemporaryDirectory directory;
  const auto a = directory.file("a.jsonl", mooncake_text);
  const auto b = directory.file("b.jsonl", mooncake_text);
  EXPECT_EQ(message_of({a, b}),
            "INVALID_PARAMS (-600): a mooncake trace is one file, but 2 are "
            "named, from " +
                a.string() + " to " + b.string());
}

TEST(Trace, ADirectoryIsItsSessionFilesInOrderOfName) {
  const TemporaryDirectory directory;
  const auto session = [](int tokens) {
    return R"({"block_size": 64, "requests": [{"t": 0, "in": )" + std::to_string(tokens) +
           R"(, "out": 1, "hash_ids": []}]})";
  };
  directory.file("b.json", session(2));
  directory.file("a.json", session(1));
  directory.file("c.txt", "not looked at");
  const auto all = read_all({directory.path()});
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].request.input_tokens, 1u);
  EXPECT_EQ((*all)[1].request.input_tokens, 2u);
}

TEST(Trace, TheConversationTraceIsReadWhole) {
  LARDER_NEEDS_PUBLISHED_TRACES();
  const auto all = read_all({published_traces() / "conversation_trace.jsonl"});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->size(), 12'031u);
  EXPECT_EQ(all->front().blocks.size(), 14u);
  EXPECT_EQ(all->front().request.input_tokens, 6'758u);
  EXPECT_EQ(all->back().blocks.back(), BlockId{182'789});
}

TEST(Trace, TheAgenticSessionsMergeByArrivalAndKeepTheirIdsApart) {
  LARDER_NEEDS_PUBLISHED_TRACES();
  const auto all = read_all({published_traces() / "agentic"});
  ASSERT_TRUE(all) << all.error().message();
  std::size_t accesses = 0;
  Duration last{0};
  std::map<BlockId, std::uint32_t> session_of;
  for (const OwnedRequest& one : *all) {
    accesses += one.blocks.size();
    EXPECT_GE(one.request.arrival, last);
    last = one.request.arrival;
    ASSERT_TRUE(one.request.speaker);
    const std::uint32_t session = one.request.speaker->session;
    for (const BlockId id : one.blocks) {
      EXPECT_EQ(session_of.try_emplace(id, session).first->second, session);
    }
  }
  EXPECT_EQ(all->size(), 813u);
  EXPECT_EQ(accesses, 1'175'296u);
  EXPECT_EQ(session_of.size(), 47'702u);  // the sum of the files' own distinct ids
}

}  // namespace
}  // namespace larder::workloads
