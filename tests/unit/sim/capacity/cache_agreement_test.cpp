// The simulated pool against a cache of blocks (sim/cache): with one node, no fabric and no reserve
// the production master makes the same hits of a trace, once it is asked in the same order.
#include <gtest/gtest.h>

#include <filesystem>
#include <list>
#include <unordered_map>

#include "sim/cache/cache_run.h"
#include "tests/unit/sim/capacity/pool_world.h"
#include "workloads/trace.h"

namespace larder::sim {
namespace {

std::vector<std::vector<PoolPage>> sample() {
  const std::vector<std::filesystem::path> paths{"workloads/samples/sessions.jsonl"};
  const auto trace = workloads::open_trace(paths).value();
  std::vector<std::vector<PoolPage>> requests;
  while (const workloads::Request* request = trace->next().value()) {
    auto& pages = requests.emplace_back();
    for (const workloads::BlockId block : request->blocks) {
      pages.push_back({.id = block.value,
                       .parent = pages.empty() ? block.value : pages.back().id,
                       .depth = static_cast<std::uint32_t>(pages.size())});
    }
  }
  return requests;
}

PoolWorld world_of(std::uint64_t pages, std::string policy) {
  MasterConfig master;
  master.policy = std::move(policy);
  master.watermarks = {.high = 1, .low = 1};
  return PoolWorld(
      {.engines = 1, .capacity = PoolWorld::object_room * (2 * pages), .master = master});
}

CachePoint cache(const std::vector<std::vector<PoolPage>>& requests, std::string_view policy,
                 std::uint64_t pages) {
  BlockNumbers numbers;
  CacheRun run = CacheRun::make(policy, pages).value();
  for (const auto& request : requests) {
    std::vector<workloads::BlockId> blocks;
    for (const PoolPage& page : request) blocks.push_back({page.id});
    run.request(numbers.of(blocks));
  }
  return run.point();
}

// One page after the other, each put if it is missing, as sim/cache does it.
std::uint64_t hits_page_by_page(const std::vector<std::vector<PoolPage>>& requests,
                                std::string_view policy, std::uint64_t pages) {
  PoolWorld world = world_of(pages, std::string(policy));
  for (const auto& request : requests) {
    for (const PoolPage& page : request) {
      if (world.read({page}).pages.empty()) world.put({page});
    }
  }
  EXPECT_EQ(world.pool->puts().stored, world.pool->puts().asked);
  EXPECT_EQ(world.pool->reads().misses(),
            world.missed(MissReason::cold) + world.missed(MissReason::evicted));
  return world.pool->reads().came;
}

class PageByPage : public testing::TestWithParam<std::string_view> {};
TEST_P(PageByPage, ThePoolHitsAsOftenAsACacheOfTheSameSize) {
  const auto requests = sample();
  for (const std::uint64_t pages : {50u, 200u, 1000u}) {
    EXPECT_EQ(hits_page_by_page(requests, GetParam(), pages),
              cache(requests, GetParam(), pages).hits)
        << pages;
  }
}
INSTANTIATE_TEST_SUITE_P(Policies, PageByPage, testing::Values("lru", "fifo"));

// How engines ask: all pages of a request at once, and then all that are missing are put. A page
// that another one of the same request displaces in the cache has hit here before.
class PlainLru {
 public:
  explicit PlainLru(std::size_t pages) : pages_(pages) {}
  std::uint64_t leading = 0;
  std::uint64_t behind = 0;

  void request(const std::vector<PoolPage>& request) {
    std::vector<std::uint64_t> missing;
    for (const PoolPage& page : request) {
      const auto at = at_.find(page.id);
      if (at == at_.end()) {
        missing.push_back(page.id);
        continue;
      }
      ++(missing.empty() ? leading : behind);
      order_.splice(order_.end(), order_, at->second);
    }
    for (const std::uint64_t id : missing) {
      if (order_.size() == pages_) {
        at_.erase(order_.front());
        order_.pop_front();
      }
      at_[id] = order_.insert(order_.end(), id);
    }
  }

 private:
  std::size_t pages_;
  std::list<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> at_;
};

TEST(RequestByRequest, ThePoolHitsAsOftenAsALruThatIsAskedSo) {
  const auto requests = sample();
  for (const std::uint64_t pages : {50u, 200u, 1000u}) {
    PoolWorld world = world_of(pages, "lru");
    PlainLru plain(pages);
    for (const auto& request : requests) {
      if (request.size() > pages) continue;  // its own puts would wait for each other
      plain.request(request);
      const TestRead read = world.read(request);
      std::vector<PoolPage> missing;
      for (std::size_t i = 0; i < request.size(); ++i) {
        if (!read.pages.contains(i)) missing.push_back(request[i]);
      }
      if (!missing.empty()) world.put(missing);
    }
    EXPECT_EQ(world.pool->reads().came, plain.leading) << pages;
    EXPECT_EQ(world.missed(MissReason::behind_a_miss), plain.behind) << pages;
  }
}

TEST(RequestByRequest, APoolWithoutLimitHitsWhatWasThereBefore) {
  const auto requests = sample();
  PoolWorld world = world_of(10'000, "leaf-first");
  for (const auto& request : requests) {
    const TestRead read = world.read(request);
    const std::vector<PoolPage> missing(
        request.begin() + static_cast<std::ptrdiff_t>(read.pages.size()), request.end());
    if (!missing.empty()) world.put(missing);
  }
  EXPECT_EQ(world.pool->reads().came, cache(requests, "lru", 10'000).hits);
  EXPECT_EQ(world.pool->reads().misses(), world.missed(MissReason::cold));
}

}  // namespace
}  // namespace larder::sim
