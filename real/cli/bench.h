#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "real/cli/latencies.h"
#include "real/client/pool.h"

namespace larder::real {

struct BenchPlan {
  // Weights of the calls.
  double puts = 1;
  double gets = 8;
  double exists = 1;
  Bytes value = 1_MiB;
  std::uint64_t keys = 256;   // stored before, which gets and exists ask for
  std::uint64_t batch = 1;    // items of a call
  std::uint64_t threads = 1;  // each with its own calls
  std::uint64_t clients = 1;  // pools, over which the threads are spread
  std::uint64_t depth = 1;    // calls of each thread under way at once
  Duration time = std::chrono::seconds(10);
  Duration warm_up = std::chrono::seconds(1);  // not counted
  bool verify = false;                         // each byte that is read is compared
  bool evict = false;  // may displace what others have stored; else it keeps to the free space
};

// What came of the calls of one kind.
struct BenchCount {
  Latencies calls;
  std::uint64_t items = 0;
  std::uint64_t done = 0;   // items: stored, read, answered
  std::uint64_t found = 0;  // of those: of a get and of exists, that were there
  std::uint64_t wrong = 0;  // read and not what was put
  std::uint64_t bytes = 0;
  std::map<ErrorCode, std::uint64_t> errors;  // of items; a missing key is none

  void add(const BenchCount& other);
};

struct BenchResult {
  BenchCount put;
  BenchCount get;
  BenchCount exists;
  Duration time{0};  // that was counted
};

// Errors: invalid_params (what makes no sense, and why), buffer_overflow (the buffers do not fit
// into this machine's memory).
Status check(const BenchPlan& plan);

// Stores the keys, runs the mix, and removes all that it has put; `progress` hears the share of the
// time that has passed. All its keys begin with a name that is drawn. Errors: of `connect`, and if
// the keys cannot be stored; no_available_handle, if they do not fit beside what is stored.
// Errors of single calls are counted.
Result<BenchResult> run_bench(const BenchPlan& plan, const std::function<Result<Pool>()>& connect,
                              const std::function<void(double)>& progress);

}  // namespace larder::real
