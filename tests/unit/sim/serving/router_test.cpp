#include "sim/serving/router.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace larder::sim {
namespace {

class FakeEngine final : public Engine {
 public:
  FakeEngine(EngineLoad load, std::size_t cached) : load_(load), cached_(cached) {}
  void submit(ServedRequest&) override {}
  EngineLoad load() const override { return load_; }
  std::size_t cached(std::span<const std::uint64_t>) const override { return cached_; }
  void lose() override {}
  Busy busy() const override { return {}; }

 private:
  EngineLoad load_;
  std::size_t cached_;
};

// For a prompt of 10 pages of 10 tokens.
std::optional<std::size_t> choose(RouterPolicy policy, std::vector<FakeEngine> engines) {
  std::vector<Engine*> there;
  for (FakeEngine& engine : engines) there.push_back(&engine);
  ServedRequest request;
  request.blocks.resize(10);
  request.record.input_tokens = 100;
  return Router(policy, 10).choose(request, there);
}

TEST(Router, RoundRobinTakesTheNextThatIsThere) {
  FakeEngine engine({}, 0);
  std::array<Engine*, 3> engines{&engine, nullptr, &engine};
  Router router(RouterPolicy::round_robin, 10);
  for (const std::size_t expected : {0U, 2U, 0U, 2U}) {
    EXPECT_EQ(router.choose({}, engines), expected);
  }
  engines[1] = &engine;
  for (const std::size_t expected : {0U, 1U, 2U}) EXPECT_EQ(router.choose({}, engines), expected);
}

TEST(Router, LeastLoadedTakesTheFewestTokensThenTheFewestRequestsThenTheFirst) {
  EXPECT_EQ(choose(RouterPolicy::least_loaded, {{{.tokens = 5}, 0},
                                                {{.running = 2, .tokens = 3}, 0},
                                                {{.running = 1, .tokens = 3}, 0}}),
            2);
  EXPECT_EQ(choose(RouterPolicy::least_loaded, {{{.tokens = 3}, 0}, {{.tokens = 3}, 9}}), 0);
}

TEST(Router, PrefixAwareTakesTheFewestTokensUntilTheFirst) {
  // 20 of the prompt behind 40 others, against 100, and against 60 behind 5.
  EXPECT_EQ(choose(RouterPolicy::prefix_aware,
                   {{{.tokens = 0}, 0}, {{.tokens = 40}, 8}, {{.tokens = 5}, 4}}),
            1);
  EXPECT_EQ(choose(RouterPolicy::prefix_aware, {{{.tokens = 0}, 0}, {{.tokens = 81}, 8}}), 0);
  // A prompt that is there whole, on the one with fewer requests.
  EXPECT_EQ(choose(RouterPolicy::prefix_aware, {{{.running = 9}, 10}, {{.running = 8}, 11}}), 1);
}

TEST(Router, WithoutEnginesThereIsNone) {
  std::array<Engine*, 2> none{};
  for (const auto policy :
       {RouterPolicy::round_robin, RouterPolicy::least_loaded, RouterPolicy::prefix_aware}) {
    EXPECT_FALSE(Router(policy, 10).choose({}, none));
    EXPECT_EQ(router_policy_named(router_policy_name(policy)), policy);
  }
}

}  // namespace
}  // namespace larder::sim
