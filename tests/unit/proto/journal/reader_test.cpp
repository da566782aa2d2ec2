#include "proto/journal/reader.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/archive.h"
#include "core/base/hash.h"
#include "tests/support/temporary.h"

namespace larder::journal {
namespace {

using namespace std::chrono_literals;

// A file of calls with frames of 0 to 9 bytes, and where each record begins.
struct Calls {
  Calls() {
    FileHeader header{.kind = FileKind::calls, .slot = 3, .epoch = {9}, .begins = Time{1s}};
    header.checksum = checksum_of(header);
    bytes = bytes_of(header);
    std::string records;
    for (std::uint64_t i = 0; i < 10; ++i) {
      starts.push_back(bytes.size() + records.size());
      append({.kind = RecordKind::request, .now = Time{1s} + Duration(i), .effects = i * i},
             bytes_of(RequestPart{.ticket = i}), std::string(i, 'x'), records);
    }
    seal(records);
    bytes += records;
  }
  std::string bytes;
  std::vector<std::size_t> starts;
};

// How many of the records can be read, and whether they are the ones that were written.
std::size_t whole_records(CallsReader& reader) {
  std::size_t count = 0;
  while (const Record* record = reader.next()) {
    EXPECT_EQ(record->header.kind, RecordKind::request);
    EXPECT_EQ(record->request.ticket, count);
    EXPECT_EQ(record->header.now, Time{1s} + Duration(static_cast<std::int64_t>(count)));
    EXPECT_EQ(record->header.effects, count * count);
    EXPECT_EQ(record->frame.size(), count);
    ++count;
  }
  return count;
}

TEST(CallsReader, ReadsWhatIsWholeOfAFileThatIsCutAtAnyByte) {
  const TemporaryDirectory directory;
  const Calls calls;
  for (std::size_t length = 0; length <= calls.bytes.size(); ++length) {
    const auto path = directory.file("00000003.calls", calls.bytes.substr(0, length));
    auto reader = CallsReader::open(path);
    if (length < sizeof(FileHeader)) {
      ASSERT_FALSE(reader.has_value()) << length;
      EXPECT_EQ(reader.error().code(), ErrorCode::bad_file);
      continue;
    }
    ASSERT_TRUE(reader.has_value()) << reader.error().message();
    std::size_t whole = 0;
    while (whole < calls.starts.size()) {
      const std::size_t end =
          whole + 1 < calls.starts.size() ? calls.starts[whole + 1] : calls.bytes.size();
      if (end > length) break;
      ++whole;
    }
    const std::size_t end = whole < calls.starts.size() ? calls.starts[whole] : calls.bytes.size();
    EXPECT_EQ(whole_records(*reader), whole) << length;
    ASSERT_EQ(reader->cut().has_value(), length > end) << length;
    if (reader->cut()) {
      EXPECT_EQ(reader->cut()->offset, end);
      EXPECT_EQ(reader->cut()->bytes, length - end);
    }
  }
}

TEST(CallsReader, NoRecordIsOfATimeThatCannotBe) {
  const TemporaryDirectory directory;
  for (const Time second : {Time{999ms}, Time{std::chrono::years(101)}, Time::min(), Time::max()}) {
    Calls calls;
    calls.bytes.resize(calls.starts[1]);
    std::string record;
    append({.kind = RecordKind::tick, .now = second}, {}, {}, record);
    seal(record);
    auto reader = CallsReader::open(directory.file("00000003.calls", calls.bytes + record));
    ASSERT_TRUE(reader.has_value()) << reader.error().message();
    EXPECT_EQ(whole_records(*reader), 1u);
    ASSERT_TRUE(reader->cut());
    EXPECT_EQ(reader->cut()->why, "a record is of a time that cannot be");
  }
  for (const Time begins : {Time{-1ns}, Time{std::chrono::years(101)}}) {
    FileHeader header{.kind = FileKind::calls, .slot = 3, .epoch = {9}, .begins = begins};
    header.checksum = checksum_of(header);
    const auto reader =
        CallsReader::open(directory.file("00000003.calls", std::string(bytes_of(header))));
    ASSERT_FALSE(reader.has_value());
    EXPECT_NE(reader.error().message().find("a time that cannot be"), std::string::npos);
  }
}

TEST(CallsReader, ReadsNothingFromADamagedRecordOn) {
  const TemporaryDirectory directory;
  const Calls calls;
  for (std::size_t at = 0; at < calls.bytes.size(); ++at) {
    std::string bytes = calls.bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    auto reader = CallsReader::open(directory.file("00000003.calls", bytes));
    if (at < sizeof(FileHeader)) {
      ASSERT_FALSE(reader.has_value()) << at;
      continue;
    }
    ASSERT_TRUE(reader.has_value());
    const auto after = std::ranges::upper_bound(calls.starts, at);
    const auto damaged = static_cast<std::size_t>(after - calls.starts.begin()) - 1;
    EXPECT_EQ(whole_records(*reader), damaged) << at;
    EXPECT_TRUE(reader->cut().has_value()) << at;
  }
}

std::string state_file(const Master& master, Time now) {
  FileHeader header{.kind = FileKind::state, .slot = 3, .epoch = master.epoch(), .begins = now};
  header.checksum = checksum_of(header);
  std::string state;
  Archive archive([&](std::span<const std::byte> piece) {
    state.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  master.save(archive);
  StateTrailer trailer{.length = state.size(), .digest = master.digest(now)};
  state.append(bytes_of(trailer).substr(0, offsetof(StateTrailer, checksum)));
  trailer.checksum = checksum(std::as_bytes(std::span(state)));
  return std::string(bytes_of(header)) + state +
         std::string(bytes_of(trailer).substr(offsetof(StateTrailer, checksum)));
}

TEST(StateFile, GivesTheMasterThatWasSavedOrSaysWhatIsWrong) {
  const TemporaryDirectory directory;
  const Time now{5s};
  const auto master = Master::make(now, {}, {.epoch = {9}, .instance = {1, 2}}, {}).value();
  const std::string bytes = state_file(*master, now);
  const auto read = [&](const std::string& content) {
    return read_state(directory.file("00000003.state", content));
  };
  const auto whole = read(bytes);
  ASSERT_TRUE(whole.has_value()) << whole.error().message();
  const auto loaded = whole->load();
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ((*loaded)->digest(now), whole->digest);
  EXPECT_EQ((*loaded)->epoch(), Epoch{9});
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_FALSE(read(damaged).has_value()) << at;
    EXPECT_FALSE(read(bytes.substr(0, at)).has_value()) << at;
  }
}

// A master with something of everything: a node, a session, a group with pins, an unfinished put.
std::string state_of_much() {
  struct Sink final : AnswerSink {
    void answer(Ticket, std::uint32_t index, const Answer& given) override {
      EXPECT_TRUE(given) << given.error().message();
      if (const auto* grant = std::get_if<PutGrant>(&*given)) ids[index] = grant->put_id;
    }
    std::array<PutId, 2> ids;
  };
  Sink sink;
  const Time now{5s};
  MasterEffects effects{sink};
  MasterConfig config;
  config.policy = "lru";
  const MasterState state{
      .durable = true, .recovered_epoch = {8}, .known = {{{4, 4}, "n4"}}, .lost = {{5, 5}}};
  const auto master = Master::make(now, config, {.epoch = {9}, .instance = {1, 2}}, state).value();
  std::uint64_t number = 0;
  const auto call = [&](RequestBody body) {
    ++number;
    master->apply(now, number,
                  {.header = {.session = {1, 1}, .number = number, .lowest_unanswered = number},
                   .body = std::move(body)},
                  effects);
    effects.clear();
  };
  call(RegisterNode{.incarnation = {2, 2},
                    .registration = 1,
                    .taken_epoch = {7},
                    .name = "n",
                    .endpoint = "e",
                    .host = "h",
                    .segments = {{.id = {3, 3}, .name = "s", .size = 1_MiB}}});
  call(ReportInventory{.incarnation = {2, 2}, .registration = 1, .last = true});
  call(OpenSession{.tenant = "t"});
  call(PutStart{
      .items = {{.key = "a", .size = 100_B, .group = "g", .soft_pin = 5s, .time_to_live = 9s},
                {.key = "b", .size = 4_KiB, .parent = "a", .hard_pin = true}}});
  call(PutEnd{.items = {{.key = "a", .put_id = sink.ids[0], .sealed = 1, .checksum = 7}}});
  std::string bytes;
  Archive archive([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  master->save(archive);
  return bytes;
}

// A program that reads another layout than was written would take the one for the other. If this
// fails and the state holds the same things as before, only the number here is to be changed; else
// journal::version is to be raised with it.
TEST(StateFile, AnotherLayoutHasAnotherVersion) {
  EXPECT_EQ(version, 3u);
  const std::string bytes = state_of_much();
  EXPECT_EQ(checksum(std::as_bytes(std::span(bytes))), 5365371848593857452u)
      << bytes.size() << " bytes";
}

TEST(Ring, SaysWhatADirectoryIsThatHoldsNone) {
  const TemporaryDirectory directory;
  const auto missing = open_ring(directory.path() / "nowhere");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code(), ErrorCode::file_open_fail);
  directory.file("notes.txt", "of somebody else");
  const auto foreign = open_ring(directory.path());
  ASSERT_FALSE(foreign.has_value());
  EXPECT_EQ(foreign.error().code(), ErrorCode::bad_file);
  EXPECT_NE(foreign.error().message().find("--record"), std::string::npos);
}

TEST(Ring, IsInTheOrderOfItsSlots) {
  const TemporaryDirectory directory;
  for (const char* name : {"00000010.calls", "00000009.calls", "00000010.state", "lock"}) {
    directory.file(name, "x");
  }
  const auto ring = open_ring(directory.path());
  ASSERT_TRUE(ring.has_value());
  ASSERT_EQ(ring->size(), 2u);
  EXPECT_EQ((*ring)[0].number, 9u);
  EXPECT_FALSE((*ring)[0].state.has_value());
  EXPECT_TRUE((*ring)[1].state.has_value());
  EXPECT_EQ((*ring)[1].bytes, 2_B);
}

}  // namespace
}  // namespace larder::journal
