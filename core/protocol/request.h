#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/id.h"
#include "core/protocol/object.h"
#include "core/protocol/stages.h"

// Requests to a master. Each carries a list and gets one answer for each item, in order (a request
// without a list: one answer). Texts are views into the sender's or the decoder's buffer and must
// outlive the request; OwnedRequest (owned_request.h) keeps a request beyond that.

namespace larder {

// ---- client calls -----------------------------------------------------------------------------

// Makes a session, or resumes one on a new connection. One answer: SessionOpened.
struct OpenSession {
  std::string_view tenant;
  std::string_view client;  // a name for people
  std::string_view host;    // for placement near the writer
};

// Ends a session: its unfinished puts fail now, its leases run out.
struct CloseSession {};

// Renews the session. One answer: Done.
struct KeepAlive {
  StageCounts stages;  // of the client
};

// Asks for space. Answers: PutGrant. Errors: object_already_exists; put_in_flight (another put of
// the key is unfinished, nothing is stored yet); no_available_handle; invalid_params; invalid_key.
// Each item that is granted has a put id of its own, in the order of the items.
struct PutStart {
  struct Item {
    std::string_view key;
    Bytes size;
    std::uint32_t replicas = 1;  // 1 to replicas_max; fewer may be granted
    std::string_view group;
    std::string_view parent;
    Duration soft_pin{0};
    Duration time_to_live{0};
    bool hard_pin = false;
  };
  std::vector<Item> items;
  bool upsert = false;               // a new version beside the old one, swapped at PutEnd
  std::vector<SegmentId> preferred;  // placed there first while they have room
  std::vector<SegmentId> avoid;      // segments on which the caller has just failed
};

// Publishes the replicas that were sealed. Answers: Done. An upsert is answered when every older
// put of the key is retired. Errors: invalid_write (not unfinished: timed out, removed or taken
// over), illegal_client, unavailable_in_current_status (during recovery, a put of an older epoch).
struct PutEnd {
  struct Item {
    std::string_view key;
    PutId put_id;
    std::uint32_t sealed = 0;  // bit i: the i-th replica of the PutGrant
    std::optional<std::uint64_t> checksum;
  };
  std::vector<Item> items;
};

// Gives a put up; takes effect at once. Answers: Done, when the nodes have retired it.
struct PutRevoke {
  struct Item {
    std::string_view key;
    PutId put_id;
  };
  std::vector<Item> items;
};

// Answers: ReplicaList, with a lease. Errors: object_not_found.
struct GetReplicaList {
  struct Item {
    std::string_view key;
  };
  std::vector<Item> items;
  bool again = false;  // of gets that have asked before: not counted as gets once more
};

// Answers: Existence; a missing key is no error.
struct Exists {
  struct Item {
    std::string_view key;
  };
  std::vector<Item> items;
};

// Answers: Done, when every extent of every older put of the key is retired or lost. Kills an
// unfinished put. Errors: object_not_found, object_has_lease (unless forced), rpc_timeout.
struct Remove {
  struct Item {
    std::string_view key;
  };
  std::vector<Item> items;
  bool force = false;
};

// The caller's COMPLETE objects, those on hidden nodes too; no use of them. One answer: ObjectPage.
// A call looks at a bounded part of the directory, so a page may have fewer items than `limit`,
// even none, with more to come. An object that is there from the first call to the last is on
// exactly one page; a key of which the value is replaced meanwhile may be on none or on two.
// Errors: invalid_params (the pattern, or a cursor of another master);
// unavailable_in_current_status (during recovery not everything is known yet).
struct ListObjects {
  std::string_view prefix;
  std::string_view pattern;  // a regular expression (core/pattern), found anywhere; empty: all
  ListCursor cursor;
  std::uint32_t limit = 0;  // items of the page; 0: as many as a page has
};

// Everything that is known of all versions of a key, unfinished ones and those on hidden nodes too;
// no use of the object. Answers: ObjectDetails. Errors: object_not_found.
struct DescribeObjects {
  struct Item {
    std::string_view key;
  };
  std::vector<Item> items;
};

// One answer for each id: SegmentDescription. Errors: segment_not_found.
struct DescribeSegments {
  std::vector<SegmentId> items;
};

// One answer: StatusReport.
struct GetStatus {};

// For runs in lock step: does all due work, and answers when nothing is quarantined and nothing is
// due. One answer: QuiesceReport.
struct Quiesce {};

// ---- node calls -------------------------------------------------------------------------------

// A node offers itself, at its start and on each new connection. One answer: NodeRegistered.
// Errors: node_lost (this incarnation was given up: retire everything and come back as a new one);
// epoch_superseded.
struct RegisterNode {
  IncarnationId incarnation;
  std::uint64_t registration = 0;  // grows with each registration of the incarnation
  Epoch taken_epoch;               // the epoch in which a master last took its report; 0: never
  std::string_view name;
  std::string_view endpoint;
  std::string_view host;
  std::string_view rack;
  struct Segment {
    SegmentId id;
    std::string_view name;
    SegmentKind kind = SegmentKind::memory;
    Bytes size;
    std::int32_t numa_node = -1;
  };
  std::vector<Segment> segments;
};

// What the node holds, in parts of bounded size, numbered from 0. One answer for each part: Done.
struct ReportInventory {
  IncarnationId incarnation;
  std::uint64_t registration = 0;
  std::uint32_t part = 0;
  bool last = false;
  struct Item {
    ExtentName extent;
    bool retiring = false;  // not sealed any more, but not confirmed either
    ObjectRecord record;
    std::optional<std::uint64_t> checksum;
    Duration age{0};  // since it was sealed
  };
  std::vector<Item> items;
};

// One answer: Done. Errors: client_not_found (register again), node_lost.
struct Heartbeat {
  IncarnationId incarnation;
  std::uint64_t registration = 0;
  Duration fill_queue{0};      // how long a fill that comes now would wait
  std::uint64_t overlaps = 0;  // fills refused since its start since they overlapped its map
  StageCounts stages;
};

// The process ends: it serves none of its bytes any more, and this incarnation never will again. It
// counts as lost from now on. One answer: Done. Errors: as for Heartbeat.
struct UnregisterNode {
  IncarnationId incarnation;
  std::uint64_t registration = 0;
};

// One answer: Done.
struct ConfirmRetirement {
  IncarnationId incarnation;
  std::uint64_t registration = 0;
  std::vector<ExtentName> retired;
  struct Held {
    ExtentName extent;
    Duration at_most{0};  // a view or a transfer holds it no longer than that
  };
  std::vector<Held> held;
};

// Extents whose payload does not match its checksum. One answer: Done.
struct ReportCorrupt {
  IncarnationId incarnation;
  std::uint64_t registration = 0;
  struct Extent {
    ExtentName name;
    std::string_view tenant;
    std::string_view key;
  };
  std::vector<Extent> extents;
};

// ---- the whole --------------------------------------------------------------------------------

// Ends one grant of a lease early. Ignored unless everything matches the lease as it stands.
struct LeaseReturn {
  std::uint32_t slot = 0;
  std::uint32_t round = 0;
  PutId put_id;
};

// A reader saw bytes that do not match their checksum.
struct BadBytes {
  ExtentName extent;
  std::string_view key;
};

// What every client call carries besides its body.
struct RequestHeader {
  SessionId session;
  std::uint64_t number = 0;  // counts the session's calls; a repeated one gets the first answer
  std::uint64_t lowest_unanswered = 0;  // below it the session waits for no answer any more
  Epoch highest_epoch;                  // that the caller has been shown
  std::vector<LeaseReturn> lease_returns;
  std::vector<BadBytes> bad_bytes;
};

using RequestBody =
    std::variant<OpenSession, CloseSession, KeepAlive, PutStart, PutEnd, PutRevoke, GetReplicaList,
                 Exists, Remove, ListObjects, DescribeObjects, DescribeSegments, GetStatus, Quiesce,
                 RegisterNode, ReportInventory, Heartbeat, ConfirmRetirement, ReportCorrupt,
                 UnregisterNode>;

struct Request {
  RequestHeader header;
  RequestBody body;
};

// How many answers the request gets.
std::size_t answer_count(const RequestBody& body);
// By RequestBody::index().
inline constexpr std::array<std::string_view, std::variant_size_v<RequestBody>> request_names{
    "OpenSession", "CloseSession",      "KeepAlive",       "PutStart",
    "PutEnd",      "PutRevoke",         "GetReplicaList",  "Exists",
    "Remove",      "ListObjects",       "DescribeObjects", "DescribeSegments",
    "GetStatus",   "Quiesce",           "RegisterNode",    "ReportInventory",
    "Heartbeat",   "ConfirmRetirement", "ReportCorrupt",   "UnregisterNode"};
// "PutStart", for logs and errors.
std::string_view request_name(const RequestBody& body);

}  // namespace larder
