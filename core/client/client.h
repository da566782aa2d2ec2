#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/id.h"
#include "core/base/time.h"
#include "core/client/items.h"
#include "core/client/put_writer.h"
#include "core/ports/clock.h"
#include "core/ports/master_link.h"
#include "core/ports/task.h"
#include "core/ports/transport.h"
#include "core/protocol/answer.h"
#include "core/protocol/limits.h"

// Puts and gets objects of the pool (design: §4). The same code in real/ and sim/: all that it
// knows of the world comes through four ports.
//
// Every call takes a list and gives one result for each item, in order; one item's failure holds up
// no other. Bad items (empty or too long key, no bytes, too many bytes, 0 or more than 16 replicas,
// …) are refused alone, before any I/O. An empty list gives an empty answer and does nothing.
//
// A call is a Task: it starts when it is awaited, and ends within `deadline` plus a tenth of the
// time that it was given. Items, keys, slices and their bytes must live until the task has ended or
// is destroyed. Destroying it gives the call up as a crash at that point would: transfers have
// physically ended when the destructor returns, and puts that it had begun are dead once their time
// allowed has passed.
//
// Errors a caller tells apart: rpc_fail (no master, with its endpoint), rpc_timeout (no answer in
// time), transfer_fail (a node, with its endpoint), invalid_key and invalid_params (the caller),
// no_available_handle (the pool is full), buffer_overflow (the caller's buffer is too small).

namespace larder {

struct ClientPorts {
  const Clock& clock;
  Timers& timers;
  MasterLink& master;
  Transport& transport;
};

struct ClientConfig {
  SessionId session;   // drawn by the driver; names this client across connections
  std::string tenant;  // part of each key's identity
  std::string name;    // for people
  std::string host;    // replicas on it are read first and placed first
  Timing timing;
  Guards guards;
  bool checksum = true;    // off: not one pass over the data
  std::uint64_t seed = 0;  // of the jitter of retries, and of the spread over replicas
};

struct ClientCounters {
  std::uint64_t master_calls = 0;     // requests handed to the link
  std::uint64_t sessions_opened = 0;  // or resumed
  std::uint64_t transfers = 0;        // handed to the transport
  std::uint64_t checksum_passes = 0;  // over one value each, writing or reading
  std::uint64_t puts_restarted = 0;   // items that began once more, elsewhere
  std::uint64_t read_failures = 0;    // of one replica; the get may still have succeeded
};

struct ClientState;

// Confined to one strand, on which any number of calls may run at once. Opens its session with the
// first call, and again whenever a master does not know it. All tasks must be destroyed before it.
class Client {
 public:
  Client(ClientPorts ports, ClientConfig config);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // O(1) calls to the master whatever the number of items, and one transfer for each node. Errors
  // of an item also: put_in_flight (another put of the key has not ended: nothing is stored),
  // invalid_write (removed, taken over or timed out before its end).
  Task<std::vector<Result<PutOutcome>>> put(std::span<const PutItem> items, PutOptions options,
                                            Time deadline);

  // The same for values whose bytes come in parts (core/client/put_writer.h): begin_put asks for
  // space, as many write_parts as one likes give the bytes, and end_put publishes them. Each is one
  // call to the master or one transfer for each node, whatever the number of items. Errors of an
  // item also: invalid_write (the put is dead or has ended, or another call on it is under way).
  Task<std::vector<Result<PutWriter>>> begin_put(std::span<const PutInParts> items,
                                                 PutOptions options, Time deadline);
  Task<std::vector<Status>> write_parts(std::span<const PutPart> parts, Time deadline);
  Task<std::vector<Result<PutOutcome>>> end_put(std::span<PutWriter* const> writers, Time deadline);

  // Reads straight into the slices. Goes on to other replicas, and asks the master once more, by
  // itself. Errors of an item also: object_not_found; lease_expired (the read ended too late to be
  // trusted); checksum_mismatch; replica_is_gone.
  Task<std::vector<Result<GetOutcome>>> get(std::span<const GetItem> items, Time deadline,
                                            GetOptions options = {});

  // A missing key is no error. `lease`: for how long from the answer on a get of it will work.
  Task<std::vector<Result<Existence>>> exists(std::span<const std::string_view> keys,
                                              Time deadline);

  // For callers that must make buffers first; counts as a use of the object, like get, and as a get
  // in the master's figures: tell the get that follows (GetOptions::looked_up). Errors of an item:
  // object_not_found.
  Task<std::vector<Result<ObjectSummary>>> lookup(std::span<const std::string_view> keys,
                                                  Time deadline);

  // OK: no client can read the value any more, and it does not come back. Errors of an item:
  // object_not_found; object_has_lease (unless forced); rpc_timeout: unreadable, but it may come
  // back if the master restarts.
  Task<std::vector<Status>> remove(std::span<const std::string_view> keys, RemoveOptions options,
                                   Time deadline);

  // One part of a walk over this tenant's objects, of at most `limit` (0: as many as the master
  // gives). `cursor` is {} for the first part, then the `next` of the part before. A part may be
  // short or empty with more to come; what an object that comes or goes meanwhile means for the
  // walk says ListObjects. Errors: invalid_params (the pattern; the master has changed: begin
  // again).
  Task<Result<ObjectPage>> list(ListQuery query, ListCursor cursor, std::uint32_t limit,
                                Time deadline);

  // Everything that is known of each key, which is no use of the object. Errors of an item:
  // object_not_found.
  Task<std::vector<Result<ObjectDetails>>> describe(std::span<const std::string_view> keys,
                                                    Time deadline);

  Task<Result<StatusReport>> status(Time deadline);
  // Gives all leases back; for runs in lock step (Quiesce in core/protocol/request.h).
  Task<Result<QuiesceReport>> quiesce(Time deadline);

  // When the driver should run keep_alive(): no other call has done its work since. Changes with
  // each call; time_never without a session.
  Time next_keep_alive() const;
  // Renews the session and brings what is to be reported (leases given back, bad bytes).
  Task<Status> keep_alive(Time deadline);
  // Ends the session: unfinished puts of this client fail, its leases run out. Harmless when it is
  // not open; a later call opens it again.
  Task<Status> close(Time deadline);

  // The usual deadline of an operation on so many bytes, and of a call that moves none.
  Time operation_deadline(Bytes bytes) const;
  Time control_deadline() const;

  const ClientCounters& counters() const;
  // How long lookup, queue and transfer took, since the client's start. What is new of it goes to
  // the master with each renewal of the session.
  const StageTimes& stages() const;

 private:
  std::unique_ptr<ClientState> state_;
};

}  // namespace larder
