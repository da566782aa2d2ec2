#pragma once

#include <boost/container/small_vector.hpp>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "core/catalog/object.h"
#include "core/master/effects.h"
#include "core/protocol/object.h"
#include "core/protocol/stages.h"
#include "core/space/space.h"

// What a master keeps besides the catalog. Plain records; the rules are in the files of
// Master::State.

namespace larder {

using ListHook = boost::intrusive::list_member_hook<>;

// A call that changes something, remembered until its session waits for it no more, so that a
// repeated one gets the first answers.
struct Call {
  Ticket ticket = 0;
  std::uint64_t number = 0;
  std::uint32_t begun = 0;  // items, from the first on
  Bytes bytes;              // that a PutStart asks for
  std::vector<std::optional<Answer>> answers;
};

// One life of a session: another one may begin under the same id.
struct SessionRef {
  SessionId id;
  std::uint64_t life = 0;  // 0: none
};

// Where a late answer goes. The session or the call may be gone by then.
struct AnswerAddress {
  SessionRef session;
  std::uint64_t number = 0;
  std::uint32_t index = 0;
};

// What few puts ask for.
struct PutWishes {
  Duration soft_pin{0};
  Duration time_to_live{0};
  std::string parent;
  std::vector<SegmentId> preferred;
  std::vector<SegmentId> avoid;
};

struct Session;

// An unfinished put.
struct Put {
  std::uint32_t slot = 0;
  Object* object = nullptr;
  Session* session = nullptr;
  std::uint64_t call = 0;  // its PutStart, and the item there
  std::uint32_t item = 0;
  std::uint32_t replicas_wanted = 1;
  bool waiting = true;                // INITIALIZED: no space yet
  bool over_share = false;            // it waits until its session holds less, not yet for space
  Bytes charged;                      // to its session: what it waits for, then what it has
  Bytes call_bytes;                   // of all items of its call
  Time deadline;                      // for space while it waits, then for PutEnd
  std::unique_ptr<PutWishes> wishes;  // null: none
  ListHook by_age;                    // all unfinished puts, in the order of their ids
  ListHook by_session;
  boost::intrusive::set_member_hook<> by_deadline;
  ListHook by_wait;  // those without space, first come first; or the session's over_share
};
using PutsByAge =
    boost::intrusive::list<Put, boost::intrusive::member_hook<Put, ListHook, &Put::by_age>>;
using PutsOfSession =
    boost::intrusive::list<Put, boost::intrusive::member_hook<Put, ListHook, &Put::by_session>>;
struct EarlierDeadline {
  bool operator()(const Put& a, const Put& b) const {
    return a.deadline != b.deadline ? a.deadline < b.deadline : a.slot < b.slot;
  }
};
using PutsByDeadline = boost::intrusive::set<
    Put, boost::intrusive::member_hook<Put, boost::intrusive::set_member_hook<>, &Put::by_deadline>,
    boost::intrusive::compare<EarlierDeadline>>;
using WaitingPuts =
    boost::intrusive::list<Put, boost::intrusive::member_hook<Put, ListHook, &Put::by_wait>>;

struct Session {
  SessionId id;
  TenantId tenant = 0;
  std::string client;
  std::string host;
  std::uint64_t life = 0;
  Time last_heard;
  PutsOfSession puts;
  Bytes held;              // unfinished, and failed but not yet retired
  WaitingPuts over_share;  // what must wait until `held` is less
  bool eased = false;      // it is in the list of those that hold less now
  std::uint64_t lowest_unanswered = 0;
  std::vector<std::unique_ptr<Call>> calls;  // by number

  SessionRef ref() const { return {id, life}; }
};

// An extent that is taken out of use but whose retirement its node has not confirmed.
struct Quarantined {
  std::uint32_t slot = 0;
  std::uint64_t sequence = 0;  // order of all quarantines
  ExtentName name;
  Replica replica;  // REMOVED or FAILED
  std::uint32_t node = 0;
  Fingerprint key;
  Time since;
  Time held_until = Time::min();  // the node said that a view or a transfer holds it
  SessionRef charged;             // the writer whose failed put it was
  ListHook by_node;
};
using QuarantineOfNode = boost::intrusive::list<
    Quarantined, boost::intrusive::member_hook<Quarantined, ListHook, &Quarantined::by_node>>;

// Who waits until all older puts of a key are retired.
struct RetirementWaiter {
  PutId below;  // puts with lower ids count
  AnswerAddress address;
  std::optional<ErrorCode> then;  // the answer; none: Done
};
struct KeyRetirements {
  boost::container::small_vector<std::uint32_t, 2> quarantined;  // slots
  boost::container::small_vector<RetirementWaiter, 1> waiters;
};

using NodeIndex = std::uint32_t;

struct Segment {
  SegmentDescription description;
  NodeIndex node = 0;
  bool shown = false;  // its node is: answered, placed on, counted
  Space space;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> quarantined;  // offset -> slot
};

enum class NodeState : std::uint8_t {
  reporting,  // its report is not complete, or what must be retired first is not
  shown,
  hidden,  // silent; answered to nobody
  lost,    // will never come back; what pointed to it is being cleared away
};

// A node that was given up, for people.
struct LostNode {
  IncarnationId incarnation;
  std::string name;
  std::string endpoint;
  std::string why;
  Time at;
  std::uint64_t objects = 0;  // of which it had the last copy, as far as they are cleared away
  Bytes bytes;
  bool cleared = false;
};
inline constexpr std::size_t lost_nodes_max = 16;

struct NodeRecord;
// "shown", or "sick" if it is that too; "reporting", "hidden", "lost".
std::string_view state_name(const NodeRecord& node);

struct NodeRecord {
  NodeIndex index = 0;
  IncarnationId incarnation;
  std::string name;
  std::string endpoint;
  std::string host;
  std::string rack;
  NodeState state = NodeState::reporting;
  std::uint64_t registration = 0;
  bool connected = false;
  bool reported = false;              // the report of this registration is complete
  bool reconciled = false;            // and what it did not name is dealt with
  bool in_books = false;              // some report of it was complete: all that it holds is known
  bool of_another_directory = false;  // masters of another state directory led it until now
  bool retires_everything = false;    // nothing that it reports is taken up
  bool sick = false;                  // does not answer retirements
  std::uint32_t next_part = 0;
  std::uint64_t show_after = 0;  // quarantines of lower sequence must be over before
  Time last_heard;
  Time disconnected_at = time_never;
  Time asked_at = Time::min();  // when retirements were last asked for
  Time armed = time_never;      // its entry in the deadlines
  Duration fill_queue{0};
  std::uint64_t overlaps = 0;
  StageTimes stages;
  Time state_since;  // its state, or that it is sick
  std::vector<SegmentIndex> segments;
  QuarantineOfNode quarantine;        // by sequence
  std::vector<ExtentName> to_retire;  // to be sent at the end of this step
  std::vector<ExtentName> to_verify;
};

}  // namespace larder
