#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/planning/run.h"
#include "workloads/generate.h"

namespace larder::sim {

// A deployment that is simulated in no time: two engines of one GPU with a small model, two nodes.
inline Setting small_setting() {
  Setting setting{.cluster = "8xh800-8x200",
                  .hosts = 2,
                  .model = "llama-3.1-8b",
                  .engines = 2,
                  .gpus_per_engine = 1,
                  .host_memory = Bytes{128ull << 30},
                  .nodes = 2,
                  .memory_per_node = Bytes{16ull << 30}};
  setting.hardware = hardware_preset(setting.cluster).value();
  setting.model_numbers = model_preset(setting.model).value();
  return setting;
}

// Sees everything and keeps the records.
struct Records final : RunWatcher {
  void ended(const ServedRequest& request) override {
    all.push_back(request.record);
    for (std::size_t page = request.record.hits();
         request.record.prefill_begin != instant_never && page < request.blocks.size(); ++page) {
      ++by_page[static_cast<std::size_t>(request.missing[page])];
    }
  }
  bool go_on(std::uint64_t, Duration) override { return !give_up; }
  std::vector<RequestRecord> all;
  std::array<std::uint64_t, miss_reasons> by_page{};
  bool give_up = false;
};

inline std::unique_ptr<workloads::TraceReader> small_trace(std::uint64_t requests = 200) {
  return workloads::generate_trace({.requests = requests, .requests_per_second = 4}).value();
}

inline Result<Run> run_small(const Setting& setting, Records& records,
                             std::uint64_t requests = 200) {
  const auto trace = small_trace(requests);
  return run(setting, *trace, records);
}
inline Result<Run> run_small(const Setting& setting) {
  Records records;
  return run_small(setting, records);
}

}  // namespace larder::sim
