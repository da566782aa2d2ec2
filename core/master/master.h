#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "core/base/time.h"
#include "core/master/config.h"
#include "core/master/effects.h"
#include "core/protocol/request.h"

namespace larder {

// The master: keeps the directory of objects, replicas, segments, leases and space, and never
// touches a value's bytes (design: §4, §5). A state machine: requests and the time go in, effects
// come out; no I/O, clock or thread. `now` never decreases. Confined to one thread. The same calls
// with the same configuration give the same effects and the same digest, to the bit.
//
// Bad input is answered with an error and changes nothing. A broken invariant aborts.
class Master {
 public:
  // INVALID_PARAMS for a configuration that makes no sense. `state`: of earlier masters, if any.
  static Result<std::unique_ptr<Master>> make(Time now, const MasterConfig& config,
                                              const MasterIdentity& identity,
                                              const MasterState& state);
  ~Master();

  // One request, with at most items_per_piece items for the sake of those who wait (not checked).
  void apply(Time now, Ticket ticket, const Request& request, MasterEffects& effects);
  // The connection of a node broke; it is hidden soon if it does not come back.
  void node_disconnected(Time now, IncarnationId incarnation, std::uint64_t registration);

  // A bounded amount of the work that is due. Call it again when next_deadline() has come.
  void tick(Time now, MasterEffects& effects);
  // Nothing: no work is due at any time, unless a call changes that. In the past: more work is due.
  std::optional<Time> next_deadline() const;

  // A newer master was seen. It answers nothing but EPOCH_SUPERSEDED from then on: end the process.
  bool superseded() const;

  // For people and drivers.
  StatusReport status(Time now) const;
  Epoch epoch() const;

  // Asserts what must always hold. A full walk.
  void check_invariants() const;
  // Of the whole state, with instants relative to `now`. A full walk.
  std::uint64_t digest(Time now) const;

 private:
  class State;
  explicit Master(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace larder
