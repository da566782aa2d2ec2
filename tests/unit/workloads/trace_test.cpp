#include "workloads/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/unit/workloads/temporary.h"

namespace larder::workloads {
namespace {

namespace fs = std::filesystem;

struct Owned {
  Request request;
  std::vector<BlockId> blocks;
};

Result<std::vector<Owned>> read_all(std::vector<fs::path> paths, const TraceOptions& options = {}) {
  LARDER_TRY(const auto reader, open_trace(paths, options));
  std::vector<Owned> all;
  while (true) {
    LARDER_TRY(const Request* request, reader->next());
    if (request == nullptr) return all;
    all.push_back({*request, {request->blocks.begin(), request->blocks.end()}});
  }
}

TEST(Trace, TheConversationTraceHasItsPublishedCounts) {
  LARDER_NEEDS_PUBLISHED_TRACES();
  const auto all = read_all({published_traces() / "conversation_trace.jsonl"});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->size(), 12'031u);
  std::size_t accesses = 0;
  for (const Owned& one : *all) accesses += one.blocks.size();
  EXPECT_EQ(accesses, 288'500u);
}

TEST(Trace, TheAgenticSessionsMergeByArrivalAndKeepTheirIdsApart) {
  LARDER_NEEDS_PUBLISHED_TRACES();
  const auto all = read_all({published_traces() / "agentic"});
  ASSERT_TRUE(all) << all.error().message();
  std::size_t accesses = 0;
  Duration last{0};
  std::map<BlockId, std::uint32_t> session_of;
  for (const Owned& one : *all) {
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
}

}  // namespace
}  // namespace larder::workloads
