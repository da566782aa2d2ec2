#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "core/base/archive.h"
#include "core/base/hash.h"
#include "sim/incident/incident_replay.h"
#include "sim/incident/key_story.h"
#include "sim/incident/wall_clock.h"
#include "sim/incident/what_if.h"
#include "tests/support/temporary.h"

namespace larder::sim {
namespace {

using namespace std::chrono_literals;
using journal::FileHeader;
using journal::FileKind;
using journal::RecordKind;

constexpr SessionId writer{1, 1};
constexpr IncarnationId incarnation{2, 1};
constexpr SegmentId segment{3, 1};
constexpr std::int64_t wall_ns = 1'800'000'000'000'000'000;  // 2027-01-15 08:00:00 UTC

// A master whose calls are written down as a recorder does it, with the files in memory.
class Recorded final : AnswerSink {
 public:
  Recorded() : effects_(*this) {
    MasterConfig config;
    config.quarantine_bytes_min = 1_TiB;
    config.timing.lease = 200ms;
    config.timing.exists_lease = 100ms;
    master_ = Master::make(now, config, {.epoch = {9}, .instance = {1, 2}}, {}).value();
    begin_slot();
    call({}, RegisterNode{.incarnation = incarnation,
                          .registration = 1,
                          .name = "n0",
                          .endpoint = "n0:1",
                          .host = "h",
                          .segments = {{.id = segment, .name = "s", .size = 64_KiB}}});
    call({}, ReportInventory{.incarnation = incarnation, .registration = 1, .last = true});
    call(writer, OpenSession{.tenant = "t", .client = "engine"});
  }

  void call(SessionId session, RequestBody body) {
    now += 1ms;
    Request request{.header = {.session = session}, .body = std::move(body)};
    if (session) request.header.number = request.header.lowest_unanswered = ++number_;
    std::string frame;
    encode(request, frame);
    ++ticket_;
    append({.kind = RecordKind::request, .now = now},
           journal::bytes_of(journal::RequestPart{.ticket = ticket_}), frame);
    master_->apply(now, ticket_, request, effects_);
    take();
    ticks();
  }
  // All of a put, and the confirmations of what it evicts.
  void put(const std::string& key, Bytes size = 4_KiB) {
    granted_.reset();
    call(writer, PutStart{.items = {{.key = key, .size = size}}});
    confirm();
    if (!granted_) return;
    call(writer, PutEnd{.items = {{.key = key, .put_id = *granted_, .sealed = 1, .checksum = 1}}});
    confirm();
  }
  bool get(const std::string& key) {
    found_ = false;
    call(writer, GetReplicaList{.items = {{.key = key}}});
    return found_;
  }
  void pass(Duration duration) {
    for (const Time end = now + duration; now < end;) {
      now += 99ms;
      call({}, Heartbeat{.incarnation = incarnation, .registration = 1});
      call(writer, KeepAlive{});
    }
  }

  void begin_slot() {
    if (slot_ > 0)
      append({.kind = RecordKind::end, .now = now}, journal::bytes_of(journal::EndPart{}), {});
    write();
    ++slot_;
    digest_ = {};
    records_.clear();
    header_ = {.kind = FileKind::state,
               .slot = slot_,
               .epoch = {9},
               .begins = now,
               .wall_clock_ns = wall_ns + (now - Time{1h}).count()};
    header_.checksum = journal::checksum_of(header_);
    std::string state;
    Archive archive([&](std::span<const std::byte> piece) {
      state.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    master_->save(archive);
    journal::StateTrailer trailer{.length = state.size(), .digest = master_->digest(now)};
    state.append(journal::bytes_of(trailer).substr(0, 16));
    trailer.checksum = checksum(std::as_bytes(std::span(state)));
    directory.file(journal::file_name(slot_, ".state"),
                   std::string(journal::bytes_of(header_)) + state +
                       std::string(journal::bytes_of(trailer).substr(16)));
  }
  void write() {
    if (slot_ == 0) return;
    header_.kind = FileKind::calls;
    header_.checksum = journal::checksum_of(header_);
    journal::seal(records_);
    directory.file(journal::file_name(slot_, ".calls"),
                   std::string(journal::bytes_of(header_)) + records_);
  }
  void append(journal::RecordHeader header, std::string_view part, std::string_view frame) {
    header.effects = digest_.value();
    starts.push_back(records_.size());
    journal::append(header, part, frame, records_);
  }
  std::string& records() { return records_; }
  const Master& master() const { return *master_; }

  IncidentSummary replay(IncidentObserver& observer) {
    write();
    auto summary = IncidentReplay(journal::open_ring(directory.path()).value(), observer).run({});
    EXPECT_TRUE(summary.has_value()) << summary.error().message();
    return summary ? *summary : IncidentSummary{};
  }
  IncidentSummary replay() {
    IncidentObserver nobody;
    return replay(nobody);
  }

  const TemporaryDirectory directory;
  Time now{1h};
  std::vector<std::size_t> starts;  // of records, in the present slot's file

 private:
  void answer(Ticket ticket, std::uint32_t index, const Answer& given) override {
    digest_.add(ticket, index, given);
    if (!given) return;
    if (const auto* grant = std::get_if<PutGrant>(&*given)) granted_ = grant->put_id;
    if (std::holds_alternative<ReplicaList>(*given)) found_ = true;
  }
  void take() {
    digest_.add(effects_);
    for (const Command& command : effects_.commands) {
      const auto* retire = std::get_if<RetireExtents>(&command.body);
      if (retire == nullptr) continue;
      asked_.insert(asked_.end(), retire->extents.begin(), retire->extents.end());
    }
    effects_.clear();
  }
  void ticks() {
    for (auto due = master_->next_deadline(); due && *due <= now; due = master_->next_deadline()) {
      append({.kind = RecordKind::tick, .now = now}, {}, {});
      master_->tick(now, effects_);
      take();
    }
  }
  void confirm() {
    while (!asked_.empty()) {
      call({}, ConfirmRetirement{.incarnation = incarnation,
                                 .registration = 1,
                                 .retired = std::exchange(asked_, {})});
    }
  }

  MasterEffects effects_;
  std::unique_ptr<Master> master_;
  EffectsDigest digest_;
  FileHeader header_;
  std::uint64_t slot_ = 0;
  std::uint64_t number_ = 0;
  Ticket ticket_ = 0;
  std::string records_;
  std::optional<PutId> granted_;
  bool found_ = false;
  std::vector<ExtentName> asked_;
};

// More than fits, so that the first ones are evicted.
void fill(Recorded& recorded) {
  for (int i = 0; i < 40; ++i) {
    recorded.put("key/" + std::to_string(i));
    if (i % 10 == 9) recorded.pass(1s);
  }
}

TEST(Incident, OfAnUnalteredRecordingIsTheSameInEveryDigest) {
  Recorded recorded;
  fill(recorded);
  recorded.begin_slot();
  fill(recorded);
  const IncidentSummary summary = recorded.replay();
  EXPECT_TRUE(summary.same()) << summary.divergence->where << summary.divergence->what;
  EXPECT_EQ(summary.states_compared, 1u);
  EXPECT_TRUE(summary.breaks.empty());
  EXPECT_EQ(summary.objects_last, recorded.master().status(recorded.now).objects);
  EXPECT_EQ(summary.objects_first, 0u);
  EXPECT_GT(summary.by_kind.at("PutStart"), 40u);
}

TEST(Incident, NamesTheFirstCallThatIsAnsweredInAnotherWay) {
  Recorded recorded;
  recorded.put("a");
  recorded.put("second");
  const std::size_t altered = recorded.starts.size();
  EXPECT_TRUE(recorded.get("second"));
  recorded.put("c");
  // The get asks for another key than the recorded master was asked for.
  const std::size_t at = recorded.starts[altered];
  const std::size_t key = recorded.records().find("second", at);
  ASSERT_NE(key, std::string::npos);
  recorded.records()[key] = 'x';
  const IncidentSummary summary = recorded.replay();
  ASSERT_TRUE(summary.divergence.has_value());
  EXPECT_NE(summary.divergence->where.find("GetReplicaList"), std::string::npos)
      << summary.divergence->where;
  EXPECT_NE(summary.divergence->where.find("00000001.calls byte " +
                                           std::to_string(at + sizeof(FileHeader))),
            std::string::npos)
      << summary.divergence->where;
}

TEST(Incident, GoesOnFromTheNextStateBehindAGapAndSaysSo) {
  Recorded recorded;
  recorded.put("a");
  recorded.append({.kind = RecordKind::gap, .now = recorded.now},
                  journal::bytes_of(journal::GapPart{.calls = 17}), {});
  recorded.begin_slot();
  recorded.put("b");
  const IncidentSummary summary = recorded.replay();
  EXPECT_TRUE(summary.same());
  ASSERT_EQ(summary.breaks.size(), 1u);
  EXPECT_NE(summary.breaks[0].find("17 calls"), std::string::npos);
  EXPECT_EQ(summary.by_kind.at("PutEnd"), 2u);
}

TEST(Incident, GoesOnWithoutAStateThatWasNeverWhole) {
  Recorded recorded;
  recorded.put("a");
  recorded.begin_slot();
  recorded.put("b");
  recorded.write();
  std::filesystem::remove(recorded.directory.path() / "00000002.state");
  const IncidentSummary summary = recorded.replay();
  EXPECT_TRUE(summary.same());
  EXPECT_TRUE(summary.breaks.empty());
  EXPECT_EQ(summary.by_kind.at("PutEnd"), 2u);
}

TEST(Incident, NamesAStateThatIsNotTheOneToWhichTheCallsLead) {
  Recorded recorded;
  recorded.put("a");
  recorded.begin_slot();
  recorded.put("b");
  recorded.write();
  Recorded other;
  other.put("z");
  other.begin_slot();
  other.write();
  std::filesystem::copy_file(other.directory.path() / "00000002.state",
                             recorded.directory.path() / "00000002.state",
                             std::filesystem::copy_options::overwrite_existing);
  const IncidentSummary summary = recorded.replay();
  ASSERT_TRUE(summary.divergence.has_value());
  EXPECT_EQ(summary.divergence->where, "00000002.state");
}

TEST(Story, OfAKeyTellsWhoPutReadAndEvictedIt) {
  Recorded recorded;
  recorded.put("key/0");
  EXPECT_TRUE(recorded.get("key/0"));
  EXPECT_TRUE(recorded.get("key/0"));
  recorded.pass(1s);
  for (int i = 1; i < 40; ++i) recorded.put("key/" + std::to_string(i));
  KeyStory story({.key = "key/0"});
  recorded.replay(story);
  const std::string text = to_text(story.lines());
  EXPECT_NE(text.find("engine    put of key/0, 4.00 KiB: put #1 has room on n0"), std::string::npos)
      << text;
  EXPECT_NE(text.find("end of put #1 of key/0: COMPLETE"), std::string::npos) << text;
  EXPECT_NE(text.find("get of key/0: put #1 on n0; lease 200ms (2 times, until 08:00:00."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("master    key/0 is evicted"), std::string::npos) << text;
  EXPECT_NE(text.find("asks n0 to retire put #1"), std::string::npos) << text;
  EXPECT_NE(text.find("n0        has retired put #1"), std::string::npos) << text;
  EXPECT_EQ(text.find("key/1"), std::string::npos) << text;
}

TEST(Story, BeginsWithWhatTheKeyWasWhenTheRecordingBegan) {
  Recorded recorded;
  recorded.put("a");
  recorded.begin_slot();
  std::filesystem::remove(recorded.directory.path() / "00000001.state");
  std::filesystem::remove(recorded.directory.path() / "00000001.calls");
  EXPECT_TRUE(recorded.get("a"));
  KeyStory story({.key = "a"});
  recorded.replay(story);
  const std::string text = to_text(story.lines());
  EXPECT_NE(text.find("has put #1 of a, complete, 4.00 KiB on n0"), std::string::npos) << text;
  EXPECT_NE(text.find("get of a: put #1 on n0"), std::string::npos) << text;
}

WhatIf::Outcome ask(Recorded& recorded, WhatIf::Question question) {
  WhatIf what_if(std::move(question));
  recorded.replay(what_if);
  auto outcome = what_if.outcome();
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message();
  return outcome ? *outcome : WhatIf::Outcome{};
}

TEST(WhatIf, WithTheSameSettingsIsWhatHappened) {
  Recorded recorded;
  fill(recorded);
  for (int i = 0; i < 40; ++i) recorded.get("key/" + std::to_string(i));
  const WhatIf::Outcome outcome = ask(recorded, {});
  EXPECT_EQ(outcome.recorded.gets, 40u);
  EXPECT_GT(outcome.recorded.evicted_objects, 10u);
  EXPECT_EQ(outcome.other.hits, outcome.recorded.hits);
  EXPECT_EQ(outcome.other.evicted_objects, outcome.recorded.evicted_objects);
  EXPECT_EQ(outcome.only_recorded_hits + outcome.only_other_hits, 0u);
  EXPECT_FALSE(outcome.first.has_value());
}

TEST(WhatIf, ALargerPoolWouldHaveKeptWhatWasEvicted) {
  Recorded recorded;
  fill(recorded);
  for (int i = 0; i < 40; ++i) recorded.get("key/" + std::to_string(i));
  const WhatIf::Outcome outcome = ask(recorded, {.change = {.memory_factor = 8}});
  EXPECT_EQ(outcome.other.evicted_objects, 0u);
  EXPECT_EQ(outcome.other.hits, 40u);
  EXPECT_EQ(outcome.only_other_hits, 40 - outcome.recorded.hits);
  ASSERT_TRUE(outcome.first.has_value());
  EXPECT_NE(outcome.first->what.find("key/0 missed it, and would have found it"),
            std::string::npos);
}

TEST(WhatIf, ASmallerPoolWouldHaveKeptLess) {
  Recorded recorded;
  fill(recorded);
  for (int i = 0; i < 40; ++i) recorded.get("key/" + std::to_string(i));
  const WhatIf::Outcome outcome = ask(recorded, {.change = {.memory_factor = 0.5}});
  EXPECT_GT(outcome.other.evicted_objects, outcome.recorded.evicted_objects);
  EXPECT_LT(outcome.other.hits, outcome.recorded.hits);
  EXPECT_GT(outcome.only_recorded_hits, 0u);
}

// What is read again and again stays under leaf-first, and goes first under fifo.
TEST(WhatIf, AnotherPolicyWouldHaveEvictedOthers) {
  Recorded recorded;
  recorded.put("hot");
  std::uint64_t hits = 0;
  for (int i = 0; i < 40; ++i) {
    recorded.put("key/" + std::to_string(i));
    hits += recorded.get("hot") ? 1 : 0;
    recorded.pass(300ms);
  }
  ASSERT_EQ(hits, 40u);
  const WhatIf::Outcome outcome = ask(recorded, {.change = {.policy = "fifo"}});
  EXPECT_EQ(outcome.recorded.hits, 40u);
  EXPECT_LT(outcome.other.hits, 20u);
}

TEST(WhatIf, SaysWhatCannotBe) {
  Recorded recorded;
  fill(recorded);
  WhatIf unknown({.change = {.policy = "unheard-of"}});
  recorded.replay(unknown);
  ASSERT_FALSE(unknown.outcome().has_value());
  EXPECT_EQ(unknown.outcome().error().code(), ErrorCode::invalid_params);
  WhatIf late({.at_ns = wall_ns + 3'600'000'000'000});
  recorded.replay(late);
  ASSERT_FALSE(late.outcome().has_value());
  EXPECT_NE(late.outcome().error().message().find("--at"), std::string::npos);
}

TEST(Moment, IsATimeOfDayADateOrADistance) {
  EXPECT_EQ(wall_clock_text(wall_ns), "2027-01-15 08:00:00.000000 UTC");
  EXPECT_EQ(parse_moment("08:03", wall_ns).value(), wall_ns + 180'000'000'000);
  EXPECT_EQ(parse_moment("08:00:07.25", wall_ns).value(), wall_ns + 7'250'000'000);
  EXPECT_EQ(parse_moment("07:59", wall_ns).value(), wall_ns + 86'340'000'000'000) << "of tomorrow";
  EXPECT_EQ(parse_moment("2027-01-15 08:01", wall_ns).value(), wall_ns + 60'000'000'000);
  EXPECT_EQ(parse_moment("+12.5s", wall_ns).value(), wall_ns + 12'500'000'000);
  for (const char* wrong :
       {"", "8:03", "25:00", "08:60", "08:03:", "2027-13-01 08:00", "+x", "now"}) {
    EXPECT_FALSE(parse_moment(wrong, wall_ns).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace larder::sim
