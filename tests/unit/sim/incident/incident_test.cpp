#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/incident/key_story.h"
#include "sim/incident/wall_clock.h"
#include "sim/incident/what_if.h"
#include "tests/recording/recorded.h"

namespace larder::sim {
namespace {

using namespace std::chrono_literals;

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

// With the file of a slot as `change` leaves it.
template <class Change>
IncidentSummary replay_changed(Recorded& recorded, const std::string& name, Change&& change) {
  recorded.write();
  const std::filesystem::path path = recorded.directory.path() / name;
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  change(bytes);
  recorded.directory.file(name, bytes);
  IncidentObserver nobody;
  auto summary =
      IncidentReplay(journal::open_ring(recorded.directory.path()).value(), nobody).run({});
  EXPECT_TRUE(summary.has_value()) << summary.error().message();
  return summary ? *summary : IncidentSummary{};
}

TEST(Incident, ATornLastRecordOfAMasterThatWasKilledIsNoDamage) {
  Recorded recorded;
  recorded.put("a");
  recorded.put("b");
  const std::size_t last = recorded.starts.back();
  std::size_t left = 0;
  const IncidentSummary summary =
      replay_changed(recorded, "00000001.calls", [&](std::string& bytes) {
        bytes.resize(bytes.size() - 3);
        left = bytes.size() - sizeof(FileHeader) - last;
      });
  EXPECT_TRUE(summary.same());
  EXPECT_TRUE(summary.damages.empty()) << summary.damages.front();
  ASSERT_EQ(summary.breaks.size(), 1u);
  EXPECT_NE(summary.breaks[0].find("the last record is torn, " + std::to_string(left) +
                                   " bytes left out"),
            std::string::npos)
      << summary.breaks[0];
  EXPECT_EQ(summary.left_out, 0_B);
}

TEST(Incident, AFlippedByteIsDamageAndWhatFollowsIsLeftOut) {
  Recorded recorded;
  recorded.put("a");
  recorded.put("b");
  const std::size_t third = recorded.starts[2] + sizeof(FileHeader);
  for (const std::size_t of_record : {0u, 3u, 8u, 20u}) {  // its length, low and high; sum; time
    std::size_t size = 0;
    const IncidentSummary summary =
        replay_changed(recorded, "00000001.calls", [&](std::string& bytes) {
          size = bytes.size();
          bytes[third + of_record] = static_cast<char>(bytes[third + of_record] ^ 0x40);
        });
    ASSERT_EQ(summary.damages.size(), 1u) << of_record;
    EXPECT_NE(summary.damages[0].find("00000001.calls byte " + std::to_string(third) +
                                      ": a record is damaged"),
              std::string::npos)
        << summary.damages[0];
    EXPECT_EQ(summary.left_out.value, size - third);
    EXPECT_EQ(summary.calls, 2u);
  }
}

TEST(Incident, ATornRecordBeforeTheLastFileOfALifeIsDamage) {
  Recorded recorded;
  recorded.put("a");
  recorded.begin_slot();
  recorded.put("b");
  const IncidentSummary summary = replay_changed(
      recorded, "00000001.calls", [](std::string& bytes) { bytes.resize(bytes.size() - 3); });
  EXPECT_EQ(summary.damages.size(), 1u);
  EXPECT_GT(summary.left_out, 0_B);
  EXPECT_EQ(summary.by_kind.at("PutEnd"), 2u) << "the second slot's state goes on";
}

TEST(Incident, ADamagedStateIsNotComparedAndTheCallsGoOn) {
  Recorded recorded;
  recorded.put("a");
  recorded.begin_slot();
  recorded.put("b");
  std::size_t size = 0;
  const IncidentSummary summary =
      replay_changed(recorded, "00000002.state", [&](std::string& bytes) {
        size = bytes.size();
        bytes[size / 2] = static_cast<char>(bytes[size / 2] ^ 1);
      });
  EXPECT_TRUE(summary.same());
  ASSERT_EQ(summary.damages.size(), 1u);
  EXPECT_NE(summary.damages[0].find("00000002.state"), std::string::npos) << summary.damages[0];
  EXPECT_EQ(summary.left_out.value, size);
  EXPECT_EQ(summary.states_compared, 0u);
  EXPECT_EQ(summary.by_kind.at("PutEnd"), 2u);
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
  EXPECT_NE(text.find("engine    put of key/0, 4.00 KiB: put 9-1 has room on n0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("end of put 9-1 of key/0: COMPLETE"), std::string::npos) << text;
  EXPECT_NE(text.find("get of key/0: put 9-1 on n0; lease 200 ms (2 times, until 08:00:00."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("master    key/0 is evicted: the p"), std::string::npos) << text;
  EXPECT_NE(text.find("asks n0 to retire put 9-1"), std::string::npos) << text;
  EXPECT_NE(text.find("n0        has retired put 9-1"), std::string::npos) << text;
  EXPECT_EQ(text.find("key/1"), std::string::npos) << text;
}

TEST(Story, SaysWhyAKeyWasEvicted) {
  Recorded recorded;
  for (int i = 0; i < 40; ++i) recorded.put("key/" + std::to_string(i));
  KeyStory waits({.key = "key/0"});
  recorded.replay(waits);
  const std::string text = to_text(waits.lines());
  const bool by_mark =
      text.find("the pool was fuller than its high watermark, 95 %; policy leaf-first") !=
      std::string::npos;
  const bool by_put =
      text.find(", 4.00 KiB, by engine waits for room; policy leaf-first") != std::string::npos;
  EXPECT_TRUE(by_mark || by_put) << text;

  // What is larger than what is free waits, and is named.
  Recorded large;
  large.put("small");
  large.pass(1s);
  large.put("large", 60_KiB);
  KeyStory story({.key = "small"});
  large.replay(story);
  EXPECT_NE(to_text(story.lines())
                .find("small is evicted: the put of large, 60.00 KiB, by engine waits for room; "
                      "policy leaf-first"),
            std::string::npos)
      << to_text(story.lines());
}

TEST(Story, SaysWhyWhatAWriterLeftIsRetired) {
  for (const bool closes : {true, false}) {
    Recorded recorded;
    recorded.call(writer, PutStart{.items = {{.key = "left", .size = 4_KiB}}});
    if (closes) {
      recorded.call(writer, CloseSession{});
    } else {
      for (int i = 0; i < 200; ++i) {
        recorded.now += 99ms;
        recorded.call({}, Heartbeat{.incarnation = incarnation, .registration = 1});
      }
    }
    KeyStory story({.key = "left"});
    recorded.replay(story);
    const std::string text = to_text(story.lines());
    EXPECT_NE(text.find(std::string("asks n0 to retire put 9-1: the session of its writer, engine, "
                                    "ended: ") +
                        (closes ? "it was closed" : "nothing was heard of it for 5.0 s")),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("it must end within 10.0 s"), std::string::npos) << text;
  }
}

// What the removal waited for is the answer to the put then.
TEST(Story, OfACallThatBearsTheNumberOfAnOpenOneOfAnotherKindIsNotTold) {
  Recorded recorded;
  recorded.put("removed");
  recorded.call(writer, Remove{.items = {{.key = "removed"}}, .force = true});
  recorded.call_again(writer, PutStart{.items = {{.key = "again", .size = 4_KiB}}});
  recorded.confirm();
  KeyStory of_put({.key = "again"});
  EXPECT_TRUE(recorded.replay(of_put).same());
  EXPECT_EQ(to_text(of_put.lines()).find("has room on"), std::string::npos);
  KeyStory of_removal({.key = "removed"});
  EXPECT_TRUE(recorded.replay(of_removal).same());
  EXPECT_NE(to_text(of_removal.lines()).find("has retired put 9-1"), std::string::npos)
      << to_text(of_removal.lines());
}

TEST(Story, KnowsNothingOfAKeyThatNobodyNamed) {
  Recorded recorded;
  recorded.put("a");
  KeyStory story({.key = "b"});
  recorded.replay(story);
  EXPECT_FALSE(story.knows());
  KeyStory known({.key = "a"});
  recorded.replay(known);
  EXPECT_TRUE(known.knows());
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
  EXPECT_NE(text.find("has put 9-1 of a, complete, 4.00 KiB on n0"), std::string::npos) << text;
  EXPECT_NE(text.find("get of a: put 9-1 on n0"), std::string::npos) << text;
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
  EXPECT_EQ(outcome.recorded.policy, "leaf-first");
  EXPECT_EQ(outcome.other.policy, "leaf-first");
  EXPECT_EQ(outcome.recorded.lease, 200ms);
  EXPECT_EQ(outcome.recorded.memory, 64_KiB);
  EXPECT_EQ(outcome.other.memory, 64_KiB);
}

TEST(WhatIf, NamesBothSettings) {
  Recorded recorded;
  fill(recorded);
  const WhatIf::Outcome smaller =
      ask(recorded, {.change = {.policy = "fifo", .lease = 300ms, .memory_factor = 0.5}});
  EXPECT_EQ(smaller.recorded.policy, "leaf-first");
  EXPECT_EQ(smaller.other.policy, "fifo");
  EXPECT_EQ(smaller.recorded.lease, 200ms);
  EXPECT_EQ(smaller.other.lease, 300ms);
  EXPECT_EQ(smaller.recorded.memory, 64_KiB);
  EXPECT_EQ(smaller.other.memory, 32_KiB);
  EXPECT_EQ(ask(recorded, {.change = {.memory_factor = 2}}).other.memory, 128_KiB);
  EXPECT_EQ(smaller.next_begin_ns, 0);
}

TEST(WhatIf, SaysWhereTheRecordingGoesOn) {
  Recorded recorded;
  recorded.put("a");
  recorded.append({.kind = RecordKind::gap, .now = recorded.now},
                  journal::bytes_of(journal::GapPart{.calls = 17}), {});
  recorded.pass(1s);
  recorded.begin_slot();
  const std::int64_t goes_on = wall_ns + (recorded.now - Time{1h}).count();
  recorded.put("b");
  const WhatIf::Outcome outcome = ask(recorded, {});
  EXPECT_FALSE(outcome.stopped.empty());
  EXPECT_EQ(outcome.next_begin_ns, goes_on);
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

TEST(TimeText, IsForPeople) {
  EXPECT_EQ(time_text(10'020'971'520ns), "10.0 s");
  EXPECT_EQ(time_text(200ms), "200 ms");
  EXPECT_EQ(time_text(1500us), "1.5 ms");
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
