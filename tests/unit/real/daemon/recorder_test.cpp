#include "real/daemon/recorder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "proto/journal/reader.h"
#include "tests/files/temporary.h"

namespace larder::real {
namespace {

using namespace std::chrono_literals;
using journal::RecordKind;
namespace fs = std::filesystem;

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
  // Calls until it is so, at the pace of the writer.
  template <class Condition>
  void call_until(Recorder& recorder, Condition&& condition, std::size_t bytes = 10) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << recorder.view(now).trouble;
      call(recorder, bytes);
      const auto turn = std::chrono::steady_clock::now() + 200us;
      while (std::chrono::steady_clock::now() < turn) std::this_thread::yield();
    }
  }
  auto troubled(const Recorder& recorder, std::string_view why) const {
    return [this, &recorder, why] { return recorder.view(now).trouble.contains(why); };
  }
  auto at_ease(const Recorder& recorder) const {
    return [this, &recorder] { return recorder.view(now).trouble.empty(); };
  }
  auto replayable(const Recorder& recorder) const {
    return [this, &recorder] { return recorder.view(now).span > 0s; };
  }
  fs::path file(std::uint64_t slot, std::string_view suffix) const {
    return directory.path() / journal::file_name(slot, suffix);
  }
  std::uint64_t newest_state() const {
    const auto states = files(journal::state_suffix);
    return states.empty() ? 0 : states.rbegin()->first;
  }
  // Their sizes, by slot; nothing that stands in the place of one.
  std::map<std::uint64_t, Bytes> files(std::string_view suffix) const {
    std::map<std::uint64_t, Bytes> found;
    for (const auto& entry : fs::directory_iterator(directory.path())) {
      if (entry.path().extension() != suffix || entry.is_symlink() || !entry.is_regular_file()) {
        continue;
      }
      std::error_code gone;
      const Bytes size{entry.file_size(gone)};
      if (!gone) found[std::stoull(entry.path().stem().string())] = size;
    }
    return found;
  }
  std::uint64_t oldest() const { return files(journal::calls_suffix).begin()->first; }
  Bytes on_disk() const {
    Bytes sum;
    for (const auto suffix : {journal::calls_suffix, journal::state_suffix}) {
      for (const auto& [slot, size] : files(suffix)) sum += size;
    }
    return sum;
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
      if (i % 25 != 24) continue;
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

// Something stands in the place of every newer state, as when none can be written from now on.
TEST_F(RecorderTest, StopsAtItsSizeWithWhatCanBeReplayedIfNoNewerStateCanBeWritten) {
  constexpr Bytes size = 1_MiB;
  const auto recorder = record({.size = size, .retry_after = 20ms});
  recorder->begin_slot(now, *master);
  call_until(*recorder, replayable(*recorder));
  for (std::uint64_t slot = 2; slot < 1000; ++slot) {
    fs::create_directory(file(slot, journal::state_suffix));
  }
  // Where the files are full before a slow fork has failed, it is that one's trouble in the end.
  call_until(*recorder, troubled(*recorder, "Is a directory"), 4000);
  EXPECT_EQ(oldest(), 1u) << "what can be replayed stays";
  const Duration span = recorder->view(now).span;
  // It tries again, in vain, with slots that nothing is left of.
  for (int tries = 0; tries < 3; ++tries) {
    const std::string before = recorder->view(now).trouble;
    call_until(*recorder, [&] { return recorder->view(now).trouble != before; }, 4000);
  }
  EXPECT_LE(on_disk(), size);
  EXPECT_LE(recorder->view(now).bytes, size);
  EXPECT_EQ(recorder->view(now).span, span) << "it does not grow while nothing is recorded";
  EXPECT_GT(recorder->view(now).dropped, 0u);

  for (std::uint64_t slot = 2; slot < 1000; ++slot) {
    fs::remove(file(slot, journal::state_suffix));
  }
  call_until(*recorder, at_ease(*recorder));
  call_until(*recorder, [&] { return oldest() > 1; }, 4000);
  EXPECT_LE(on_disk(), size + 64_KiB) << "and a state that has just been written";
}

TEST_F(RecorderTest, WithoutAFirstStateItRecordsNothingAndSaysWhy) {
  fs::create_directory(file(1, journal::state_suffix));
  const auto recorder = record({.retry_after = 1ms});
  recorder->begin_slot(now, *master);
  call_until(*recorder, troubled(*recorder, "00000001.state: Is a directory"));
  EXPECT_FALSE(fs::exists(file(1, journal::calls_suffix)));
  call_until(*recorder, at_ease(*recorder));
  EXPECT_TRUE(fs::exists(file(2, journal::state_suffix)));
}

TEST_F(RecorderTest, AStateThatTakesTooLongHasFailed) {
  const fs::path pipe = file(1, journal::unfinished_suffix);
  const auto recorder = record({.state_time_max = 50ms, .retry_after = 1ms});
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Descriptor full(::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  while (::write(full.get(), "x", 1) == 1) {
  }
  recorder->begin_slot(now, *master);
  call_until(*recorder, troubled(*recorder, "00000001.state: it was not done within"));
  call_until(*recorder, at_ease(*recorder));
  EXPECT_GE(newest_state(), 2u);
}

TEST_F(RecorderTest, OnAFullDiskItsOldestGoAndItGoesOn) {
  constexpr Bytes size = 1_MiB;
  fs::create_symlink("/dev/full", file(6, journal::calls_suffix));
  const auto recorder = record({.size = size, .retry_after = 1h});
  recorder->begin_slot(now, *master);
  call_until(*recorder, [&] { return newest_state() >= 7; }, 1000);
  call_until(*recorder, at_ease(*recorder));
  EXPECT_GT(recorder->view(now).dropped, 0u);
  EXPECT_GT(oldest(), 2u);
  EXPECT_FALSE(fs::exists(file(6, journal::state_suffix))) << "a state without calls";
}

TEST_F(RecorderTest, AFullDiskWithNothingToGiveUpIsTriedAgainLater) {
  fs::create_symlink("/dev/full", file(1, journal::calls_suffix));
  const auto recorder = record({.retry_after = 20ms});
  recorder->begin_slot(now, *master);
  call_until(*recorder, troubled(*recorder, "00000001.calls: No space left on device"));
  call_until(*recorder, at_ease(*recorder));
  EXPECT_GE(newest_state(), 2u);
}

TEST_F(RecorderTest, ADirectoryThatWasRemovedIsNoticedAndANewOneOfItsNameIsNotOurs) {
  const auto recorder = record({.retry_after = 1ms});
  recorder->begin_slot(now, *master);
  call_until(*recorder, replayable(*recorder));
  fs::remove_all(directory.path());
  call_until(*recorder, troubled(*recorder, directory.path().string() + " was removed"));
  EXPECT_EQ(recorder->view(now).bytes, 0_B);
  EXPECT_EQ(recorder->view(now).span, 0s);
  fs::create_directory(directory.path());
  const std::uint64_t last = ticket;
  call_until(*recorder, [&] { return ticket > last + 200; });
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST_F(RecorderTest, AStateLargerThanAThirdOfTheRingIsRefused) {
  const auto recorder = record({.size = 64_B});
  recorder->begin_slot(now, *master);
  call_until(*recorder, troubled(*recorder, "larger than a third of the 64 B"), 1);
}

}  // namespace
}  // namespace larder::real
