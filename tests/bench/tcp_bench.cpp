// What a client gets and puts over TCP on one machine: a master, a node and this client, each a
// process, held against one stream of iperf3 in the same run. The checksum is what a deployment has
// on; without it the path is the same but for the passes over the data.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "real/client/pool.h"
#include "real/client/pool_task.h"
#include "real/rpc/socket.h"
#include "tests/bench/process.h"
#include "tests/bench/report.h"

namespace larder::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t batch = 16;
constexpr std::size_t values = 256;  // that gets read, more than the caches hold
constexpr Duration window = 1s;      // of one measurement

// ---- iperf3 -------------------------------------------------------------------------------------

constexpr const char* system_default = "default";

std::string free_port() {
  const real::Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), generic, length) != 0 ||
      ::getsockname(socket.get(), generic, &length) != 0) {
    throw std::runtime_error("no free port");
  }
  return std::to_string(ntohs(address.sin_port));
}

// Bytes in a second of one stream.
double iperf3(const std::string& congestion) {
  const std::string port = free_port();
  Process server({"iperf3", "--server", "--one-off", "--forceflush", "--port", port});
  while (server.line().find("listening") == std::string::npos) {
  }
  std::vector<std::string> command{"iperf3", "--client", "127.0.0.1", "--port",
                                   port,     "--time",   "1",         "--json"};
  if (congestion != system_default) {
    command.push_back("--congestion");
    command.push_back(congestion);
  }
  const auto report = nlohmann::json::parse(Process(command).rest());
  return report.at("end").at("sum_received").at("bits_per_second").get<double>() / 8;
}

void stream(benchmark::State& state, const std::string& congestion) {
  double rate = 0;
  for (auto _ : state) rate = iperf3(congestion);
  report_value(state, "GB/s", rate / 1e9);
}

// ---- a pool and its client ----------------------------------------------------------------------

struct Servers {
  explicit Servers(const std::string& congestion) {
    master_endpoint = endpoint_of(master);
    std::vector<std::string> command{larder(),        "node",     "--master",
                                     master_endpoint, "--memory", "1GiB",
                                     "--log-level",   "error",    "--json"};
    if (congestion != system_default) {
      command.push_back("--tcp-congestion");
      command.push_back(congestion);
    }
    node = std::make_unique<Process>(command);
    endpoint_of(*node);
  }

  Process master{{larder(), "master", "--listen", "127.0.0.1:0", "--log-level", "error", "--json"}};
  std::unique_ptr<Process> node;
  std::string master_endpoint;
};

struct Case {
  bool put = false;
  std::string congestion;
  bool checksum = true;
  std::size_t in_flight = 1;  // calls
  std::size_t items = batch;  // of each
  std::size_t size = 1 << 20;

  std::string name() const {
    return std::string(put ? "put" : "get") + "_1MiB/" + congestion +
           (checksum ? "/checksums/" : "/no_checksums/") +
           (in_flight == 1 ? "batches_of_16" : "8_in_flight");
  }
};

class Pool {
 public:
  explicit Pool(const Case& what)
      : what_(what),
        servers_(what.congestion),
        pool_(*larder::Pool::open(
            {.master = servers_.master_endpoint,
             .tcp_congestion = what.congestion == system_default ? "auto" : what.congestion,
             .checksum = what.checksum})) {
    Random random(1);
    for (std::size_t i = 0; i < what.in_flight * what.items; ++i) {
      std::vector<std::byte>& buffer = buffers_.emplace_back(what.size);
      for (std::byte& b : buffer) b = static_cast<std::byte>(random.next());
      into_.emplace_back(buffer);
      from_.emplace_back(buffer);
    }
  }

  // Calls for about `time`, as many at once as the case says. Bytes that were moved.
  double run(Duration time) {
    bytes_ = 0;
    check(real::run_on(pool_, [&](Client& client, const Clock& clock) {
      return all({client, clock, clock.now() + time});
    }));
    return bytes_;
  }
  void store() {
    for (std::size_t i = 0; i < values; i += batch) {
      std::vector<std::string> keys;
      for (std::size_t k = 0; k < batch; ++k) keys.push_back("value/" + std::to_string(i + k));
      std::vector<PutItem> items;
      for (std::size_t k = 0; k < batch; ++k) {
        items.push_back({.key = keys[k], .value = std::span(&from_[k % from_.size()], 1)});
      }
      for (const auto& result : pool_.put(items)) check(result);
    }
  }

 private:
  template <class T>
  static void check(const Result<T>& result) {
    if (!result) throw std::runtime_error(result.error().message());
  }

  struct Run {
    Client& client;
    const Clock& clock;
    Time until;
  };
  Task<Status> all(Run run) {
    std::vector<Task<Done>> callers;
    for (std::size_t i = 0; i < what_.in_flight; ++i) callers.push_back(calls(run, i));
    co_await JoinAll(std::move(callers));
    co_return Status();
  }

  Task<Done> calls(Run run, std::size_t caller) {
    Client& client = run.client;
    while (run.clock.now() < run.until) {
      std::vector<std::string> keys;
      for (std::size_t i = 0; i < what_.items; ++i) {
        keys.push_back(what_.put ? "new/" + std::to_string(next_++)
                                 : "value/" + std::to_string(next_++ % values));
      }
      const std::size_t first = caller * what_.items;
      if (what_.put) {
        std::vector<PutItem> items;
        for (std::size_t i = 0; i < keys.size(); ++i) {
          items.push_back({.key = keys[i], .value = std::span(&from_[first + i], 1)});
        }
        for (const auto& r :
             co_await client.put(items, {}, client.operation_deadline(Bytes{1 << 20}))) {
          check(r);
        }
      } else {
        std::vector<GetItem> items;
        for (std::size_t i = 0; i < keys.size(); ++i) {
          items.push_back({.key = keys[i], .into = std::span(&into_[first + i], 1)});
        }
        for (const auto& r : co_await client.get(items, client.operation_deadline(1_MiB))) check(r);
      }
      bytes_ += static_cast<double>(what_.items * what_.size);
    }
    co_return Done{};
  }

  Case what_;
  Servers servers_;
  larder::Pool pool_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<Slice> into_;
  std::vector<ConstSlice> from_;
  std::size_t next_ = 0;
  double bytes_ = 0;
};

std::map<std::string, std::vector<double>> measured;  // GB/s, by benchmark

void move(benchmark::State& state, const Case& what, const std::string& reference) {
  Pool pool(what);
  if (!what.put) pool.store();
  pool.run(100ms);
  double done = 0;
  std::size_t windows = 0;
  for (auto _ : state) {
    done += pool.run(window);
    ++windows;
  }
  report_rate(state, "GB/s", done / 1e9, {reference, std::nullopt});
  measured[what.name()].push_back(done / 1e9 / static_cast<double>(windows));
}

// What was measured already, held against what was measured of Mooncake on such a machine: its
// master and its store's client for TCP, values of 1 MiB over loopback, the best of its runs.
void beside_mooncake(benchmark::State& state, const Case& what, double mooncake) {
  std::vector<double>& runs = measured[what.name()];
  if (runs.empty()) {
    Pool pool(what);
    if (!what.put) pool.store();
    runs.push_back(pool.run(window) / 1e9);
  }
  std::ranges::sort(runs);
  for (auto _ : state) benchmark::DoNotOptimize(runs);
  report_value(state, "GB/s", runs[runs.size() / 2], {"Mooncake v0.3.11.post1", mooncake});
}

void small_gets(benchmark::State& state, Case what) {
  what.items = 1;
  what.size = 4096;
  Pool pool(what);
  pool.store();
  pool.run(100ms);
  double done = 0;
  for (auto _ : state) done += pool.run(window);
  report_rate(state, "gets/s", done / 4096, {"Mooncake v0.3.11.post1, one client", 3940});
}

void register_moves(const std::string& congestion, bool put, double mooncake) {
  Case what{.put = put, .congestion = congestion};
  for (const bool checksum : {false, true}) {
    for (const std::size_t in_flight : {1u, 8u}) {
      what.checksum = checksum;
      what.in_flight = in_flight;
      what.items = in_flight == 1 ? batch : 1;
      benchmark::RegisterBenchmark(what.name().c_str(), move, what,
                                   "iperf3/" + congestion + "/real_time")
          ->UseRealTime();
    }
  }
  const std::string name = std::string(put ? "put" : "get") + "_1MiB/" + congestion + "/mooncake";
  benchmark::RegisterBenchmark(name.c_str(), beside_mooncake, what, mooncake)->Iterations(1);
}

bool available(std::string_view congestion) {
  std::ifstream list("/proc/sys/net/ipv4/tcp_available_congestion_control");
  for (std::string name; list >> name;) {
    if (name == congestion) return true;
  }
  return false;
}

// Mooncake's figures are for the same congestion controls; the machine's default was bbr.
void register_all() {
  for (const std::string congestion : {system_default, "bbr", "cubic"}) {
    if (congestion != system_default && !available(congestion)) continue;
    const bool cubic = congestion == "cubic";
    benchmark::RegisterBenchmark(("iperf3/" + congestion).c_str(), stream, congestion)
        ->UseRealTime();
    register_moves(congestion, false, cubic ? 2.2 : 1.3);
    register_moves(congestion, true, cubic ? 2.5 : 1.5);
    benchmark::RegisterBenchmark(("get_4KiB/" + congestion).c_str(), small_gets,
                                 Case{.congestion = congestion})
        ->UseRealTime();
  }
}

[[maybe_unused]] const int registered = (register_all(), 0);

}  // namespace
}  // namespace larder::bench
