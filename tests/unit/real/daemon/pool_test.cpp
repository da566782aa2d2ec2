// A real master, with a node that the test plays, and the core's client on sockets.
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "real/client/pool.h"
#include "real/daemon/master_daemon.h"
#include "real/rpc/client_link.h"

namespace larder::real {
namespace {

using namespace std::chrono_literals;

// Counts what is logged while it lives.
class CountedLog {
 public:
  CountedLog() : sink_(std::make_shared<Sink>()), before_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("counted", sink_));
  }
  ~CountedLog() { spdlog::set_default_logger(before_); }
  int lines() const { return sink_->lines; }

 private:
  struct Sink final : spdlog::sinks::base_sink<std::mutex> {
    void sink_it_(const spdlog::details::log_msg&) override { ++lines; }
    void flush_() override {}
    std::atomic<int> lines = 0;
  };
  std::shared_ptr<Sink> sink_;
  std::shared_ptr<spdlog::logger> before_;
};

class MasterThread {
 public:
  MasterThread() {
    auto made = MasterDaemon::make(loop_, {.listen = {"127.0.0.1", 0}}, nullptr);
    EXPECT_TRUE(made) << made.error().message();
    daemon_ = std::move(*made);
    endpoint_ = daemon_->endpoint();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~MasterThread() { kill(); }
  void kill() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
    daemon_.reset();
  }
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  Loop loop_;
  std::unique_ptr<MasterDaemon> daemon_;
  Endpoint endpoint_;
  std::thread thread_;
};

// Calls to a master, one at a time.
class Caller {
 public:
  explicit Caller(const Endpoint& master) : link_(loop_, {.master = master, .who = "test"}) {}
  Reply call(RequestBody body) {
    const Request request{.header = {.session = {5, 5}, .number = ++number_},
                          .body = std::move(body)};
    auto task = link_.call(request, loop_.now() + 20s);
    task.start();
    loop_.run_until([&] { return task.done(); }, loop_.now() + 30s);
    EXPECT_TRUE(task.done() && task.result());
    return std::move(*task.result());
  }

 private:
  Loop loop_;
  ClientLink link_;
  std::uint64_t number_ = 0;
};

// A node that has space and at whose endpoint nobody listens.
void add_dead_node(Caller& caller) {
  caller.call(RegisterNode{.incarnation = {1, 1},
                           .registration = 1,
                           .name = "dead",
                           .endpoint = "127.0.0.1:1",
                           .host = "h",
                           .segments = {{.id = {2, 2}, .name = "s", .size = 64_MiB}}});
  caller.call(ReportInventory{.incarnation = {1, 1}, .registration = 1, .last = true});
  caller.call(OpenSession{.tenant = "default"});
}

TEST(MasterDaemonTest, ACallOfManyItemsIsAnsweredWholeAndInOrder) {
  MasterThread master;
  Caller caller(master.endpoint());
  add_dead_node(caller);
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; ++i) keys.push_back("k" + std::to_string(i));
  PutStart start;
  for (const std::string& key : keys) start.items.push_back({.key = key, .size = 100_B});
  start.items[4000].size = 0_B;
  const Reply started = caller.call(start);
  ASSERT_EQ(started.answers.size(), keys.size());
  PutEnd end;
  PutId last{};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == 4000) {
      EXPECT_EQ(started.answers[i].error().code(), ErrorCode::invalid_params);
      continue;
    }
    ASSERT_TRUE(started.answers[i]) << i << started.answers[i].error().message();
    const auto& grant = std::get<PutGrant>(*started.answers[i]);
    EXPECT_GT(grant.put_id, last);
    last = grant.put_id;
    end.items.push_back({.key = keys[i], .put_id = grant.put_id, .sealed = 1});
  }
  for (const Answer& answer : caller.call(end).answers) EXPECT_TRUE(answer);
  Exists exists;
  for (const std::string& key : keys) exists.items.push_back({key});
  const Reply found = caller.call(exists);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(std::get<Existence>(*found.answers[i]).exists, i != 4000) << i;
  }
}

// ---- statements ---------------------------------------------------------------------------------

TEST(StatementD7, GetsFromADeadPeerLeaveFewLinesInTheLog) {
  MasterThread master;
  Caller caller(master.endpoint());
  add_dead_node(caller);
  const Reply started = caller.call(PutStart{.items = {{.key = "k", .size = 100_B}}});
  const PutId put_id = std::get<PutGrant>(*started.answers.front()).put_id;
  caller.call(PutEnd{.items = {{.key = "k", .put_id = put_id, .sealed = 1}}});

  const CountedLog log;
  Result<Pool> pool = Pool::open({.master = to_string(master.endpoint())});
  ASSERT_TRUE(pool);
  std::array<std::byte, 100> buffer;
  const Slice slice = std::span(buffer);
  const GetItem item{.key = "k", .into = std::span(&slice, 1)};
  constexpr int gets = 2000;  // two seconds of them
  for (int i = 0; i < gets; ++i) ASSERT_FALSE(pool->get(std::span(&item, 1)).front());
  EXPECT_LE(log.lines(), 100 * gets / 60'000 + 1);
}

TEST(StatementB17, AClientWhoseMasterIsDeadIsClosedInLessThanTwoSecondsAndClosingTwiceIsHarmless) {
  MasterThread master;
  Result<Pool> pool = Pool::open({.master = to_string(master.endpoint())});
  ASSERT_TRUE(pool);
  const std::string_view key = "k";
  ASSERT_TRUE(pool->exists(std::span(&key, 1)).front());
  master.kill();
  const BootClock clock;
  const Time begin = clock.now();
  pool->close();
  pool->close();
  EXPECT_LT(clock.now() - begin, 2s);
  EXPECT_EQ(pool->exists(std::span(&key, 1)).front().error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace larder::real
