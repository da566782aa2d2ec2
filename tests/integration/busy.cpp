// A process that is a node and a client of a pool, as an inference engine is, and whose main thread
// does something else for a long time:
//
//   larder-busy MASTER SECONDS compute|block
//
// It stores a value, prints "ready", computes or blocks without a call of the library, then reads
// the value, stores another one, prints "done", and ends when its input does. For test_busy.py.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <future>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "real/client/pool.h"
#include "real/daemon/loop_thread.h"
#include "real/daemon/node_daemon.h"

namespace larder {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::uint64_t compute_until(SteadyClock::time_point end) {
  std::uint64_t state = 1;
  while (SteadyClock::now() < end) {
    for (int i = 0; i < 1'000'000; ++i) state = state * 6364136223846793005u + 1442695040888963407u;
  }
  return state;
}

int fail(const Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

int work(Pool& pool, Duration time, bool computes) {
  const std::vector<std::byte> value(100'000, std::byte{7});
  if (const auto stored = pool.put("busy/before", value); !stored) return fail(stored.error());
  std::cout << "ready" << std::endl;
  const auto end = SteadyClock::now() + time;
  if (computes) {
    if (compute_until(end) == 0) return 1;
  } else {
    std::this_thread::sleep_until(end);
  }
  const auto got = pool.get("busy/before");
  if (!got) return fail(got.error());
  if (*got != value) return fail(Error(ErrorCode::internal_error, "other bytes"));
  if (const auto stored = pool.put("busy/after", value); !stored) return fail(stored.error());
  std::cout << "done" << std::endl;
  while (std::cin.get() != EOF) {
  }
  return 0;
}

int run(const std::string& master, Duration time, bool computes) {
  const auto endpoint = real::parse_endpoint(master, 0);
  if (!endpoint) return fail(endpoint.error());
  std::promise<void> ready;
  real::LoopThread thread;
  auto node = real::NodeDaemon::make(
      thread.loop(), {.master = *endpoint, .memory = 16_MiB, .name = "busy", .host = "busy"},
      [](Bytes) { return true; }, {.ready = [&] { ready.set_value(); }, .ended = nullptr});
  if (!node) return fail(node.error());
  thread.start("node", nullptr);
  ready.get_future().wait();
  auto pool = Pool::open({.master = master, .name = "busy"});
  if (!pool) return fail(pool.error());
  const int code = work(*pool, time, computes);
  thread.stop();
  return code;
}

}  // namespace
}  // namespace larder

int main(int argc, char** argv) {
  const std::string_view kind = argc == 4 ? argv[3] : "";
  if (kind != "compute" && kind != "block") {
    std::cerr << "larder-busy MASTER SECONDS compute|block\n";
    return 2;
  }
  return larder::run(argv[1], std::chrono::seconds(std::stoul(argv[2])), kind == "compute");
}
