#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "sim/kernel/kernel.h"
#include "workloads/trace.h"

namespace larder::sim {

// Requests that come later than that are not simulated: it would take for ever, whatever it said.
inline constexpr Duration arrivals_within = std::chrono::hours(24 * 366);

// A time of a trace, so many times as fast: at most a day beyond what is simulated.
Duration sped_up(Duration time, double speed);
// Whether a request comes within what is simulated. Errors: invalid_params, which names it.
Status check_arrival(std::uint64_t number, Duration since_begin);

// When the requests of a trace come. Confined to the kernel's thread.
class Arrivals {
 public:
  class Taker {
   public:
    virtual ~Taker() = default;
    // One has come. `number` is its place in the trace; it lives until the call returns. An error
    // ends the arrivals.
    virtual Status arrive(const workloads::Request& request, std::uint64_t number) = 0;
  };

  virtual ~Arrivals() = default;
  // Once. The reader outlives the arrivals. Errors are those of the trace, of check_arrival, and
  // those below.
  virtual Status begin(workloads::TraceReader& reader) = 0;
  // A request of this speaker has ended, however.
  virtual void ended(const workloads::Speaker& speaker) = 0;
  // Whether no more will come; after an error none will.
  virtual bool done() const = 0;
  // What was wrong with the trace, as far as it was read.
  virtual const Status& status() const = 0;
};

// Open loop: at the trace's times, `speed` times as fast, whatever becomes of those before. The
// trace is read as it goes. Precondition: speed is finite and above zero.
std::unique_ptr<Arrivals> open_loop(Kernel& kernel, double speed, Arrivals::Taker& taker);

struct ClosedLoopRules {
  double speed = 1;  // finite, above zero: times are divided by it
  // At most so many sessions at once, the others in their order when one has ended. Nothing: each
  // begins when it does in the trace.
  std::optional<std::uint32_t> sessions_at_once;
};
// Closed loop: a speaker's next request comes a think time after the end of the one before it.
// Where the trace has no think time, as long after the one before as in the trace, but not before
// that has ended. A sub-agent begins as long after that request of its session's own agent as in
// the trace behind which it began there. The trace is read whole; one that does not tell its
// sessions is an error, INVALID_PARAMS.
std::unique_ptr<Arrivals> closed_loop(Kernel& kernel, const ClosedLoopRules& rules,
                                      Arrivals::Taker& taker);

}  // namespace larder::sim
