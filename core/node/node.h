#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/identity.h"
#include "core/base/time.h"
#include "core/node/effects.h"
#include "core/node/ended_puts.h"
#include "core/node/extent_map.h"
#include "core/protocol/answer.h"
#include "core/protocol/command.h"
#include "core/protocol/fill.h"
#include "core/protocol/limits.h"

namespace larder {

struct NodeConfig {
  std::string name;
  std::string endpoint;  // where its bytes are asked for
  std::string host;
  std::string rack;
  Timing timing;
  Guards guards;
  std::size_t fill_slots = 256;           // parts that may be on their way at once
  std::size_t open_fills_max = 65536;     // with those that wait for their next part
  std::size_t reads_max = 65536;          // in flight
  std::size_t verifies_max = 64;          // in flight
  std::size_t ended_puts_max = 1 << 20;   // see EndedPuts
  std::size_t confirmations_max = 65536;  // that wait to be sent; more are dropped and asked again
  std::size_t inventory_part_items = items_per_piece;
};

struct FillBegun {
  FillId id;
  bool already_sealed = false;  // this very put is here, whole: drop the payload and answer OK
};

// How the last part of a fill ended.
struct FillResult {
  std::optional<std::uint64_t> expected;  // the writer's checksum, if it came after the payload
  std::optional<std::uint64_t> computed;  // of what is in the extent
  bool writer_waits = true;
};

struct ReadItem {
  ExtentName extent;
  std::optional<std::string_view> tenant;  // the reader's, where it is known
  Bytes offset;                            // in the payload
  Bytes length;
};

struct ReadBegun {
  ReadId id;
  Bytes payload_size;
  std::optional<std::uint64_t> checksum;  // of the whole payload
};

// For people and tests.
struct NodeStatus {
  IncarnationId incarnation;
  Epoch epoch;  // that it obeys
  InstanceId instance;
  Epoch taken_epoch;
  std::uint64_t registration = 0;
  bool reported = false;                   // the report of this registration is complete
  std::array<std::uint64_t, 3> extents{};  // by FillState
  std::array<Bytes, 3> bytes{};
  std::size_t fills_in_flight = 0;
  std::size_t open_fills = 0;
  std::size_t reads_in_flight = 0;
  std::size_t ended_puts = 0;
  std::uint64_t overlaps = 0;
  Duration fill_queue{0};
  std::string last_error;  // what a master answered last, other than Done
};

// A node's map of its extents, and what it says to its master (design: §4, §5). It has no I/O, no
// clock and no thread: `now` never decreases, and one thread calls it. A refusal changes nothing.
//
// A part of a fill, and a read, is *in flight* from begin_… until the driver ends it (part_done,
// seal, end_fill, connection_closed; end_read, verified). The driver ends one only when nothing can
// touch the extent for it any more. Calls that name one that has ended already do nothing; those
// that return a Status say `cancelled`.
class Node {
 public:
  // `memory` must outlive the node.
  Node(NodeConfig config, IncarnationId incarnation, SegmentMemory& memory);

  // May come later too: the node then registers again. Errors: segment_already_exists,
  // invalid_params, not_supported (kind FILE).
  Status add_segment(Time now, NodeSegment segment, NodeEffects& effects);

  // ---- the master's side ------------------------------------------------------------------
  void connected(Time now, NodeEffects& effects);
  void disconnected(Time now);
  void answered(Time now, std::uint64_t ticket, const Answer& answer, NodeEffects& effects);
  // Obeyed if it is for this incarnation and of the very master that this node obeys.
  void command(Time now, const Command& command, NodeEffects& effects);

  // ---- writers ----------------------------------------------------------------------------
  // Takes one part (a whole fill is one part) into its extent. Errors: fill_refused (of another
  // epoch, retired or ended before, overlaps what is here, a gap before this part);
  // segment_not_found (of another incarnation); invalid_params, invalid_key; busy: no slot is free
  // (a driver may wait and ask again if fill_queue() is short), or this very fill is in flight. A
  // fill whose connection has closed may be begun again, from 0 or from where its last whole part
  // ended, while it is not given up (Timing::fill_stalled). O(log extents).
  Result<FillBegun> begin_fill(Time now, const FillItem& item, ConnectionId connection);
  // Bytes of the part that are in place; keeps the fill from being given up as stalled.
  void progress(Time now, FillId id, Bytes moved);
  // A part that is not the last is in place.
  Status part_done(Time now, FillId id, NodeEffects& effects);
  // The last part is in place. OK: sealed, and readable. Otherwise the fill has ended: cancelled
  // (the writer does not wait any more, or the fill was aborted), checksum_mismatch. Precondition,
  // with the checksum guard on: `computed` is there if the writer's is.
  Status seal(Time now, FillId id, const FillResult& result, NodeEffects& effects);
  // Given up, cancelled or aborted, also between two parts. The node takes no fill of this put in
  // this place any more.
  void end_fill(Time now, FillId id, NodeEffects& effects);
  // Nothing that came over it is in flight any more. Its fills stay unsealed; see begin_fill.
  // O(open fills).
  void connection_closed(Time now, ConnectionId connection, NodeEffects& effects);

  // ---- readers whose ranges the node checks (tcp) --------------------------------------------
  // Errors: segment_not_found, replica_is_gone, replica_is_not_ready, invalid_params (not inside
  // the payload), busy. O(log extents).
  Result<ReadBegun> begin_read(Time now, const ReadItem& item);
  void end_read(Time now, ReadId id, NodeEffects& effects);
  // Ends a read that `effects.verify` asked for.
  void verified(Time now, ReadId id, std::uint64_t checksum, NodeEffects& effects);

  // ---- time ---------------------------------------------------------------------------------
  // A bounded amount of due work; next_deadline() says when to call it next (an instant that has
  // passed: at once). Any other call may change it.
  void tick(Time now, NodeEffects& effects);
  std::optional<Time> next_deadline() const;

  // ---- to look at ---------------------------------------------------------------------------
  // Since its start; what its heartbeats bring. No part of the digest.
  const StageTimes& stages() const { return stages_; }
  // How long a fill that comes now would wait for a slot; zero while one is free.
  Duration fill_queue(Time now) const;
  NodeStatus status(Time now) const;  // O(extents)
  void check_invariants() const;      // O(extents)
  std::uint64_t digest() const;       // of the state, O(extents)
  // What it is, apart from how it came about (core/base/identity.h). Who waits for fills and reads
  // names them before.
  void add_identity(Identity& identity, Time now) const;

 private:
  enum class Stage : std::uint8_t {
    receiving,  // in flight
    waiting,    // for its next part, or after its connection closed; nothing is in flight
    ending,     // in flight, and the driver was asked to end it
  };
  struct Fill {
    ExtentPlace place;
    ConnectionId connection;
    Stage stage = Stage::receiving;
    bool last_part = false;
    bool orphaned = false;  // its connection has closed
    bool older = false;     // of an epoch before the obeyed one
    std::optional<std::uint64_t> expected;
    Bytes received;  // in whole parts
    Bytes part_length;
    Bytes moved;  // of the part
    Time began;   // the part
    Time deadline;
    Time due;  // its entry in due_, not after `deadline`; time_never: none
  };
  struct Read {
    std::optional<ExtentPlace> place;  // none: not counted, for runs without the footer guard
    Time due;
    Time began;
    bool verifies = false;
  };
  using Fills = std::map<FillId, Fill>;
  using Reads = std::map<ReadId, Read>;

  enum class Link : std::uint8_t { none, registering, preparing, reporting, reported };
  // At most one call of each kind waits for its answer.
  enum class Call : std::uint8_t { register_node, inventory, heartbeat, confirm, corrupt };
  struct Awaited {
    std::uint64_t ticket = 0;  // 0: none
    Time deadline = time_never;
  };
  // Where a walk over all extents stands: behind this one.
  struct Cursor {
    SegmentId segment;
    std::optional<ExtentKey> extent;
  };

  // fills.cpp
  Result<StoredSegment*> check_shape(const FillItem& item);
  Status check_new(const StoredSegment& segment, const FillItem& item);
  Status check_slot(Time now);
  Result<FillBegun> continue_fill(Time now, ExtentPlace place, const FillItem& item,
                                  ConnectionId connection);
  FillBegun start_part(Time now, Fill fill, const FillItem& item);
  void write_footer(ExtentPlace place);
  void abort(Fills::iterator fill, NodeEffects& effects);
  void finish(Fills::iterator fill);  // unsealed, and nothing of it is in flight
  void forget(Fills::iterator fill);
  void schedule(Fills::iterator fill, Time deadline);
  void fill_due(Time now, Fills::iterator fill, NodeEffects& effects);

  // reads.cpp
  ReadBegun start_read(Time now, std::optional<ExtentPlace> place, const ReadItem& item);
  Result<ReadBegun> read_unchecked(Time now, StoredSegment& segment, const ReadItem& item);
  void finish(Reads::iterator read);
  void verify(Time now, const ExtentName& name, NodeEffects& effects);

  // retirement.cpp
  std::optional<ExtentPlace> find(const ExtentName& name);
  void retire(ExtentPlace place, NodeEffects& effects);
  void retire_named(const ExtentName& name, NodeEffects& effects);
  void release_if_idle(ExtentPlace place);
  void confirm(const ExtentName& name);
  void begin_retire_all(NodeEffects& effects);
  void retire_some(NodeEffects& effects);
  ConfirmRetirement next_confirmation(Time now);

  // master_side.cpp
  void register_now(Time now, NodeEffects& effects);
  void registered(Time now, const NodeRegistered& answer, NodeEffects& effects);
  void refused(Time now, Call call, const Error& error, NodeEffects& effects);
  void meet(Epoch epoch, InstanceId instance, NodeEffects& effects);
  void drop_confirmations();
  void lose(NodeEffects& effects);
  void leave(NodeEffects& effects);
  void send(Time now, Call call, RequestBody body, NodeEffects& effects);
  void send_inventory_part(Time now, NodeEffects& effects);
  void send_corrupt(Time now, NodeEffects& effects);
  void settle(Time now, NodeEffects& effects);  // sends what may be sent by now
  ReportInventory::Item inventory_item(Time now, const ExtentPlace& place) const;

  // identity.cpp
  void add_extents(Identity& identity, Time now) const;
  void add_fill(const Fill& fill, Identity& identity, Time now) const;
  void add_link(Identity& identity, Time now) const;

  Awaited& awaited(Call call) { return awaited_[static_cast<std::size_t>(call)]; }

  std::optional<ExtentPlace> after(const Cursor& cursor);
  std::size_t extent_count() const;

  const NodeConfig config_;
  const IncarnationId incarnation_;
  SegmentMemory& memory_;
  std::map<SegmentId, StoredSegment> segments_;

  Fills fills_;
  Reads reads_;
  std::set<std::pair<Time, std::uint64_t>> due_;  // fills and reads, which share their numbers
  std::uint64_t next_id_ = 1;
  std::size_t fills_in_flight_ = 0;
  std::size_t older_fills_ = 0;  // that must end before the report
  std::size_t verifies_ = 0;
  std::uint64_t footers_ = 0;  // written and not overwritten
  std::uint64_t overlaps_ = 0;
  EndedPuts ended_;

  Epoch epoch_;
  InstanceId instance_;
  Epoch taken_epoch_;
  std::uint64_t registration_ = 0;
  Link link_ = Link::none;
  bool lost_ = false;
  bool finished_told_ = false;
  bool retiring_all_ = false;  // until nothing is left; then the report, or the end
  std::optional<Cursor> retire_cursor_;
  Cursor report_cursor_;
  std::uint32_t report_part_ = 0;
  bool report_last_ = false;
  Duration heartbeat_;
  Time heartbeat_at_ = time_never;
  Time register_at_ = time_never;
  std::uint64_t next_ticket_ = 1;
  std::array<Awaited, 5> awaited_;
  std::deque<ExtentName> confirm_;
  std::deque<ExtentName> held_;
  std::deque<ExtentName> corrupt_;  // the first corrupt_sent_ of them wait for their answer
  std::size_t corrupt_sent_ = 0;
  std::string last_error_;
  StageTimes stages_;
};

}  // namespace larder
