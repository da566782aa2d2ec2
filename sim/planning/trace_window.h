#pragma once

#include <cstdint>
#include <optional>

#include "core/base/time.h"
#include "workloads/trace.h"

namespace larder::sim {

// A trace as a run reads it: only so many of its requests, perhaps at other times. Its first
// request can be looked at before it is read.
class TraceWindow final : public workloads::TraceReader {
 public:
  struct Rules {
    std::uint64_t requests_max = 0;  // 0: all
    Duration every{0};               // above 0: request i comes i times that after the start
  };
  // `reader` outlives it.
  TraceWindow(workloads::TraceReader& reader, const Rules& rules)
      : reader_(reader), rules_(rules) {}

  // The request that next() gives first; nullptr where there is none.
  Result<const workloads::Request*> first();
  Result<const workloads::Request*> next() override;
  std::uint64_t requests() const { return read_; }  // so far

 private:
  workloads::TraceReader& reader_;
  const Rules rules_;
  std::optional<const workloads::Request*> looked_at_;
  std::uint64_t read_ = 0;
  workloads::Request moved_;  // the last one, at another time
  Duration arrival_{0};       // of the next one
};

}  // namespace larder::sim
