#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/archive.h"
#include "core/base/error.h"
#include "core/base/identity.h"
#include "core/base/time.h"
#include "core/master/config.h"
#include "core/master/effects.h"
#include "core/protocol/request.h"
#include "core/protocol/stages.h"

namespace larder {

// A line of a StatusReport.
StatusReport::Stage stage_of(std::string where, std::string stage, const Histogram& times);

// Which items of a request: [first, end), or to its last one. A request without a list is one item.
struct Piece {
  std::size_t first = 0;
  std::size_t end = ~std::size_t{0};
};

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

  // One request. So that others need not wait for a long one, a driver hands it over in pieces of
  // items_per_piece (not checked), in order and under one ticket, and serves others in between. A
  // repeated call gets the first answer for each item that was begun, and goes on with the others.
  void apply(Time now, Ticket ticket, const Request& request, MasterEffects& effects,
             Piece piece = {});
  // The connection of a node broke; it is hidden soon if it does not come back.
  void node_disconnected(Time now, IncarnationId incarnation, std::uint64_t registration);

  // A bounded amount of the work that is due. Call it again when next_deadline() has come.
  void tick(Time now, MasterEffects& effects);
  // Nothing: no work is due at any time, unless a call changes that. In the past: more work is due.
  std::optional<Time> next_deadline() const;

  // A newer master was seen. It answers nothing but EPOCH_SUPERSEDED from then on: end the process.
  bool superseded() const;

  // The whole state but the durations that status() tells, in some 150 bytes for each object with a
  // key of 30. A master that is loaded from it has the same digest and gives the same effects from
  // then on. Between two calls; save() is a full walk that changes nothing.
  void save(Archive& archive) const;
  static Result<std::unique_ptr<Master>> load(Archive& archive);

  // Between two calls. O(objects). Errors: invalid_params; nothing is changed then.
  Status change(const MasterChange& change);

  // For people and drivers. O(nodes); the driver adds the stages of its own.
  StatusReport status(Time now) const;
  // The stages of all clients together, and of a node (nullptr for one that is not known).
  const StageTimes& client_stages() const;
  const StageTimes* node_stages(std::string_view node) const;
  Epoch epoch() const;
  // What DescribeObjects answers; no version: there is none. O(1), as the next two.
  ObjectDetails describe(Time now, std::string_view tenant, std::string_view key) const;
  struct Who {
    std::string_view tenant;
    std::string_view client;
  };
  std::optional<Who> session(SessionId id) const;         // none: it is not known
  const SegmentDescription* segment(SegmentId id) const;  // nullptr: likewise
  std::vector<std::string_view> tenants() const;

  // Asserts what must always hold. A full walk.
  void check_invariants() const;
  // Of the whole state, with instants relative to `now`. A full walk.
  std::uint64_t digest(Time now) const;
  // What it is, apart from how it came about (core/base/identity.h). A full walk. Tickets count as
  // they are.
  void add_identity(Identity& identity, Time now) const;

 private:
  class State;
  explicit Master(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace larder
