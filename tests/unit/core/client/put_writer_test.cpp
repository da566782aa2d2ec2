#include "core/client/put_writer.h"

#include "tests/unit/core/client/client_fixture.h"

namespace larder {
namespace {

class PutInPartsTest : public ClientTest {
 protected:
  Result<PutWriter> begin(std::string_view key, std::size_t size, std::uint32_t replicas = 1) {
    const PutInParts item{.item = {.key = key, .replicas = replicas}, .size = {size}};
    auto writers = run(client->begin_put({&item, 1}, {}, world.now() + within));
    return std::move(writers.at(0));
  }
  Status write(PutWriter& writer, std::string_view text) {
    const ConstSlice slice = bytes_of(text);
    const PutPart part{.writer = &writer, .bytes = {&slice, 1}};
    return run(client->write_parts({&part, 1}, world.now() + within)).at(0);
  }
  Result<PutOutcome> end(PutWriter& writer) {
    PutWriter* const one = &writer;
    return run(client->end_put({&one, 1}, world.now() + within)).at(0);
  }
};

TEST_F(PutInPartsTest, ItsBytesAreReadAsOneValueWithOneChecksum) {
  master.places = {1, 2};
  auto writer = begin("k", 11, 2);
  ASSERT_TRUE(writer) << writer.error().message();
  EXPECT_TRUE(write(*writer, "hello"));
  EXPECT_EQ(writer->written(), 5_B);
  EXPECT_TRUE(write(*writer, " "));
  EXPECT_TRUE(write(*writer, "world"));
  const auto outcome = end(*writer);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->replicas, 2u);
  EXPECT_EQ(client->counters().checksum_passes, 1u);
  EXPECT_EQ(master.last<PutEnd>().items.at(0).checksum, checksum(bytes_of("hello world")));
  std::string read(11, ' ');
  const auto got = get("k", read);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->checksum_verified);
  EXPECT_EQ(read, "hello world");
}

TEST_F(PutInPartsTest, ManyPutsShareEachCallAndEachTransfer) {
  const std::vector<std::string> keys{"a", "b", "c"};
  std::vector<PutInParts> items;
  for (const std::string& key : keys) items.push_back({.item = {.key = key}, .size = 4_B});
  auto writers = run(client->begin_put(items, {}, world.now() + within));
  for (const std::string_view layer : {"xx", "yy"}) {
    const ConstSlice slice = bytes_of(layer);
    std::vector<PutPart> parts;
    for (auto& writer : writers) parts.push_back({.writer = &*writer, .bytes = {&slice, 1}});
    for (const Status& status : run(client->write_parts(parts, world.now() + within))) {
      EXPECT_TRUE(status);
    }
  }
  std::vector<PutWriter*> ending;
  for (auto& writer : writers) ending.push_back(&*writer);
  for (const auto& outcome : run(client->end_put(ending, world.now() + within))) {
    EXPECT_TRUE(outcome);
  }
  EXPECT_EQ(master.count("PutStart"), 1u);
  EXPECT_EQ(master.count("PutEnd"), 1u);
  EXPECT_EQ(nodes.node(1).transfers, 2u);
}

TEST_F(PutInPartsTest, PartsLargerThanATransferAreDivided) {
  nodes.traits_to_set().transfer_bytes_max = 4_B;
  auto writer = begin("k", 20);
  EXPECT_TRUE(write(*writer, "0123456789"));
  EXPECT_TRUE(write(*writer, "abcdefghij"));
  EXPECT_TRUE(end(*writer));
  EXPECT_EQ(nodes.ranges, 6u);
  std::string read(20, ' ');
  EXPECT_TRUE(get("k", read));
  EXPECT_EQ(read, "0123456789abcdefghij");
}

TEST_F(PutInPartsTest, ReplicasThatFailOnTheWayAreLeftOut) {
  master.places = {1, 2};
  auto writer = begin("k", 4, 2);
  EXPECT_TRUE(write(*writer, "ab"));
  nodes.node(1).refuse = ErrorCode::fill_refused;
  EXPECT_TRUE(write(*writer, "cd"));
  const auto outcome = end(*writer);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->replicas, 1u);
  EXPECT_EQ(master.last<PutEnd>().items.at(0).sealed, 2u);
}

TEST_F(PutInPartsTest, WithoutANodeItIsDeadAndRevokedAndSaysWhy) {
  auto writer = begin("k", 4);
  nodes.node(1).dead = true;
  const Status failure = write(*writer, "ab");
  ASSERT_FALSE(failure);
  EXPECT_EQ(failure.error().code(), ErrorCode::transfer_fail);
  EXPECT_EQ(failure.error().facts().key, "k");
  EXPECT_EQ(failure.error().facts().size, 4_B);
  EXPECT_EQ(failure.error().facts().endpoint, "node-1:7701");
  EXPECT_EQ(master.count("PutRevoke"), 1u);
  EXPECT_EQ(code_of(write(*writer, "cd")), ErrorCode::invalid_write);
  EXPECT_EQ(code_of(end(*writer)), ErrorCode::invalid_write);
  EXPECT_EQ(master.count("PutRevoke"), 1u);
}

TEST_F(PutInPartsTest, WhatIsTooMuchOrTooLittleIsRefusedAndChangesNothing) {
  auto writer = begin("k", 4);
  EXPECT_EQ(code_of(write(*writer, "12345")), ErrorCode::invalid_params);
  EXPECT_EQ(code_of(write(*writer, "")), ErrorCode::invalid_params);
  EXPECT_TRUE(write(*writer, "123"));
  EXPECT_EQ(code_of(write(*writer, "45")), ErrorCode::invalid_params);
  EXPECT_EQ(code_of(end(*writer)), ErrorCode::invalid_params);
  EXPECT_TRUE(write(*writer, "4"));
  EXPECT_TRUE(end(*writer));
  EXPECT_TRUE(end(*writer));  // the same answer again
  EXPECT_EQ(code_of(write(*writer, "5")), ErrorCode::invalid_write);
}

TEST_F(PutInPartsTest, BadItemsAreRefusedBeforeAnyCall) {
  EXPECT_EQ(code_of(begin("", 4)), ErrorCode::invalid_key);
  EXPECT_EQ(code_of(begin("k", 0)), ErrorCode::invalid_params);
  EXPECT_EQ(code_of(begin("k", std::size_t{1} << 60)), ErrorCode::invalid_params);
  EXPECT_EQ(code_of(begin("k", 4, 17)), ErrorCode::invalid_params);
  EXPECT_EQ(master.asked.size(), 0u);
}

TEST_F(PutInPartsTest, AKeyThatIsThereIsSaidAtTheBegin) {
  ASSERT_TRUE(put("k", "old"));
  auto writer = begin("k", 4);
  ASSERT_TRUE(writer);
  EXPECT_TRUE(writer->already_stored());
  EXPECT_EQ(code_of(write(*writer, "new!")), ErrorCode::invalid_write);
  EXPECT_TRUE(end(*writer)->already_stored);
  EXPECT_EQ(master.count("PutRevoke"), 0u);
}

TEST_F(PutInPartsTest, AnAbandonedOneIsRevokedAtOnce) {
  {
    auto writer = begin("k", 4);
    EXPECT_TRUE(write(*writer, "ab"));
  }
  EXPECT_EQ(master.count("PutRevoke"), 1u);
}

TEST_F(PutInPartsTest, AWriteThatWasGivenUpKillsIt) {
  auto writer = begin("k", 4);
  {
    std::string text = "ab";
    const ConstSlice slice = bytes_of(text);
    const PutPart part{.writer = &*writer, .bytes = {&slice, 1}};
    auto task = client->write_parts({&part, 1}, world.now() + within);
    task.start();
    EXPECT_EQ(nodes.in_flight(), 1u);
  }
  EXPECT_EQ(nodes.in_flight(), 0u);
  EXPECT_EQ(code_of(write(*writer, "cd")), ErrorCode::invalid_write);
  EXPECT_EQ(master.count("PutRevoke"), 0u);
  writer = begin("other", 4);
  EXPECT_EQ(master.count("PutRevoke"), 1u);
}

TEST_F(PutInPartsTest, ANewMasterMeansThatItMustBeBegunAgain) {
  auto writer = begin("k", 4);
  EXPECT_TRUE(write(*writer, "ab"));
  master.epoch = {6};
  ASSERT_TRUE(put("another", "value"));  // which shows the new epoch
  const Status late = write(*writer, "cd");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), ErrorCode::invalid_write);
  EXPECT_NE(late.error().message().find("EPOCH_SUPERSEDED"), std::string::npos);
  EXPECT_EQ(master.count("PutRevoke"), 0u);  // nobody knows it
}

// At each point where one of its calls waits, the call is destroyed, then the writer, then the
// memory that both pointed at; sometimes the client too.
TEST(PutInPartsCrash, ItCanBeDestroyedWhereverItWaits) {
  for (std::size_t point = 0;; ++point) {
    Scene scene;
    scene.master.places = {1, 2};
    scene.nodes.node(2).refuse = ErrorCode::busy;
    scene.nodes.traits_to_set().transfer_bytes_max = 10_B;
    scene.master.refuse("PutEnd", ErrorCode::unavailable_in_current_status);
    struct Memory {
      std::string key = "a key that is not short at all";
      std::string text = "a value that is not short, of which each half is a part";
      ConstSlice slice = bytes_of(std::string_view(text));
      PutInParts item{.item = {.key = key, .replicas = 2}, .size = {2 * text.size()}};
      std::optional<PutWriter> writer;
      PutWriter* pointer = nullptr;
      PutPart part;
    };
    auto memory = std::make_unique<Memory>();
    const auto whole = [](Scene& s, Memory& m) -> Task<Done> {
      auto begun = co_await s.client->begin_put({&m.item, 1}, {}, s.world.now() + s.within);
      m.writer.emplace(*std::move(begun.at(0)));
      m.pointer = &*m.writer;
      m.part = {.writer = m.pointer, .bytes = {&m.slice, 1}};
      for (int i = 0; i < 2; ++i) {
        const auto wrote = co_await s.client->write_parts({&m.part, 1}, s.world.now() + s.within);
        EXPECT_TRUE(wrote.at(0));
      }
      const auto ended = co_await s.client->end_put({&m.pointer, 1}, s.world.now() + s.within);
      EXPECT_TRUE(ended.at(0));
      co_return Done{};
    };
    auto task = whole(scene, *memory);
    task.start();
    for (std::size_t i = 0; i < point && !task.done(); ++i) ASSERT_TRUE(scene.world.step());
    const bool ended = task.done();
    task = {};
    EXPECT_EQ(scene.nodes.in_flight(), 0u);
    memory.reset();
    if (point % 2) scene.client.reset();
    for (int i = 0; i < 1000 && scene.world.step(); ++i) {
    }
    EXPECT_EQ(scene.world.armed(), 0u);
    if (!ended) continue;
    EXPECT_GE(point, 7u);
    break;
  }
}

}  // namespace
}  // namespace larder
