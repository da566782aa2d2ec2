// B18: what a key costs a node in memory.
#include <malloc.h>

#include "tests/unit/core/node/harness.h"

namespace larder::test {
namespace {

class Nowhere final : public SegmentMemory {
 public:
  void write_footer(ReplicaLocation, const FooterBytes&) override {}
};

TEST(NodeFootprint, B18ASealedKeyOf64BytesCostsLessThan300Bytes) {
  if (mallinfo2().uordblks == 0) GTEST_SKIP() << "this allocator does not say what it gave out";
  Nowhere memory;
  NodeEffects effects;
  Node node(Bench::with_names({}), incarnation, memory);
  const Time now{1s};
  ASSERT_TRUE(node.add_segment(now, {.id = segment_a, .name = "s", .size = 64_MiB}, effects));
  node.connected(now, effects);
  const std::uint64_t ticket = effects.send.back().ticket;
  effects.clear();
  node.answered(now, ticket, NodeRegistered{.epoch = epoch, .instance = instance}, effects);
  constexpr std::uint64_t keys = 20000;
  const std::string key(64, 'k');
  const std::size_t before = mallinfo2().uordblks;
  for (std::uint64_t i = 0; i < keys; ++i) {
    FillItem item = Bench::item(put(i), Bytes{i * 1088});
    item.record.key = key;
    item.record.tenant = "tenant-1";
    item.record.group = "";
    item.record.parent = "";
    const auto begun = node.begin_fill(now, item, writer);
    ASSERT_TRUE(begun);
    ASSERT_TRUE(node.seal(now, begun->id, {.expected = {}, .computed = 77}, effects));
  }
  const std::size_t bytes_per_key = (mallinfo2().uordblks - before) / keys;
  RecordProperty("bytes_per_key", static_cast<int>(bytes_per_key));
  EXPECT_LT(bytes_per_key, 300u);
  EXPECT_GT(bytes_per_key, 100u) << "the measurement itself is broken";
}

}  // namespace
}  // namespace larder::test
