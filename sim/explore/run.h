#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "core/base/assert.h"
#include "sim/explore/history.h"
#include "sim/explore/scenario.h"
#include "sim/explore/time_line.h"

namespace larder::sim {

struct RunConfig {
  Guards guards;                // some off: what would go wrong without them
  bool stops_at_first = false;  // violation; otherwise it goes on to its rest
  bool stops_at_wrong_read = false;
  // The time line: of the steps alone, or also of what comes when the faults have stopped.
  enum class Tells : std::uint8_t { nothing, steps, all } tells = Tells::nothing;
};

struct RunResult {
  std::uint64_t state_hash = 0;
  std::uint64_t events = 0;
  OperationCounts operations;
  std::size_t in_flight_max = 0;  // operations of all clients at once
  Duration virtual_time{0};
  std::vector<Violation> violations;
  std::uint64_t wrong_reads = 0;  // among them: those of I1, I2 and I3
  std::vector<TimeLineEntry> time_line;
  std::string refused;  // the broken assertion of the core that ended it; empty: none did
};

// The world of a scenario, from its beginning to its rest. Operations and faults come at their
// instants, and safety is checked throughout: the machines after each step, everything every 256
// steps and at the end. Then the faults stop, everything dead is started again, and the pool must
// come to rest (history.h names what must hold). An operation of a client that is dead does not
// begin. The same scenario and configuration give the same result on any machine.
//
// A broken invariant of a machine ends the run, and is a violation, while ThrowingAssertions lives.
RunResult run_scenario(const Scenario& scenario, const RunConfig& config);

// A broken invariant of a machine, thrown out of the world in which it broke. What is left of that
// world is broken in the middle of a step; taking it apart could break more.
struct BrokenInvariant {
  std::string text;
};

// Makes LARDER_ASSERT throw, in all threads, so that a run can go on to report it. Through a
// coroutine it cannot be thrown, and the process ends: then the seed and the assertion are printed.
class ThrowingAssertions {
 public:
  ThrowingAssertions();
  ~ThrowingAssertions();
  ThrowingAssertions(const ThrowingAssertions&) = delete;
  ThrowingAssertions& operator=(const ThrowingAssertions&) = delete;

 private:
  AssertionHandler before_;
  std::terminate_handler terminate_before_;
};

}  // namespace larder::sim
