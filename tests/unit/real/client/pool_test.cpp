#include "real/client/pool.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <thread>

namespace larder {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;

ConstSlice bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Pool small_pool() {
  Result<Pool> pool = Pool::embedded({.memory = 8_MiB});
  EXPECT_TRUE(pool) << pool.error().message();
  return *std::move(pool);
}

// A port on which somebody listens who never says a word.
class SilentPort {
 public:
  SilentPort() : acceptor_(context_, {asio::ip::make_address("127.0.0.1"), 0}) {}
  std::string endpoint() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  asio::io_context context_;
  asio::ip::tcp::acceptor acceptor_;
};

TEST(Pool, EmbeddedNeedsNoServerAndNoSocket) {
  Pool pool = small_pool();
  const auto stored = pool.put("greeting", bytes_of("hello"));
  ASSERT_TRUE(stored) << stored.error().message();
  const auto value = pool.get("greeting");
  ASSERT_TRUE(value) << value.error().message();
  EXPECT_EQ(text_of(*value), "hello");
  const auto report = pool.status();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->objects, 1u);
  EXPECT_EQ(report->capacity, 8_MiB);
}

TEST(Pool, ACallGivesOneResultForEachItem) {
  Pool pool = small_pool();
  const ConstSlice value = bytes_of("value");
  const std::string long_key(1025, 'k');
  const std::vector<PutItem> items{{.key = "a", .value = {&value, 1}},
                                   {.key = long_key, .value = {&value, 1}},
                                   {.key = "b", .value = {&value, 1}}};
  const auto stored = pool.put(items);
  ASSERT_EQ(stored.size(), 3u);
  EXPECT_TRUE(stored[0]);
  EXPECT_EQ(stored[1].error().code(), ErrorCode::invalid_key);
  EXPECT_TRUE(stored[2]);
  const std::vector<std::string_view> keys{"a", "no such key", "b"};
  const auto there = pool.exists(keys);
  EXPECT_TRUE(there.at(0)->exists);
  EXPECT_FALSE(there.at(1)->exists);
  const auto found = pool.lookup(keys);
  EXPECT_EQ(found.at(0)->size, 5_B);
  EXPECT_EQ(found.at(1).error().code(), ErrorCode::object_not_found);
  const auto removed = pool.remove(keys, {.force = true});
  EXPECT_TRUE(removed.at(0));
  EXPECT_EQ(removed.at(1).error().code(), ErrorCode::object_not_found);
  EXPECT_FALSE(pool.exists(keys).at(2)->exists);
}

TEST(Pool, AValueMayComeInParts) {
  Pool pool = small_pool();
  const PutInParts wanted{.item = {.key = "k"}, .size = 10_B};
  auto begun = pool.begin_put({&wanted, 1});
  ASSERT_TRUE(begun.front()) << begun.front().error().message();
  const PartedPut* const put = &*begun.front();
  for (const std::string_view text : {"hello", "world"}) {
    const ConstSlice slice = bytes_of(text);
    const PutBytes part{.put = put, .bytes = {&slice, 1}};
    EXPECT_FALSE(pool.get("k"));
    EXPECT_TRUE(pool.write_parts({&part, 1}).front());
  }
  EXPECT_TRUE(pool.end_put({&put, 1}).front());
  EXPECT_EQ(text_of(*pool.get("k")), "helloworld");
  EXPECT_TRUE(pool.begin_put({&wanted, 1}).front()->already_stored());

  Pool other = small_pool();
  EXPECT_EQ(other.end_put({&put, 1}).front().error().code(), ErrorCode::invalid_params);
}

TEST(Pool, APartedPutMayOutliveItsPool) {
  std::optional<Pool> pool = small_pool();
  const PutInParts wanted{.item = {.key = "k"}, .size = 10_B};
  auto begun = pool->begin_put({&wanted, 1});
  ASSERT_TRUE(begun.front());
  pool.reset();
  EXPECT_FALSE(begun.front()->already_stored());
}

TEST(Pool, ManyThreadsMayCallAtOnce) {
  Pool pool = small_pool();
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string key = std::to_string(t) + "/" + std::to_string(i);
        if (!pool.put(key, bytes_of(key))) continue;
        const auto value = pool.get(key);
        if (value && text_of(*value) == key) ++right;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 800);
}

TEST(Pool, TheAsynchronousCallsTakeEveryCompletionToken) {
  Pool pool = small_pool();
  const ConstSlice value = bytes_of("hello");
  const PutItem item{.key = "greeting", .value = {&value, 1}};
  std::future<Pool::PutResults> stored = pool.async_put({&item, 1}, asio::use_future);
  EXPECT_TRUE(stored.get().front());

  std::promise<std::thread::id> ran_on;
  const std::string_view key = "greeting";
  pool.async_exists({&key, 1}, [&](const Pool::ExistsResults& found) {
    EXPECT_TRUE(found.front()->exists);
    ran_on.set_value(std::this_thread::get_id());
  });
  EXPECT_NE(ran_on.get_future().get(), std::this_thread::get_id());

  asio::io_context context;
  std::string read(5, ' ');
  bool done = false;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        const Slice into = std::as_writable_bytes(std::span(read));
        const GetItem wanted{.key = "greeting", .into = {&into, 1}};
        const auto got = co_await pool.async_get({&wanted, 1}, asio::use_awaitable);
        EXPECT_TRUE(got.front());
        const auto found = co_await pool.async_lookup({&key, 1}, asio::use_awaitable);
        EXPECT_EQ(found.front()->size, 5_B);
        const auto removed =
            co_await pool.async_remove({&key, 1}, asio::use_awaitable, {.force = true});
        EXPECT_TRUE(removed.front());
        const auto report = co_await pool.async_status(asio::use_awaitable);
        EXPECT_EQ(report->objects, 0u);
        done = true;
      },
      asio::detached);
  context.run();
  EXPECT_TRUE(done);
  EXPECT_EQ(read, "hello");
}

TEST(Pool, AHandlerRunsOnItsOwnExecutor) {
  Pool pool = small_pool();
  asio::io_context context;
  std::thread::id ran_on;
  pool.async_status(asio::bind_executor(context.get_executor(), [&](const Pool::StatusResult&) {
    ran_on = std::this_thread::get_id();
  }));
  context.run();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(Pool, ASynchronousCallFromAHandlerOfItsThreadIsRefused) {
  Pool pool = small_pool();
  std::promise<Status> refused;
  pool.async_status([&](const Pool::StatusResult&) {
    const auto status = pool.status();
    refused.set_value(status ? Status() : Status(std::unexpected(status.error())));
  });
  const Status status = refused.get_future().get();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::unavailable_in_current_status);
}

TEST(Pool, ACancelledCallEndsAtOnceAndItsBuffersAreFree) {
  const SilentPort silent;
  Result<Pool> pool = Pool::open({.master = silent.endpoint()});
  ASSERT_TRUE(pool);
  asio::io_context context;
  asio::cancellation_signal signal;
  const auto began = std::chrono::steady_clock::now();
  std::optional<ErrorCode> code;
  {
    std::string value = "a value";
    const ConstSlice slice = bytes_of(value);
    const PutItem item{.key = "k", .value = {&slice, 1}};
    pool->async_put(
        {&item, 1},
        asio::bind_cancellation_slot(
            signal.slot(),
            asio::bind_executor(context.get_executor(), [&](const Pool::PutResults& results) {
              code = results.front().error().code();
              EXPECT_EQ(results.front().error().facts().key, "k");
            })));
    signal.emit(asio::cancellation_type::total);  // not for what may have happened
    EXPECT_EQ(context.poll(), 0u);
    signal.emit(asio::cancellation_type::terminal);
    context.run();
  }
  EXPECT_EQ(code, ErrorCode::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(2));
}

TEST(Pool, ACallEndsWithinItsTimeout) {
  const SilentPort silent;
  Result<Pool> pool = Pool::open({.master = silent.endpoint(), .timeout = milliseconds(300)});
  ASSERT_TRUE(pool);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(pool->status());
  EXPECT_FALSE(pool->status(milliseconds(100)));
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, milliseconds(400));
  EXPECT_LT(took, seconds(4));
}

TEST(Pool, OpenRefusesWhatMakesNoSenseAndNamesTheTransportsThatThereAre) {
  EXPECT_EQ(Pool::open({.master = "a:b:c"}).error().code(), ErrorCode::invalid_params);
  EXPECT_EQ(Pool::open({.tenant = ""}).error().code(), ErrorCode::invalid_params);
  EXPECT_EQ(Pool::embedded({.memory = 100_B}).error().code(), ErrorCode::invalid_params);
  EXPECT_EQ(Pool::embedded({.policy = "best"}).error().code(), ErrorCode::invalid_params);
  const auto verbs = Pool::open({.transport = "verbs"});
  ASSERT_FALSE(verbs);
  EXPECT_EQ(verbs.error().code(), ErrorCode::not_supported);
  EXPECT_NE(verbs.error().message().find("tcp"), std::string::npos);
}

// B17
TEST(StatementB17, ClosingWithADeadMasterTakesLessThanTwoSecondsAndTwiceIsHarmless) {
  const SilentPort silent;
  Result<Pool> pool = Pool::open({.master = silent.endpoint()});
  ASSERT_TRUE(pool);
  std::future<Pool::StatusResult> waiting = pool->async_status(asio::use_future);
  const auto began = std::chrono::steady_clock::now();
  pool->close();
  pool->close();
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(2));
  EXPECT_EQ(waiting.get().error().code(), ErrorCode::cancelled);
  EXPECT_EQ(pool->status().error().code(), ErrorCode::cancelled);
  EXPECT_EQ(pool->async_status(asio::use_future).get().error().code(), ErrorCode::cancelled);
}

TEST(Pool, MayBeClosedFromAHandlerOfItsThread) {
  auto pool = std::make_unique<Pool>(small_pool());
  std::promise<void> closed;
  pool->async_status([&](const Pool::StatusResult&) {
    pool.reset();
    closed.set_value();
  });
  closed.get_future().wait();
  EXPECT_EQ(pool, nullptr);
}

TEST(Pool, CanBeMoved) {
  Pool first = small_pool();
  ASSERT_TRUE(first.put("k", bytes_of("v")));
  Pool second = std::move(first);
  EXPECT_TRUE(second.get("k"));
  second = small_pool();
  EXPECT_EQ(second.get("k").error().code(), ErrorCode::object_not_found);
}

// What kinds of trouble there are, each with what a person needs to act on it. No transport of now
// needs a buffer that was registered before; the caller's buffer that is too small stands for all
// that a local buffer can lack.
TEST(StatementD6, KindsOfTroubleAreDifferentErrorsWithTheirFacts) {
  Pool pool = small_pool();
  const std::string large(std::size_t{9} << 20, 'x');
  const auto full = pool.put("full", bytes_of(large));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code(), ErrorCode::no_available_handle);
  EXPECT_EQ(full.error().facts().size, Bytes{large.size()});
  EXPECT_EQ(full.error().facts().key, "full");
  EXPECT_EQ(full.error().facts().endpoint, "this process");
  EXPECT_GT(full.error().facts().elapsed, Duration(0));

  ASSERT_TRUE(pool.put("k", bytes_of("hello")));
  std::string small(3, ' ');
  const Slice into = std::as_writable_bytes(std::span(small));
  const GetItem item{.key = "k", .into = {&into, 1}};
  const Error no_room = pool.get({&item, 1}).front().error();
  EXPECT_EQ(no_room.code(), ErrorCode::buffer_overflow);
  EXPECT_EQ(no_room.facts().size, 5_B);
  EXPECT_NE(no_room.message().find("3 bytes"), std::string::npos);

  const PutItem bad{.key = "k", .value = {}, .replicas = 17};
  EXPECT_EQ(pool.put({&bad, 1}).front().error().code(), ErrorCode::invalid_params);

  // Nobody listens there; and there nobody answers.
  Result<Pool> nowhere = Pool::open({.master = "127.0.0.1:1", .timeout = milliseconds(200)});
  const auto unreachable = nowhere->put("k", bytes_of("hello"));
  ASSERT_FALSE(unreachable);
  EXPECT_EQ(unreachable.error().code(), ErrorCode::rpc_fail);
  EXPECT_EQ(unreachable.error().facts().endpoint, "127.0.0.1:1");
  EXPECT_EQ(unreachable.error().facts().size, 5_B);
  EXPECT_GE(unreachable.error().facts().elapsed, milliseconds(100));
  for (const std::string_view fact : {"RPC_FAIL", "127.0.0.1:1", "5 bytes", "'k'", " ms"}) {
    EXPECT_NE(unreachable.error().message().find(fact), std::string::npos) << fact;
  }
}

// D17
TEST(StatementD17, InAForkedChildEachCallFailsAndTheParentGoesOn) {
  Pool pool = small_pool();
  ASSERT_TRUE(pool.put("k", bytes_of("v")));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int wrong = 0;
    {
      Pool mine = std::move(pool);
      const auto value = mine.get("k");
      if (value || value.error().code() != ErrorCode::unavailable_in_current_status) wrong |= 1;
      const auto stored = mine.put("k2", bytes_of("v"));
      if (stored || stored.error().message().find("fork") == std::string::npos) wrong |= 2;
      const auto later = mine.async_status(asio::use_future);
      if (later.wait_for(seconds(5)) != std::future_status::ready) wrong |= 4;
      mine.close();
    }
    ::_exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(text_of(*pool.get("k")), "v");
  EXPECT_TRUE(pool.put("k2", bytes_of("v")));
}

}  // namespace
}  // namespace larder
