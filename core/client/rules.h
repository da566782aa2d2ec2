#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/time.h"

// What the client decides, as pure functions of their arguments.

namespace larder {

// Until when a reader may rely on what it was told with a lease, on its own clock: counted from
// before it asked, less 1 % and 2 ms, so that a drift of 0.5 % between the clocks is inside the
// promise (design: §4, Get). Not after `asked` if the lease is too short for that.
Time lease_deadline(Time asked, Duration lease);

// How long to wait before the `attempt`-th repetition (from 0): doubling from 10 ms to 500 ms, each
// between half and all of it as `jitter` in [0, 1) says, so that clients do not come in step.
Duration retry_delay(std::uint32_t attempt, double jitter);

// Whether asking a master the same again may help: its queue is full, it recovers, it does not know
// the session (which is then opened again), or it is not the newest one.
bool is_repeatable(ErrorCode code);

struct ReplicaCandidate {
  bool usable = false;  // not failed in this call, segment known, endpoint not known as dead
  bool local = false;   // on the reader's own host
};
// A usable replica on the reader's host if there is one, else any usable one: `spread`, a hash of
// key and reader, divides readers over equal replicas. Nothing if none is usable.
std::optional<std::size_t> choose_replica(std::span<const ReplicaCandidate> candidates,
                                          std::uint64_t spread);

enum class NextStep : std::uint8_t { next_replica, ask_again, give_up };
struct ReadProgress {
  std::size_t usable_replicas = 0;  // of the list at hand, those that failed left out
  std::uint32_t times_asked = 1;    // the master, for this item
  Time now;
  Time lease_deadline;
  Time deadline;  // of the call
};
// After a replica could not be read: another one while the list may be relied on, else a new list,
// once, else the error.
NextStep next_step(const ReadProgress& progress);

// By when one transfer must have ended, so that a node that stands still leaves time for what the
// caller can do then: a stall (`patience`) longer than the bytes take at 50 MB/s, but at least half
// and at most three quarters of the time that is left.
struct TransferTerms {
  Bytes bytes;  // of the whole transfer
  Time now;
  Time deadline;  // of the call
  Duration patience{0};
};
Time transfer_deadline(const TransferTerms& terms);

}  // namespace larder
