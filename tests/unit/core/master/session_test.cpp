#include "tests/unit/core/master/harness.h"

namespace larder::testing {
namespace {

using namespace std::chrono_literals;

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    h.join();
    h.open(alice);
    h.open(bob);
    h.kept_alive = {alice, bob};
  }
  Ticket numbered(std::uint64_t number, RequestBody body, std::uint64_t lowest = 0) {
    return h.send({.header = {.session = alice, .number = number, .lowest_unanswered = lowest},
                   .body = std::move(body)});
  }
  MasterHarness h;
};

TEST_F(SessionTest, ItIsResumedByItsIdWithItsPuts) {
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k"));
  const auto again = h.value<SessionOpened>(h.call(alice, OpenSession{.tenant = "t"}));
  EXPECT_TRUE(again.resumed);
  EXPECT_EQ(again.epoch, h.master().epoch());
  EXPECT_TRUE(h.answer(h.end(alice, "k", grant.put_id)).has_value());
  EXPECT_FALSE(h.value<SessionOpened>(h.call({3, 3}, OpenSession{.tenant = "t"})).resumed);
  EXPECT_EQ(h.status().sessions, 3u);
}

TEST_F(SessionTest, BadOnesAreRefused) {
  const std::string long_name(257, 'x');
  const auto open = [&](SessionId id, OpenSession body) { return h.error(h.call(id, body)); };
  EXPECT_EQ(open({}, {.tenant = "t"}), ErrorCode::invalid_params);
  EXPECT_EQ(open({3, 3}, {.tenant = ""}), ErrorCode::invalid_params);
  EXPECT_EQ(open({3, 3}, {.tenant = long_name}), ErrorCode::invalid_params);
  EXPECT_EQ(open({3, 3}, {.tenant = "t", .client = long_name}), ErrorCode::invalid_params);
  EXPECT_EQ(open(alice, {.tenant = "other"}), ErrorCode::illegal_client);
  EXPECT_EQ(h.status().sessions, 2u);
}

TEST_F(SessionTest, TenSecondsOfSilenceLoseItAndItsUnfinishedPuts) {
  h.start(alice, "k");
  h.kept_alive = {bob};
  h.pass(10s - 1ns);
  EXPECT_EQ(h.status().unfinished_puts, 1u);
  h.pass(1ns);
  EXPECT_EQ(h.status().unfinished_puts, 0u);
  EXPECT_EQ(h.error(h.get(alice, "k")), ErrorCode::client_not_found);
  EXPECT_FALSE(h.value<SessionOpened>(h.call(alice, OpenSession{.tenant = "t"})).resumed);
}

TEST_F(SessionTest, AnyCallRenewsIt) {
  h.kept_alive = {};
  for (int i = 0; i < 4; ++i) {
    h.pass(9s);
    EXPECT_NE(h.error(h.get(alice, "none")), ErrorCode::client_not_found);
  }
}

TEST_F(SessionTest, ARepeatedCallOnANewConnectionGetsTheLateAnswerThere) {
  h.nodes["n0"].confirms = false;
  h.put(alice, "k");
  const Ticket first = numbered(500, Remove{.items = {{"k"}, {"none"}}});
  EXPECT_EQ(h.error(first, 1), ErrorCode::object_not_found);
  const Ticket second = numbered(500, Remove{.items = {{"k"}, {"none"}}});
  EXPECT_EQ(h.error(second, 1), ErrorCode::object_not_found) << "what is known, at once";
  h.confirm("n0");
  EXPECT_FALSE(h.answered(first, 0));
  EXPECT_TRUE(h.answer(second, 0).has_value());
}

Request four_puts(std::uint64_t number) {
  return {.header = {.session = alice, .number = number},
          .body = PutStart{.items = {{.key = "a", .size = 1000_B},
                                     {.key = "b", .size = 1000_B},
                                     {.key = "c", .size = 1000_B},
                                     {.key = "d", .size = 1000_B}}}};
}

TEST_F(SessionTest, ACallInPiecesGetsTheAnswersOfAWholeOneAndOthersAreServedInBetween) {
  const Request request = four_puts(500);
  const Ticket ticket = h.begin(request);
  h.send_piece(ticket, request, {.first = 0, .end = 3});
  EXPECT_FALSE(h.answered(ticket, 3));
  EXPECT_EQ(h.error(h.start(bob, "a")), ErrorCode::put_in_flight);
  const PutGrant between = h.put(bob, "d");
  h.send_piece(ticket, request, {.first = 3, .end = 4});
  EXPECT_EQ(h.error(ticket, 3), ErrorCode::object_already_exists);
  PutId last{};
  for (std::uint32_t i = 0; i < 3; ++i) {
    const PutGrant grant = h.value<PutGrant>(ticket, i);
    EXPECT_GT(grant.put_id, last);
    EXPECT_NE(grant.put_id, between.put_id);
    EXPECT_EQ(grant.time_allowed, Timing::allowed(4000_B)) << "over the bytes of the whole call";
    last = grant.put_id;
  }
}

TEST_F(SessionTest, ARepeatedCallGoesOnWhereItsPiecesEnded) {
  const Request request = four_puts(500);
  const Ticket first = h.begin(request);
  h.send_piece(first, request, {.first = 0, .end = 2});
  const Ticket second = h.send(request);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(h.answered(first, i), i < 2);
    EXPECT_TRUE(h.answer(second, i).has_value());
  }
  EXPECT_EQ(h.value<PutGrant>(first, 1).put_id, h.value<PutGrant>(second, 1).put_id);
  EXPECT_EQ(h.status().unfinished_puts, 4u);
  // The pieces of the first, should they come after all, begin nothing again.
  h.send_piece(first, request, {.first = 2, .end = 4});
  EXPECT_EQ(h.value<PutGrant>(first, 3).put_id, h.value<PutGrant>(second, 3).put_id);
  EXPECT_EQ(h.status().unfinished_puts, 4u);
}

TEST_F(SessionTest, APieceOfACallOfAFormerLifeBeginsNothing) {
  const Request request = four_puts(500);
  const Ticket ticket = h.begin(request);
  h.send_piece(ticket, request, {.first = 0, .end = 2});
  h.call(alice, CloseSession{});
  h.send_piece(ticket, request, {.first = 2, .end = 3});
  EXPECT_EQ(h.error(ticket, 2), ErrorCode::client_not_found);
  h.open(alice);
  h.send_piece(ticket, request, {.first = 3, .end = 4});
  EXPECT_EQ(h.error(ticket, 3), ErrorCode::busy);
  EXPECT_EQ(h.status().unfinished_puts, 0u);
}

TEST_F(SessionTest, TheLeasesOfACallInPiecesAreGivenBackOnce) {
  h.put(alice, "k");
  const ReplicaList list = h.value<ReplicaList>(h.get(alice, "k"));
  h.get(bob, "k");
  const Request request{
      .header = {.session = alice,
                 .lease_returns = {{list.lease.slot, list.lease.round, list.put_id}}},
      .body = Exists{.items = {{"x"}, {"y"}}}};
  const Ticket ticket = h.begin(request);
  h.send_piece(ticket, request, {.first = 0, .end = 1});
  h.send_piece(ticket, request, {.first = 1, .end = 2});
  EXPECT_TRUE(h.answer(ticket, 1).has_value());
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_has_lease) << "that of bob";
}

TEST_F(SessionTest, ARepeatedNumberOfAnotherLengthIsRefused) {
  numbered(500, Remove{.items = {{"a"}, {"b"}}});
  EXPECT_EQ(h.error(numbered(500, Remove{.items = {{"a"}}})), ErrorCode::invalid_params);
}

TEST_F(SessionTest, ACallThatWasGivenUpIsNotCarriedOutAnyMore) {
  h.put(alice, "k");
  numbered(600, Remove{.items = {{"x"}}}, 600);
  EXPECT_EQ(h.error(numbered(599, Remove{.items = {{"k"}}}, 599)), ErrorCode::cancelled);
  EXPECT_TRUE(h.readable(bob, "k"));
}

TEST_F(SessionTest, TooManyOpenCallsAreBusyUntilSomeAreGivenUp) {
  const std::size_t most = MasterConfig().calls_per_session_max;
  std::uint64_t number = 1000;
  numbered(number, Remove{.items = {{"x"}}}, number);
  for (std::size_t i = 1; i < most; ++i) {
    EXPECT_EQ(h.error(numbered(++number, Remove{.items = {{"x"}}}, 1000)),
              ErrorCode::object_not_found);
  }
  EXPECT_EQ(h.error(numbered(++number, Remove{.items = {{"x"}}}, 1000)), ErrorCode::busy);
  EXPECT_EQ(h.error(numbered(number, Remove{.items = {{"x"}}}, 1001)), ErrorCode::object_not_found);
}

TEST_F(SessionTest, ALateAnswerDoesNotReachTheNextLifeOfTheSession) {
  h.nodes["n0"].confirms = false;
  h.put(alice, "k");
  numbered(500, Remove{.items = {{"k"}}});
  h.call(alice, CloseSession{});
  h.open(alice);
  const Ticket other = numbered(500, Remove{.items = {{"k"}}});
  h.confirm("n0");  // both removals are over; each call has one answer at most
  EXPECT_EQ(h.error(other), ErrorCode::object_not_found);
  const Ticket put = numbered(501, PutStart{.items = {{.key = "k", .size = 10_B}}});
  EXPECT_TRUE(h.answer(put).has_value());
}

TEST_F(SessionTest, WhatAFormerLifeHoldsIsNotChargedToTheNext) {
  h.nodes["n0"].confirms = false;
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k"));
  h.call(alice, CloseSession{});
  h.open(alice);
  const PutGrant second = h.value<PutGrant>(h.start(alice, "j"));
  h.confirm("n0");  // the harness checks what each session holds
  EXPECT_TRUE(h.answer(h.end(alice, "j", second.put_id)).has_value());
  EXPECT_EQ(h.error(h.end(alice, "k", grant.put_id)), ErrorCode::invalid_write);
}

TEST_F(SessionTest, A11NoOrderOfStartEndAndRevokeStopsTheMaster) {
  // Every sequence of five steps of two clients on one key.
  constexpr int steps = 5;
  constexpr int kinds = 8;
  int sequences = 1;
  for (int i = 0; i < steps; ++i) sequences *= kinds;
  h.checks = false;
  for (int sequence = 0; sequence < sequences; sequence += 3) {
    PutId last{{100}, 1};
    for (int code = sequence, i = 0; i < steps; ++i, code /= kinds) {
      const SessionId who = code % 2 == 0 ? alice : bob;
      Ticket ticket = 0;
      switch (code % kinds / 2) {
        case 0:
          ticket = h.start(who, "k", 100_B, i % 2 == 1);
          if (h.answer(ticket).has_value()) last = h.value<PutGrant>(ticket).put_id;
          break;
        case 1:
          ticket = h.end(who, "k", last);
          break;
        case 2:
          ticket = h.call(who, PutRevoke{.items = {{"k", last}}});
          break;
        case 3:
          ticket = h.remove(who, "k", true);
          break;
      }
      ASSERT_TRUE(h.answered(ticket));
    }
    h.remove(alice, "k", true);
    ASSERT_EQ(h.status().free, 1_MiB) << sequence;
  }
  h.master().check_invariants();
}

}  // namespace
}  // namespace larder::testing
