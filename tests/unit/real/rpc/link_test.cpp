#include "tests/unit/real/rpc/harness.h"

namespace larder::real {
namespace {

TEST_F(LinkTest, EachItemOfACallIsAnsweredInOrder) {
  FakeMaster master(loop);
  ClientLink link(loop, config_for(master));
  const auto reply = call(link, Request{.body = Exists{.items = {{"yes"}, {"no"}, {"yet"}}}});
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->epoch, Epoch{7});
  ASSERT_EQ(reply->answers.size(), 3u);
  EXPECT_TRUE(std::get<Existence>(*reply->answers[0]).exists);
  EXPECT_FALSE(std::get<Existence>(*reply->answers[1]).exists);
  EXPECT_TRUE(std::get<Existence>(*reply->answers[2]).exists);
}

TEST_F(LinkTest, CallsArePipelinedAndAnsweredInAnyOrderAndInParts) {
  FakeMaster master(loop);
  master.answer_at_once = false;
  ClientLink link(loop, config_for(master));
  const Request two{.body = Exists{.items = {{"y"}, {"y"}}}};
  auto first = link.call(two, loop.now() + 10s);
  auto second = link.call(keep_alive, loop.now() + 10s);
  first.start();
  second.start();
  serve([&] { return master.asked.size() == 2; });
  const Ticket ticket = master.asked[0].ticket;
  master.asked.pop_front();
  master.answer_next();  // the second call
  serve([&] { return second.done(); });
  EXPECT_FALSE(first.done());
  master.server.answer(ticket, 1, failed(ErrorCode::object_not_found));
  master.server.flush();
  master.server.answer(ticket, 0, Existence{.exists = true});
  master.server.flush();
  serve([&] { return first.done(); });
  ASSERT_TRUE(first.result());
  EXPECT_TRUE(std::get<Existence>(*first.result()->answers[0]).exists);
  EXPECT_EQ(first.result()->answers[1].error().code(), ErrorCode::object_not_found);
}

TEST_F(LinkTest, ACallThatIsNotAnsweredTimesOutAndSaysHowLongItWaited) {
  FakeMaster master(loop);
  master.answer_at_once = false;
  ClientLink link(loop, config_for(master));
  const auto reply = call(link, keep_alive, 30ms);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::rpc_timeout);
  EXPECT_GE(reply.error().facts().elapsed, 30ms);
  EXPECT_EQ(reply.error().facts().endpoint, to_string(master.listener->endpoint()));
}

TEST_F(LinkTest, AMasterThatIsNotThereIsAnErrorOfItsOwn) {
  auto away = std::make_unique<FakeMaster>(loop);
  const LinkConfig config = config_for(*away);
  away.reset();
  ClientLink link(loop, config);
  const auto reply = call(link, keep_alive, 100ms);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::rpc_fail);
  EXPECT_NE(reply.error().message().find(to_string(config.master)), std::string::npos);
}

TEST_F(LinkTest, ACallIsSentAgainToTheMasterThatComesBack) {
  auto master = std::make_unique<FakeMaster>(loop);
  master->answer_at_once = false;
  const LinkConfig config = config_for(*master);
  ClientLink link(loop, config);
  auto task = link.call(keep_alive, loop.now() + 10s);
  task.start();
  serve([&] { return master->asked.size() == 1; });
  master.reset();
  master = std::make_unique<FakeMaster>(loop, ServerConfig{}, config.master.port);
  serve([&] { return task.done(); });
  EXPECT_TRUE(task.result()) << task.result().error().message();
}

// What the one that is gone had answered is not mixed with what the one that came says.
TEST_F(LinkTest, ACallThatWasAnsweredInPartIsAnsweredInWholeByTheMasterThatComesBack) {
  auto master = std::make_unique<FakeMaster>(loop);
  master->answer_at_once = false;
  const LinkConfig config = config_for(*master);
  ClientLink link(loop, config);
  const Request three{.body = Exists{.items = {{"yes"}, {"yes"}, {"no"}}}};
  auto task = link.call(three, loop.now() + 10s);
  task.start();
  serve([&] { return master->asked.size() == 1; });
  master->server.answer(master->asked[0].ticket, 1, Existence{.exists = false});
  master->server.flush();
  // A second call's answer comes behind that part.
  auto second = link.call(keep_alive, loop.now() + 10s);
  second.start();
  serve([&] { return master->asked.size() == 2; });
  master->server.answer(master->asked[1].ticket, 0, Done{});
  master->server.flush();
  serve([&] { return second.done(); });
  EXPECT_FALSE(task.done());
  master.reset();
  master = std::make_unique<FakeMaster>(loop, ServerConfig{}, config.master.port);
  serve([&] { return task.done(); });
  ASSERT_TRUE(task.result()) << task.result().error().message();
  EXPECT_TRUE(std::get<Existence>(*task.result()->answers[0]).exists);
  EXPECT_TRUE(std::get<Existence>(*task.result()->answers[1]).exists);
  EXPECT_FALSE(std::get<Existence>(*task.result()->answers[2]).exists);
  EXPECT_EQ(master->gone, 0) << "one connection was enough";
}

TEST_F(LinkTest, DestroyingACallForgetsItAndTheLinkGoesOn) {
  FakeMaster master(loop);
  master.answer_at_once = false;
  ClientLink link(loop, config_for(master));
  {
    auto task = link.call(keep_alive, loop.now() + 10s);
    task.start();
    serve([&] { return master.asked.size() == 1; });
  }
  master.answer_next();  // nobody waits for it
  master.answer_at_once = true;
  EXPECT_TRUE(call(link, keep_alive));
}

TEST_F(LinkTest, AnAnswerOfTheWrongKindNeverReachesTheCaller) {
  FakeMaster master(loop);
  master.wrong_kind = true;
  ClientLink link(loop, config_for(master));
  const auto reply = call(link, keep_alive, 100ms);
  ASSERT_FALSE(reply);
}

TEST_F(LinkTest, AMessageThatCannotBeDecodedIsRefusedAndTheConnectionGoesOn) {
  FakeMaster master(loop);
  ClientLink link(loop, config_for(master));
  const std::string key(2000, 'k');
  const auto reply = call(link, Request{.body = Exists{.items = {{key}}}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::invalid_key);
  EXPECT_TRUE(call(link, keep_alive));
  EXPECT_EQ(master.gone, 0);
}

TEST_F(LinkTest, MoreUnansweredRequestsThanAllowedAreRefusedAsBusy) {
  FakeMaster master(loop, {.unanswered_max = 1});
  master.answer_at_once = false;
  ClientLink link(loop, config_for(master));
  auto first = link.call(keep_alive, loop.now() + 10s);
  first.start();
  const auto second = call(link, keep_alive);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::busy);
}

TEST_F(LinkTest, ACallTooLongForAFrameIsRefusedWithoutBeingSent) {
  FakeMaster master(loop);
  ClientLink link(loop, config_for(master));
  const std::string key(frame_body_max + 1, 'k');
  const auto reply = call(link, Request{.body = Exists{.items = {{key}}}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::invalid_params);
}

// ---- a node's link -----------------------------------------------------------------------------

TEST_F(LinkTest, ANodeGetsAnswersAndCommandsOverOneConnectionAndComesBackAfterALoss) {
  auto master = std::make_unique<FakeMaster>(loop);
  const LinkConfig config = config_for(*master);
  FakeNode node;
  NodeLink link(loop, config, node);
  link.start();
  serve([&] { return node.connections == 1; });
  link.send(99, Request{.body = Heartbeat{}});
  serve([&] { return !node.answers.empty(); });
  EXPECT_EQ(node.tickets.front(), 99u);
  EXPECT_TRUE(node.answers.front());

  const Command retire{.epoch = {7}, .body = RetireExtents{.extents = {{.put_id = {{7}, 3}}}}};
  master->server.command(master->last_caller, retire);
  serve([&] { return !node.commands.empty(); });
  EXPECT_EQ(std::get<RetireExtents>(node.commands.front().body).extents.front().put_id,
            (PutId{{7}, 3}));

  master.reset();
  serve([&] { return node.disconnections > 0; });
  master = std::make_unique<FakeMaster>(loop, ServerConfig{}, config.master.port);
  serve([&] { return node.connections == 2; });
}

// ---- time
// ----------------------------------------------------------------------------------------

TEST_F(LinkTest, AlarmsRingInTheOrderOfTheirTimesAndNotOnceDisarmed) {
  std::string rung;
  Alarm a(loop, [&] { rung += 'a'; });
  Alarm b(loop, [&] { rung += 'b'; });
  Alarm c(loop, [&] { rung += 'c'; });
  const Time now = loop.now();
  a.set(now + 3ms);
  b.set(now + 1ms);
  c.set(now + 2ms);
  c.cancel();
  serve([&] { return rung.size() == 2; });
  EXPECT_EQ(rung, "ba");
  a.set(now);  // in the past: rings soon, not at once
  EXPECT_EQ(rung, "ba");
  serve([&] { return rung == "baa"; });
}

}  // namespace
}  // namespace larder::real
