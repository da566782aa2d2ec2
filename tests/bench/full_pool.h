#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "real/client/pool.h"
#include "tests/bench/process.h"
#include "tests/files/temporary.h"

// A pool of processes that is full of small values, for benchmarks of what happens to it.
namespace larder::bench {

using SteadyClock = std::chrono::steady_clock;

inline double seconds_since(SteadyClock::time_point began) {
  return std::chrono::duration<double>(SteadyClock::now() - began).count();
}

struct FullPoolShape {
  std::uint64_t values = 0;
  std::size_t value_bytes = 0;
  std::size_t nodes = 0;
  std::string node_memory;
  std::vector<std::string> master_options = {};
};

// A master and nodes, each a process.
class FullPool {
 public:
  explicit FullPool(FullPoolShape shape) : shape_(std::move(shape)) {
    start_master("127.0.0.1:0");
    for (std::size_t i = 0; i < shape_.nodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      nodes_.push_back(std::make_unique<Process>(std::vector<std::string>{
          larder(), "node", "--master", place_, "--name", name, "--host", name, "--memory",
          shape_.node_memory, "--log-level", "error", "--json"}));
      endpoint_of(*nodes_.back());
    }
    fill();
  }

  static std::string key_of(std::uint64_t i) { return "value/" + std::to_string(i); }

  larder::Pool open() const {
    return *larder::Pool::open({.master = place_, .timeout = std::chrono::seconds(60)});
  }
  void restart_master() {
    master_->end(SIGKILL);
    start_master(place_);
  }
  void kill_node(std::size_t i) { nodes_.at(i)->end(SIGKILL); }

  // The times of lookups of `batch` keys, one after the other, until `done`, in seconds. The first
  // one is left out: it has the connection in it.
  std::vector<double> look_up_until(const std::atomic<bool>& done, std::size_t batch) const {
    larder::Pool pool = open();
    std::vector<double> times;
    std::vector<std::string> keys(batch);
    for (std::uint64_t i = 0; !done; ++i) {
      for (std::size_t k = 0; k < batch; ++k) {
        keys[k] = key_of((i * batch + k) * 7919 % shape_.values);
      }
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      const auto began = SteadyClock::now();
      if (!pool.exists(views).front()) throw std::runtime_error("the master does not answer");
      if (i > 0) times.push_back(seconds_since(began));
    }
    return times;
  }

 private:
  static constexpr std::uint64_t keys_per_call = 500;
  static constexpr std::size_t writers = 4;

  void start_master(const std::string& listen) {
    std::vector<std::string> words{larder(),      "master",      "--listen",
                                   listen,        "--state-dir", state_.path().string() + "/state",
                                   "--log-level", "error",       "--json"};
    words.insert(words.end(), shape_.master_options.begin(), shape_.master_options.end());
    master_ = std::make_unique<Process>(words);
    place_ = endpoint_of(*master_);
  }

  void fill() {
    larder::Pool pool = open();
    const std::vector<std::byte> value(shape_.value_bytes, std::byte{1});
    const ConstSlice slice(value);
    std::atomic<std::uint64_t> next = 0;
    std::atomic<std::uint64_t> failures = 0;
    const auto put = [&] {
      for (std::uint64_t first; (first = next.fetch_add(keys_per_call)) < shape_.values;) {
        std::vector<std::string> keys;
        const std::uint64_t end = std::min(first + keys_per_call, shape_.values);
        for (std::uint64_t i = first; i < end; ++i) keys.push_back(key_of(i));
        std::vector<PutItem> items;
        for (const std::string& key : keys) items.push_back({.key = key, .value = {&slice, 1}});
        for (const auto& result : pool.put(items)) failures += result ? 0 : 1;
      }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < writers; ++i) threads.emplace_back(put);
    for (std::thread& thread : threads) thread.join();
    if (failures != 0) throw std::runtime_error(std::to_string(failures) + " puts failed");
  }

  const FullPoolShape shape_;
  TemporaryDirectory state_;
  std::string place_;
  std::unique_ptr<Process> master_;
  std::vector<std::unique_ptr<Process>> nodes_;
};

}  // namespace larder::bench
