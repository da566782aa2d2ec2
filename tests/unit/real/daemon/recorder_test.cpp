#include "real/daemon/recorder.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "proto/journal/reader.h"
#include "tests/support/temporary.h"

namespace larder::real {
namespace {

using namespace std::chrono_literals;
using journal::RecordKind;

class RecorderTest : public ::testing::Test {
 protected:
  std::unique_ptr<Recorder> record(RecordOptions options = {}) {
    options.directory = directory.path();
    auto made = Recorder::make(options);
    EXPECT_TRUE(made.has_value()) << made.error().message();
    return std::move(*made);
  }
  void call(Recorder& recorder, std::size_t bytes) {
    const std::string frame(bytes, 'f');
    recorder.request(now += 1ms, ++ticket, std::as_bytes(std::span(frame)));
    if (recorder.wants_slot()) recorder.begin_slot(now, *master);
  }
  std::vector<journal::Slot> ring() const { return journal::open_ring(directory.path()).value(); }

  const TemporaryDirectory directory;
  Time now{1h};
  Ticket ticket = 0;
  std::unique_ptr<Master> master =
      Master::make(now, {}, {.epoch = {9}, .instance = {1, 2}}, {}).value();
};

TEST_F(RecorderTest, KeepsEveryCallInOrderAndTheStateBeforeThem) {
  {
    const auto recorder = record();
    recorder->begin_slot(now, *master);
    for (std::size_t i = 0; i < 1000; ++i) call(*recorder, i);
    recorder->tick(now);
    recorder->node_disconnected(now, {1, 2}, 3);
    recorder->piece(now, 7, {.first = 512, .end = 1024});
  }
  const auto slots = ring();
  ASSERT_EQ(slots.size(), 1u);
  ASSERT_TRUE(slots[0].state.has_value()) << "the state is whole when the recorder has gone";
  const auto state = journal::read_state(*slots[0].state);
  ASSERT_TRUE(state.has_value()) << state.error().message();
  EXPECT_EQ(state->digest, master->digest(state->header.begins));
  auto reader = journal::CallsReader::open(*slots[0].calls);
  ASSERT_TRUE(reader.has_value());
  for (std::size_t i = 0; i < 1000; ++i) {
    const journal::Record* const each = reader->next();
    ASSERT_NE(each, nullptr) << i;
    EXPECT_EQ(each->header.kind, RecordKind::request);
    EXPECT_EQ(each->request.ticket, i + 1);
    EXPECT_EQ(each->frame.size(), i);
  }
  EXPECT_EQ(reader->next()->header.kind, RecordKind::tick);
  const journal::Record* const gone = reader->next();
  EXPECT_EQ(gone->header.kind, RecordKind::node_disconnected);
  EXPECT_EQ(gone->node.incarnation, (IncarnationId{1, 2}));
  EXPECT_EQ(gone->node.registration, 3u);
  const journal::Record* const piece = reader->next();
  EXPECT_EQ(piece->header.kind, RecordKind::piece);
  EXPECT_EQ(piece->piece.first, 512u);
  EXPECT_EQ(reader->next(), nullptr);
  EXPECT_FALSE(reader->cut().has_value());
}

TEST_F(RecorderTest, NeverTakesMoreThanItsShareOfTheDiskAndKeepsTheNewest) {
  constexpr Bytes size = 1_MiB;
  {
    const auto recorder = record({.size = size});
    recorder->begin_slot(now, *master);
    for (int i = 0; i < 4000; ++i) {
      call(*recorder, 1000);
      if (i % 100 != 99) continue;
      const Bytes before = recorder->view(now).bytes;  // the writer has a turn, on any machine
      while (recorder->view(now).bytes == before) std::this_thread::yield();
    }
    EXPECT_EQ(recorder->view(now).dropped, 0u);
    EXPECT_GT(recorder->view(now).span, 0s);
  }
  Bytes total;
  const auto slots = ring();
  for (const auto& slot : slots) total += slot.bytes;
  EXPECT_LE(total, size + 512_KiB) << "the newest states and what follows them always stay";
  EXPECT_GT(slots.front().number, 1u) << "the oldest have gone";
  auto reader = journal::CallsReader::open(*slots.back().calls);
  ASSERT_TRUE(reader.has_value());
  Ticket last = 0;
  while (const journal::Record* each = reader->next()) {
    if (each->header.kind == RecordKind::request) last = each->request.ticket;
  }
  EXPECT_EQ(last, ticket);
}

TEST_F(RecorderTest, NotesAGapWhereTheBufferWasFullAndGoesOnWithANewState) {
  {
    const auto recorder = record({.buffer = 4_KiB});
    recorder->begin_slot(now, *master);
    call(*recorder, 10);
    call(*recorder, 8192);  // larger than the buffer
    EXPECT_EQ(recorder->view(now).dropped, 1u);
    while (!recorder->wants_slot()) std::this_thread::yield();
    // Not before the first state is whole.
    while (!recorder->begin_slot(now, *master)) std::this_thread::yield();
    call(*recorder, 20);
    EXPECT_EQ(recorder->view(now).dropped, 1u);
  }
  const auto slots = ring();
  ASSERT_EQ(slots.size(), 2u);
  auto first = journal::CallsReader::open(*slots[0].calls);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->next()->header.kind, RecordKind::request);
  const journal::Record* const gap = first->next();
  ASSERT_NE(gap, nullptr);
  EXPECT_EQ(gap->header.kind, RecordKind::gap);
  EXPECT_EQ(gap->gap.calls, 1u);
  EXPECT_EQ(first->next()->header.kind, RecordKind::end);
  EXPECT_TRUE(slots[1].state.has_value());
  auto second = journal::CallsReader::open(*slots[1].calls);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->next()->frame.size(), 20u);
}

TEST_F(RecorderTest, GoesOnBehindWhatAnEarlierMasterHasRecorded) {
  for (int life = 0; life < 2; ++life) {
    const auto recorder = record();
    recorder->begin_slot(now, *master);
    call(*recorder, 10);
  }
  EXPECT_EQ(ring().size(), 2u);
}

TEST_F(RecorderTest, RefusesADirectoryInWhichAnotherMasterRecords) {
  const auto first = record();
  const auto second = Recorder::make({.directory = directory.path()});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), ErrorCode::file_open_fail);
  const auto nowhere = Recorder::make({.directory = directory.path() / "a" / "b"});
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_NE(nowhere.error().message().find("no such directory"), std::string::npos);
}

}  // namespace
}  // namespace larder::real
