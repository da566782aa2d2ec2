#include "core/transfer/stripes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/topology/topology.h"

namespace larder {

using namespace literals;

namespace {

using testing::ElementsAre;

// Two hosts of a preset, between whose memories transfers are planned.
class Planned {
 public:
  explicit Planned(std::string_view name) : topology_(Topology::make(two(name)).value()) {}

  std::vector<Stripe> plan(std::string_view local, std::string_view remote, Bytes length) {
    std::vector<Stripe> stripes;
    plan_stripes(length, {topology_.nics_near(topology_.find(0, local).value()), local_},
                 {topology_.nics_near(topology_.find(1, remote).value()), remote_}, rules_,
                 stripes);
    return stripes;
  }
  void done(const std::vector<Stripe>& stripes) {
    for (const Stripe& stripe : stripes) {
      local_.remove(stripe.local_nic, stripe.length);
      remote_.remove(stripe.remote_nic, stripe.length);
    }
  }
  const NicLoads& local() const { return local_; }
  const NicLoads& remote() const { return remote_; }

 private:
  static Hardware two(std::string_view name) {
    Hardware hardware = hardware_preset(name).value();
    hardware.hosts[0].count = 2;
    return hardware;
  }
  Topology topology_;
  StripeRules rules_;
  NicLoads local_;
  NicLoads remote_;
};

TEST(Stripes, AShortTransferIsOneOnTheNearestRailOfBothSides) {
  Planned planned("8xh800-8x200");
  EXPECT_THAT(planned.plan("gpu2", "dram0", 1_MiB - 1_B),
              ElementsAre(Stripe{.length = 1_MiB - 1_B, .local_nic = 2, .remote_nic = 2}));
  EXPECT_THAT(planned.plan("gpu7", "dram1", 4_KiB),
              ElementsAre(Stripe{.length = 4_KiB, .local_nic = 7, .remote_nic = 7}));
  EXPECT_THAT(planned.plan("gpu0", "dram0", 0_B), ElementsAre());
}

TEST(Stripes, ALongOneSpreadsOverTheNearestNicsEachOnItsOwnRail) {
  Planned planned("8xh800-8x200");
  const std::vector<Stripe> stripes = planned.plan("dram0", "dram0", 2_MiB);
  ASSERT_EQ(stripes.size(), 4u);
  std::set<std::uint32_t> nics;
  for (const Stripe& stripe : stripes) {
    EXPECT_EQ(stripe.length, 512_KiB);
    EXPECT_EQ(stripe.local_nic, stripe.remote_nic);
    nics.insert(stripe.local_nic);
  }
  EXPECT_THAT(nics, ElementsAre(0, 1, 2, 3));
}

TEST(Stripes, FollowingTransfersSpreadByLoad) {
  Planned planned("8xh800-8x200");
  std::multiset<std::uint32_t> nics;
  std::vector<Stripe> all;
  for (int transfer = 0; transfer < 8; ++transfer) {
    for (const Stripe& stripe : planned.plan("dram1", "dram1", 256_KiB)) {
      nics.insert(stripe.local_nic);
      all.push_back(stripe);
    }
  }
  EXPECT_THAT(nics, ElementsAre(4, 4, 5, 5, 6, 6, 7, 7));
  planned.done(all);
  for (std::uint32_t nic = 0; nic < 8; ++nic) {
    EXPECT_EQ(planned.local().of(nic), 0_B);
    EXPECT_EQ(planned.remote().of(nic), 0_B);
  }
}

TEST(Stripes, BetweenDifferentSocketsTakeTheNearNicsOfBothAndTheSpine) {
  Planned planned("8xh800-8x200");
  const std::vector<Stripe> stripes = planned.plan("gpu6", "dram0", 64_KiB);
  EXPECT_THAT(stripes, ElementsAre(Stripe{.length = 64_KiB, .local_nic = 6, .remote_nic = 0}));
}

TEST(Stripes, TakeAFarNicOnlyWhenTheNearOnesAreFarMoreLoaded) {
  Planned planned("8xh800-4x200");
  std::vector<std::uint32_t> nics;
  for (int transfer = 0; transfer < 16; ++transfer) {
    for (const Stripe& stripe : planned.plan("gpu0", "dram0", 256_KiB)) {
      nics.push_back(stripe.local_nic);
    }
  }
  // One stripe alone on far and near NIC is expected to take 5 + 1 units, the k-th on two near ones
  // k + k: so the fourth is the first for which the far one is better.
  EXPECT_THAT(std::vector(nics.begin(), nics.begin() + 4), ElementsAre(0, 0, 0, 1));
}

TEST(Stripes, LeaveOutANicThatIsNotInTheList) {
  NicLoads local;
  NicLoads remote;
  const std::vector<NearNic> one{{.nic = 5, .rail = 5, .per_second = {1'000'000'000}}};
  const std::vector<NearNic> two{{.nic = 0, .rail = 0, .per_second = {1'000'000'000}},
                                 {.nic = 5, .rail = 5, .per_second = {1'000'000'000}}};
  std::vector<Stripe> stripes;
  plan_stripes(4_KiB, {one, local}, {two, remote}, {}, stripes);
  EXPECT_THAT(stripes, ElementsAre(Stripe{.length = 4_KiB, .local_nic = 5, .remote_nic = 5}));
}

// ---- any lists ----------------------------------------------------------------------------------

std::vector<NearNic> any_nics() {
  std::vector<NearNic> nics;
  const auto count = *rc::gen::inRange(1u, 9u);
  for (std::uint32_t nic = 0; nic < count; ++nic) {
    nics.push_back({.nic = nic,
                    .rail = *rc::gen::inRange(0u, 4u),
                    .nearness = *rc::gen::element(Nearness::nearest, Nearness::same_socket,
                                                  Nearness::other_socket),
                    .per_second = {*rc::gen::inRange<std::uint64_t>(1, 50'000'000'000)}});
  }
  return nics;
}

RC_GTEST_PROP(AnyStripes, CoverTheTransferOnceAndAreNotShort, ()) {
  const StripeRules rules;
  const std::vector<NearNic> here = any_nics();
  const std::vector<NearNic> there = any_nics();
  NicLoads local;
  NicLoads remote;
  for (int transfer = *rc::gen::inRange(1, 5); transfer > 0; --transfer) {
    const Bytes length{*rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(1, 1 << 21),
                                       rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << 40))};
    std::vector<Stripe> stripes;
    plan_stripes(length, {here, local}, {there, remote}, rules, stripes);
    RC_ASSERT(!stripes.empty());
    RC_ASSERT(stripes.size() <= rules.stripes_max);
    Bytes at;
    for (const Stripe& stripe : stripes) {
      RC_ASSERT(stripe.offset == at);
      RC_ASSERT(at.value % rules.alignment.value == 0);
      RC_ASSERT(stripes.size() == 1 || stripe.length >= rules.stripe_min);
      RC_ASSERT(stripe.length <= length / stripes.size() + rules.alignment * stripes.size());
      RC_ASSERT(stripe.local_nic < here.size());
      RC_ASSERT(stripe.remote_nic < there.size());
      at += stripe.length;
    }
    RC_ASSERT(at == length);
    RC_ASSERT((stripes.size() > 1) == (length >= rules.stripe_min * 2));
  }
}

RC_GTEST_PROP(AnyStripes, OnEqualNicsDifferByOneStripeAtMost, ()) {
  const auto count = *rc::gen::inRange(1u, 9u);
  std::vector<NearNic> nics;
  for (std::uint32_t nic = 0; nic < count; ++nic) {
    nics.push_back({.nic = nic, .rail = nic, .per_second = {25'000'000'000}});
  }
  NicLoads local;
  NicLoads remote;
  std::vector<Stripe> stripes;
  for (int transfer = *rc::gen::inRange(1, 20); transfer > 0; --transfer) {
    plan_stripes(64_KiB * *rc::gen::inRange(1u, 10u), {nics, local}, {nics, remote}, {}, stripes);
  }
  const Bytes longest = std::ranges::max(stripes, {}, &Stripe::length).length;
  Bytes least{~std::uint64_t{0}};
  Bytes most;
  for (const NearNic& nic : nics) {
    least = std::min(least, local.of(nic.nic));
    most = std::max(most, local.of(nic.nic));
    RC_ASSERT(local.of(nic.nic) == remote.of(nic.nic));  // each on its rail
  }
  RC_ASSERT(most - least <= longest);
}

}  // namespace
}  // namespace larder
