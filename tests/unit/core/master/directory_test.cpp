#include <algorithm>
#include <set>

#include "tests/unit/core/master/harness.h"

namespace larder::testing {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> keys_of(const ObjectPage& page) {
  std::vector<std::string> keys;
  for (const ObjectPage::Item& item : page.items) keys.push_back(item.key);
  std::ranges::sort(keys);
  return keys;
}

ObjectPage page(MasterHarness& h, ListObjects request, SessionId session = alice) {
  return h.value<ObjectPage>(h.call(session, request));
}

// A whole walk; between two pages `meanwhile` may change the pool.
std::vector<std::string> walk(
    MasterHarness& h, ListObjects request, const std::function<void()>& meanwhile = [] {}) {
  std::vector<std::string> all;
  for (;;) {
    const ObjectPage found = page(h, request);
    for (const ObjectPage::Item& item : found.items) all.push_back(item.key);
    if (!found.next) return all;
    request.cursor = *found.next;
    meanwhile();
  }
}

ObjectDetails describe(MasterHarness& h, std::string_view key) {
  return h.value<ObjectDetails>(h.call(alice, DescribeObjects{.items = {{key}}}));
}

TEST(Listing, ShowsTheCompleteObjectsOfTheCallersTenantAlone) {
  MasterHarness h;
  h.join();
  h.open(alice);
  h.open(bob, "other");
  h.put(alice, "a/1", 1000_B);
  h.put(alice, "b/1");
  h.start(alice, "a/unfinished");
  h.put(bob, "a/of bob");
  h.now += 3s;
  h.tick();
  const ObjectPage all = page(h, {});
  EXPECT_EQ(keys_of(all), (std::vector<std::string>{"a/1", "b/1"}));
  EXPECT_FALSE(all.next);
  const ObjectPage some = page(h, {.prefix = "a/"});
  ASSERT_EQ(keys_of(some), std::vector<std::string>{"a/1"});
  EXPECT_EQ(some.items[0].size, 1000_B);
  EXPECT_EQ(some.items[0].replicas, 1u);
  EXPECT_EQ(some.items[0].readable, 1u);
  EXPECT_EQ(some.items[0].age, 3s);
  EXPECT_EQ(keys_of(page(h, {.pattern = "[b-z]/"})), std::vector<std::string>{"b/1"});
  EXPECT_EQ(keys_of(page(h, {.prefix = "a", .pattern = "^b"})), std::vector<std::string>{});
}

TEST(Listing, OfOneThatHasExpiredOrIsOnAHiddenNode) {
  MasterHarness h;
  h.join();
  h.open(alice);
  h.kept_alive = {alice};
  ASSERT_TRUE(h.put_item(alice, {.key = "short", .size = 10_B, .time_to_live = 1s}));
  h.put(alice, "k");
  h.now += 2s;
  EXPECT_EQ(keys_of(page(h, {})), std::vector<std::string>{"k"});
  h.disconnect("n0");
  h.pass(2s);
  const ObjectPage hidden = page(h, {});
  ASSERT_EQ(keys_of(hidden), std::vector<std::string>{"k"});
  EXPECT_EQ(hidden.items[0].replicas, 1u);
  EXPECT_EQ(hidden.items[0].readable, 0u);
}

TEST(Listing, GivesEachObjectThatIsThereAllTheTimeOnce) {
  MasterHarness h;
  h.join({.size = 64_MiB});
  h.open(alice);
  h.checks = false;
  std::set<std::string> stay;
  for (int i = 0; i < 3000; ++i) {
    const std::string key = (i % 2 == 0 ? "stay/" : "go/") + std::to_string(i);
    h.put(alice, key, 10_B);
    if (i % 2 == 0) stay.insert(key);
  }
  int next = 1;
  const auto change = [&] {
    for (int i = 0; i < 20; ++i, next += 2) {
      h.remove(alice, "go/" + std::to_string(next));
      h.put(alice, "new/" + std::to_string(next), 10_B);
    }
  };
  const std::vector<std::string> listed = walk(h, {.limit = 50}, change);
  const std::multiset<std::string> all(listed.begin(), listed.end());
  for (const std::string& key : stay) EXPECT_EQ(all.count(key), 1u) << key;
  for (const std::string& key : all) EXPECT_EQ(all.count(key), 1u) << key;
  h.master().check_invariants();
}

TEST(Listing, LooksAtABoundedPartOfTheDirectoryInOneCall) {
  MasterHarness h;
  h.join({.size = 256_MiB});
  h.open(alice);
  h.checks = false;
  for (int i = 0; i < 10'000; ++i) h.put(alice, "k" + std::to_string(i), 10_B);
  std::size_t pages = 1;
  EXPECT_TRUE(walk(h, {.prefix = "none"}, [&] { ++pages; }).empty());
  EXPECT_EQ(pages, 3u);  // of 4096 places each
  const std::string long_key(1000, 'x');
  for (int i = 0; i < 1000; ++i) h.put(alice, long_key + std::to_string(i), 10_B);
  pages = 1;
  EXPECT_EQ(walk(h, {.pattern = "^x.*7$"}, [&] { ++pages; }).size(), 100u);
  EXPECT_GE(pages, 6u);  // 1 MB of keys, 256 KiB a page
}

TEST(Listing, OfAWalkThatBeganAtAnotherMasterIsRefused) {
  MasterHarness h;
  h.join();
  h.open(alice);
  const Ticket ticket = h.call(alice, ListObjects{.cursor = {.epoch = {99}, .next = 1, .end = 2}});
  EXPECT_EQ(h.error(ticket), ErrorCode::invalid_params);
  EXPECT_NE(h.answer(ticket).error().message().find("epoch 99, this one has epoch 100"),
            std::string::npos);
  const ListCursor beyond{.epoch = {100}, .next = 0, .end = 4'000'000};
  EXPECT_EQ(h.error(h.call(alice, ListObjects{.cursor = beyond})), ErrorCode::invalid_params);
}

TEST(Listing, RefusesABadPatternAndDoesNotAnswerHalfDuringRecovery) {
  MasterHarness h;
  h.join();
  h.open(alice);
  EXPECT_EQ(h.error(h.call(alice, ListObjects{.pattern = "("})), ErrorCode::invalid_params);
  MasterHarness recovering(MasterHarness::small_nodes(),
                           {.durable = true, .known = {{.incarnation = {9, 9}, .name = "n9"}}});
  recovering.open(alice);
  EXPECT_EQ(recovering.error(recovering.call(alice, ListObjects{})),
            ErrorCode::unavailable_in_current_status);
}

TEST(Listing, IsNoUse) {
  MasterHarness h;
  h.join();
  h.open(alice);
  h.kept_alive = {alice};
  h.put(alice, "k");
  h.pass(3s);
  page(h, {});
  EXPECT_EQ(describe(h, "k").versions[0].idle, 3s);
  EXPECT_EQ(describe(h, "k").versions[0].lease, 0s);
  EXPECT_TRUE(h.answer(h.remove(alice, "k")).has_value());
  EXPECT_EQ(h.status().gets, 0u);
}

TEST(Details, TellEverythingOfACompleteObject) {
  MasterHarness h;
  h.join({.name = "n0"});
  h.join({.name = "n1"});
  h.open(alice);
  h.kept_alive = {alice};
  const PutGrant grant =
      h.value<PutGrant>(h.call(alice, PutStart{.items = {{.key = "k",
                                                          .size = 1000_B,
                                                          .replicas = 2,
                                                          .group = "g",
                                                          .soft_pin = 60s,
                                                          .time_to_live = 100s}}}));
  ASSERT_TRUE(
      h
          .answer(h.call(
              alice,
              PutEnd{.items = {{.key = "k", .put_id = grant.put_id, .sealed = 3, .checksum = 42}}}))
          .has_value());
  h.pass(10s);
  h.read_and_return(alice, "k");
  h.get(alice, "k");
  h.pass(4s);
  const ObjectDetails details = describe(h, "k");
  ASSERT_EQ(details.versions.size(), 1u);
  const ObjectDetails::Version& version = details.versions[0];
  EXPECT_EQ(version.state, "complete");
  EXPECT_EQ(version.put_id, grant.put_id);
  EXPECT_EQ(version.size, 1000_B);
  EXPECT_EQ(version.checksum, 42u);
  EXPECT_EQ(version.group, "g");
  EXPECT_FALSE(version.hard_pin);
  EXPECT_EQ(version.soft_pin, 46s);
  EXPECT_EQ(version.time_to_live, 86s);
  EXPECT_EQ(version.lease, 6s);
  EXPECT_EQ(version.age, 14s);
  EXPECT_EQ(version.idle, 4s);
  ASSERT_EQ(version.replicas.size(), 2u);
  for (const ObjectDetails::Replica& replica : version.replicas) {
    EXPECT_EQ(replica.state, "COMPLETE");
    EXPECT_EQ(replica.segment, h.nodes[replica.node].segment);
    EXPECT_EQ(replica.segment_name, replica.node);
    EXPECT_EQ(replica.endpoint, replica.node + ":1");
    EXPECT_EQ(replica.node_state, "shown");
  }
  EXPECT_NE(version.replicas[0].node, version.replicas[1].node);
}

TEST(Details, TellOfBothVersionsOfAKeyAndOfTheWriter) {
  MasterHarness h;
  h.join();
  ASSERT_TRUE(
      h.answer(h.call(alice, OpenSession{.tenant = "t", .client = "engine 7"})).has_value());
  const PutGrant old = h.put(alice, "k", 1000_B);
  const PutGrant young = h.value<PutGrant>(h.start(alice, "k", 2000_B, true));
  h.now += 1s;
  const ObjectDetails details = describe(h, "k");
  ASSERT_EQ(details.versions.size(), 2u);
  EXPECT_EQ(details.versions[0].put_id, old.put_id);
  EXPECT_EQ(details.versions[1].put_id, young.put_id);
  EXPECT_EQ(details.versions[1].state, "unfinished");
  EXPECT_EQ(details.versions[1].writer, "engine 7");
  EXPECT_EQ(details.versions[1].time_left, young.time_allowed - 1s);
  EXPECT_EQ(details.versions[1].replicas[0].state, "PROCESSING");
}

TEST(Details, TellOfAPutThatWaitsForSpaceAndOfAHiddenNode) {
  MasterHarness h;
  h.join();
  h.open(alice);
  h.kept_alive = {alice};
  h.hard_pin(alice, "pinned", 100_B);
  h.put(alice, "leased", 900'000_B);
  h.get(alice, "leased");
  h.start(alice, "waits", 900'000_B);
  EXPECT_EQ(describe(h, "waits").versions[0].state, "waiting for space");
  EXPECT_TRUE(describe(h, "pinned").versions[0].hard_pin);
  h.disconnect("n0");
  h.pass(2s);
  EXPECT_EQ(describe(h, "pinned").versions[0].replicas[0].node_state, "hidden");
  EXPECT_EQ(h.error(h.call(alice, DescribeObjects{.items = {{"none"}}})),
            ErrorCode::object_not_found);
  EXPECT_EQ(h.error(h.call(alice, DescribeObjects{.items = {{""}}})), ErrorCode::invalid_key);
}

TEST(Details, TheParentIsKnownWhereThePolicyOrdersByIt) {
  MasterConfig config = MasterHarness::small_nodes();
  config.policy = "leaf-first";
  MasterHarness h(config);
  h.join();
  h.open(alice);
  h.put(alice, "p/1");
  ASSERT_TRUE(h.put_item(alice, {.key = "p/2", .size = 10_B, .parent = "p/1"}));
  EXPECT_EQ(describe(h, "p/2").versions[0].parent, "p/1");
  EXPECT_EQ(describe(h, "p/1").versions[0].parent, "");
  h.remove(alice, "p/1");
  EXPECT_EQ(describe(h, "p/2").versions[0].parent, "");
}

}  // namespace
}  // namespace larder::testing
