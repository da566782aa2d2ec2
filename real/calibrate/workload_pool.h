#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "proto/calibration/calibration.h"
#include "real/calibrate/server_process.h"
#include "real/client/pool.h"

namespace larder::real {

// How long a workload runs.
struct WorkloadTime {
  Duration warm_up = std::chrono::milliseconds(40);  // not counted
  Duration measured = std::chrono::milliseconds(250);
  std::uint64_t calls_min = 8;  // of each client: longer, until they have ended
};

// A pool on this machine that workloads are run on. Over tcp: a master and a node, processes of
// their own with the defaults of the program, and clients in this process, each with its
// connections, thread and caller. local: all of it in this process, with one thread that moves the
// bytes and one for each caller. Confined to one thread.
class WorkloadPool {
 public:
  // Errors: the pool could not be started.
  static Result<WorkloadPool> start(CalibratedTransport transport, Bytes memory);

  // The values of that size that gets will find; once for each size.
  Status store(Bytes size);
  // Runs it. What it puts is removed afterwards. Precondition: store() for its size.
  // Errors: of any call that did not do what it should.
  Result<WorkloadRun> run(const Workload& workload, const WorkloadTime& time);
  // The same with calls that only ask whether the values are there.
  Result<WorkloadRun> run_exists(const Workload& workload, const WorkloadTime& time);

 private:
  struct Asked;
  WorkloadPool() = default;
  Result<WorkloadRun> run(const Asked& asked, const WorkloadTime& time);
  Status open_clients(std::uint32_t clients);
  Status clear(std::uint64_t values);
  Pool& client(std::uint32_t number);

  CalibratedTransport transport_ = CalibratedTransport::tcp;
  Bytes memory_;
  std::vector<ServerProcess> servers_;  // master, node; none: all in this process
  std::vector<Pool> clients_;
  Bytes stored_;  // all that gets will find
};

// How many values of a size gets are spread over.
std::uint64_t stored_values(Bytes size);

}  // namespace larder::real
