#include "sim/kernel/kernel.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace larder::sim {
namespace {

using namespace std::chrono_literals;

Instant at(Duration since_begin) { return Instant(since_begin); }

class Note final : public Event {
 public:
  Note(std::vector<int>& log, int number) : Event(1), log_(log), number_(number) {}

 private:
  void fire() override { log_.push_back(number_); }
  std::vector<int>& log_;
  int number_;
};

TEST(Kernel, EventsFireByInstantAndThenByTheirLastArming) {
  std::vector<int> log;
  Kernel kernel(1);
  Note first(log, 1), second(log, 2), third(log, 3);
  kernel.arm(first, at(5ns));
  kernel.arm(second, at(5ns));
  kernel.arm(third, at(3ns));
  kernel.arm(first, at(5ns));  // now behind `second`
  EXPECT_EQ(first.due(), at(5ns));
  EXPECT_EQ(kernel.run(10), 3u);
  EXPECT_EQ(log, (std::vector{3, 2, 1}));
  EXPECT_EQ(kernel.now(), at(5ns));
}

TEST(Kernel, ACancelledOrDestroyedEventNeverFires) {
  std::vector<int> log;
  Kernel kernel(1);
  Note cancelled(log, 1), kept(log, 2);
  kernel.arm(cancelled, at(1ns));
  kernel.arm(kept, at(2ns));
  {
    Note destroyed(log, 3);
    kernel.arm(destroyed, at(1ns));
  }
  kernel.cancel(cancelled);
  kernel.cancel(cancelled);
  EXPECT_FALSE(cancelled.armed());
  kernel.run(10);
  EXPECT_EQ(log, std::vector{2});
}

TEST(Kernel, WhatIsDueInThePastFiresNowButNotInsideTheCall) {
  Kernel kernel(1);
  kernel.run_until(at(1s));
  bool fired = false;
  kernel.post(at(1ms), 1, [&] { fired = true; });
  EXPECT_FALSE(fired);
  EXPECT_EQ(kernel.run_until(at(1s)), 1u);
  EXPECT_TRUE(fired);
  EXPECT_EQ(kernel.now(), at(1s));
}

TEST(Kernel, APostedFunctionMayPostAgainAndUnfiredOnesAreFreed) {
  const auto token = std::make_shared<int>(0);
  {
    Kernel kernel(1);
    kernel.post(at(1ms), 1, [&kernel, token] {
      ++*token;
      kernel.post(at(2ms), 1, [token] { ++*token; });
      kernel.post(at(1h), 1, [token] { ++*token; });
    });
    kernel.run_until(at(1s));
    EXPECT_EQ(kernel.armed_events(), 1u);
  }
  EXPECT_EQ(*token, 2);
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Kernel, AgreesWithAnOrderedMapUnderRandomArmingMovingAndCancelling) {
  Kernel kernel(7);
  Random random = kernel.random("test");
  std::vector<int> log;
  std::vector<std::unique_ptr<Note>> events;
  for (int number = 0; number < 200; ++number) {
    events.push_back(std::make_unique<Note>(log, number));
  }
  std::map<std::pair<Instant, std::uint64_t>, int> expected;
  std::map<int, std::pair<Instant, std::uint64_t>> armed;
  for (std::uint64_t step = 0; step < 50'000; ++step) {
    const int number = static_cast<int>(random.below(events.size()));
    const std::uint64_t what = random.below(10);
    if (what < 6) {
      const Instant due = kernel.now() + Duration(random.below(50));
      if (armed.contains(number)) expected.erase(armed[number]);
      armed[number] = {due, step};
      expected[armed[number]] = number;
      kernel.arm(*events[static_cast<std::size_t>(number)], due);
    } else if (what < 8) {
      if (armed.contains(number)) expected.erase(armed[number]);
      armed.erase(number);
      kernel.cancel(*events[static_cast<std::size_t>(number)]);
    } else if (!expected.empty()) {
      const auto [key, first] = *expected.begin();
      expected.erase(expected.begin());
      armed.erase(first);
      ASSERT_TRUE(kernel.step());
      ASSERT_EQ(log.back(), first);
      ASSERT_EQ(kernel.now(), key.first);
    }
    ASSERT_EQ(kernel.armed_events(), expected.size());
  }
}

// A small world of tickers that draw their next delay.
std::uint64_t hash_of_world(std::uint64_t seed) {
  class Ticker final : public Event {
   public:
    Ticker(Kernel& kernel, std::uint64_t index)
        : Event(9), kernel_(kernel), random_(kernel.random("ticker", index)) {
      kernel_.arm_in(*this, Duration(random_.below(1000)));
    }

   private:
    void fire() override { kernel_.arm_in(*this, Duration(random_.below(1000))); }
    Kernel& kernel_;
    Random random_;
  };
  Kernel kernel(seed);
  std::vector<std::unique_ptr<Ticker>> tickers;
  for (std::uint64_t index = 0; index < 20; ++index) {
    tickers.push_back(std::make_unique<Ticker>(kernel, index));
  }
  kernel.run(20'000);
  return kernel.hash();
}

TEST(Kernel, E8TheSameSeedGivesTheSameHashOnAnyThreadAndAnotherSeedAnother) {
  const std::uint64_t expected = hash_of_world(1);
  EXPECT_EQ(hash_of_world(1), expected);
  EXPECT_NE(hash_of_world(2), expected);
  std::vector<std::uint64_t> hashes(4);
  std::vector<std::thread> threads;
  for (std::uint64_t& hash : hashes) threads.emplace_back([&hash] { hash = hash_of_world(1); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(hashes, std::vector<std::uint64_t>(4, expected));
}

TEST(Kernel, StreamsOfComponentsDependOnSeedAndNameAlone) {
  Kernel one(5), other(5);
  one.random("fabric").next();
  EXPECT_EQ(one.random("clock", 3).next(), other.random("clock", 3).next());
  EXPECT_NE(one.random("clock", 3).next(), one.random("clock", 4).next());
  EXPECT_NE(one.random("clock").next(), one.random("cloak").next());
}

TEST(Kernel, ReportsItsSpeed) {
  Kernel kernel(1);
  Random random = kernel.random("load");
  std::uint64_t left = 1'000'000;
  struct Chain {
    Kernel& kernel;
    Random& random;
    std::uint64_t& left;
    void operator()() const {
      if (left == 0) return;
      --left;
      kernel.post(kernel.now() + Duration(random.below(10'000)), 1, Chain(*this));
    }
  };
  for (int chain = 0; chain < 1000; ++chain) Chain{kernel, random, left}();
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t fired = kernel.run(~std::uint64_t{0});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(fired, 1'000'000u);
  RecordProperty("events_per_second", std::to_string(static_cast<double>(fired) / took.count()));
  std::printf("%.1f million posted events per second, 1000 pending\n",
              static_cast<double>(fired) / took.count() / 1e6);
}

}  // namespace
}  // namespace larder::sim
