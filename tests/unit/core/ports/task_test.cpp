#include "core/ports/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>

namespace larder {
namespace {

// What a coroutine waits at until the test opens it. Knows whether somebody still waits, so that a
// destroyed waiter cannot be resumed.
class Gate {
 public:
  auto wait() {
    struct Waiting {
      Gate& gate;
      ~Waiting() { gate.waiter_ = nullptr; }
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> waiter) noexcept { gate.waiter_ = waiter; }
      void await_resume() const noexcept {}
    };
    return Waiting{*this};
  }
  bool awaited() const { return waiter_ != nullptr; }
  void open() { std::exchange(waiter_, nullptr).resume(); }

 private:
  std::coroutine_handle<> waiter_;
};

Task<int> at_once(int value) { co_return value; }

Task<int> behind(Gate& gate, std::shared_ptr<int> value) {
  co_await gate.wait();
  co_return *value;
}

Task<int> sum_of_many(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await at_once(1);
  co_return sum;
}

Task<int> nested(int depth) {
  if (depth == 0) co_return 0;
  co_return 1 + co_await nested(depth - 1);
}

Task<std::string> joined(std::vector<Gate>& gates, std::shared_ptr<int> value) {
  std::vector<Task<int>> tasks;
  for (Gate& gate : gates) tasks.push_back(behind(gate, value));
  const std::string local(100, 'x');  // a frame with something to leak
  const std::vector<int> results = co_await JoinAll(std::move(tasks));
  co_return local + std::to_string(std::accumulate(results.begin(), results.end(), 0));
}

TEST(Task, StartsOnlyWhenItIsStarted) {
  Gate gate;
  Task<int> task = behind(gate, std::make_shared<int>(7));
  EXPECT_FALSE(gate.awaited());
  task.start();
  EXPECT_TRUE(gate.awaited());
  EXPECT_FALSE(task.done());
  gate.open();
  ASSERT_TRUE(task.done());
  EXPECT_EQ(task.result(), 7);
}

TEST(Task, AMillionTasksThatEndAtOnceUseNoStack) {
  Task<int> task = sum_of_many(1'000'000);
  task.start();
  ASSERT_TRUE(task.done());
  EXPECT_EQ(task.result(), 1'000'000);
}

TEST(Task, ADeepChainUnwindsWithoutStack) {
  Task<int> task = nested(20'000);
  task.start();
  ASSERT_TRUE(task.done());
  EXPECT_EQ(task.result(), 20'000);
}

TEST(Task, DestroyingItDestroysWhatItAwaits) {
  Gate gate;
  auto value = std::make_shared<int>(7);
  {
    Task<int> task = behind(gate, value);
    task.start();
    EXPECT_EQ(value.use_count(), 2);
  }
  EXPECT_EQ(value.use_count(), 1);
  EXPECT_FALSE(gate.awaited());
}

TEST(JoinAll, GivesTheResultsInOrderWhateverTheOrderOfEnding) {
  auto run = [](std::vector<Gate>& gates) -> Task<std::vector<int>> {
    std::vector<Task<int>> tasks;
    for (std::size_t i = 0; i < gates.size(); ++i) {
      tasks.push_back(behind(gates[i], std::make_shared<int>(static_cast<int>(i))));
    }
    co_return co_await JoinAll(std::move(tasks));
  };
  std::vector<Gate> gates(3);
  Task<std::vector<int>> task = run(gates);
  task.start();
  gates[1].open();
  gates[2].open();
  EXPECT_FALSE(task.done());
  gates[0].open();
  ASSERT_TRUE(task.done());
  EXPECT_EQ(task.result(), (std::vector{0, 1, 2}));
}

TEST(JoinAll, OfNothingOrOfTasksThatEndAtOnceDoesNotSuspend) {
  auto run = [](int count) -> Task<std::size_t> {
    std::vector<Task<int>> tasks;
    for (int i = 0; i < count; ++i) tasks.push_back(at_once(i));
    co_return (co_await JoinAll(std::move(tasks))).size();
  };
  for (int count : {0, 1, 64}) {
    Task<std::size_t> task = run(count);
    task.start();
    ASSERT_TRUE(task.done());
    EXPECT_EQ(task.result(), static_cast<std::size_t>(count));
  }
}

TEST(JoinAll, OfSixtyFourCanBeDestroyedAfterAnyNumberHaveEnded) {
  for (std::size_t ended = 0; ended <= 64; ++ended) {
    std::vector<Gate> gates(64);
    auto value = std::make_shared<int>(1);
    {
      Task<std::string> task = joined(gates, value);
      task.start();
      // From both ends, so that neither order is special.
      for (std::size_t i = 0; i < ended; ++i) gates[i % 2 ? 64 - (i + 1) / 2 : i / 2].open();
      ASSERT_EQ(task.done(), ended == 64);
      if (task.done()) {
        EXPECT_EQ(task.result(), std::string(100, 'x') + "64");
      }
    }
    EXPECT_EQ(value.use_count(), 1) << ended;
    for (const Gate& gate : gates) EXPECT_FALSE(gate.awaited());
  }
}

}  // namespace
}  // namespace larder
