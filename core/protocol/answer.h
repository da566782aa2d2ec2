#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/id.h"
#include "core/protocol/object.h"

// What a master answers, item by item. Values: they own what they hold.

namespace larder {

struct Done {};

struct SessionOpened {
  Epoch epoch;
  InstanceId instance;
  bool resumed = false;
  Duration lease{0};
  Duration keep_alive{0};  // call at least this often
  Bytes object_bytes_max;
};

struct PutGrant {
  PutId put_id;
  Duration time_allowed{0};   // from when space was assigned until PutEnd must have come
  ReplicaLocations replicas;  // 1 to the number asked for; each on a segment of its own
};

// A lease, as one reader holds it. The receiver counts `duration` from before it asked.
struct LeaseGrant {
  std::uint32_t slot = 0;
  std::uint32_t round = 0;
  Duration duration{0};
};

struct ReplicaList {
  PutId put_id;
  Bytes size;
  std::optional<std::uint64_t> checksum;  // of the payload; none: the writer made none
  LeaseGrant lease;
  ReplicaLocations replicas;  // COMPLETE, on shown segments; never empty
};

struct Existence {
  bool exists = false;
  Duration lease{0};  // what is left of the longest lease on it
};

// A part of a walk over the caller's objects.
struct ObjectPage {
  struct Item {
    std::string key;
    Bytes size;
    std::uint32_t replicas = 0;  // COMPLETE ones
    std::uint32_t readable = 0;  // of them, on shown nodes
    std::string group;
    Duration age{0};  // since its put began, as in ObjectDetails
    bool hard_pin = false;
    bool soft_pin = false;
  };
  std::vector<Item> items;
  std::optional<ListCursor> next;  // none: the walk is over
};

// All versions of one key: the COMPLETE one first, then the unfinished one. At least one.
struct ObjectDetails {
  struct Replica {
    std::string state;  // of core/catalog/replica.h
    SegmentId segment;
    Bytes offset;
    std::string segment_name;
    std::string node;
    std::string node_state;  // as in StatusReport::Node
    std::string endpoint;
  };
  struct Version {
    PutId put_id;
    std::string state;  // complete, unfinished, waiting for space
    Bytes size;
    std::optional<std::uint64_t> checksum;
    std::string group;
    std::string parent;  // of a COMPLETE one known only while the policy orders by it
    std::string writer;  // the client's name; only of an unfinished one
    bool hard_pin = false;
    Duration soft_pin{0};      // what is left of it; zero: none
    Duration time_to_live{0};  // what is left of it; zero: no end
    Duration lease{0};         // what is left of the longest one; of its group if it has one
    Duration age{0};   // since its put began; of one of an earlier master, since this one began
    Duration idle{0};  // since its last get, or since it was published; of its group too
    Duration time_left{0};  // of an unfinished one, for what it waits for
    std::vector<Replica> replicas;
  };
  std::vector<Version> versions;
};

struct NodeRegistered {
  Epoch epoch;
  InstanceId instance;
  Duration heartbeat{0};
  bool retire_everything = false;  // before the (then empty) inventory is reported
  PutId lowest_unfinished;         // see RetireExtents
};

// Numbers for people and tests; gauges are of the moment, counters since the master's start.
struct StatusReport {
  struct Node {
    std::string name;
    std::string endpoint;
    std::string host;
    std::string state;  // reporting, shown, hidden, sick
    Bytes capacity;
    Bytes used;
    Bytes quarantined;
    std::uint64_t objects = 0;
    Duration since_heartbeat{0};
    Duration in_state{0};           // for how long it has been in this state
    Duration oldest_quarantine{0};  // that it has not confirmed
    std::uint64_t only_here = 0;    // objects of which it has the only copy
  };
  // A node that was given up.
  struct LostNode {
    std::string name;
    std::string endpoint;
    std::string why;
    Duration ago{0};
    std::uint64_t objects = 0;  // that were lost with it, as far as they are cleared away by now
    Bytes bytes;                // of their values
    bool cleared = false;       // all of them are
  };
  // How long one stage of one kind of work took.
  struct Stage {
    std::string where;  // master, clients, node NAME
    std::string stage;
    std::uint64_t count = 0;
    Duration p50{0};
    Duration p99{0};
    Duration longest{0};
  };
  // Of the driver's recording (--record): what can be replayed.
  struct Recording {
    bool on = false;
    Duration span{0};
    Bytes bytes;
    std::uint64_t dropped = 0;  // calls that could not be kept
    std::string trouble;        // why nothing is recorded any more
  };
  Epoch epoch;
  bool recovering = false;
  std::uint64_t objects = 0;         // with a COMPLETE replica
  std::uint64_t hidden_objects = 0;  // of those, the ones whose only copy is on a hidden node
  std::uint64_t unfinished_puts = 0;
  std::uint64_t waiting_puts = 0;  // of those, the ones that have no space yet
  std::uint64_t sessions = 0;
  Bytes capacity;  // of shown nodes, as the next four are
  Bytes used;      // allocated, not in quarantine
  Bytes quarantined;
  Bytes free;
  Bytes largest_free;
  Bytes hidden_capacity;  // of nodes that are not shown now: silent, or still reporting
  Bytes hidden_used;
  Bytes hidden_quarantined;
  Duration oldest_quarantine{0};
  std::string oldest_quarantine_holder;  // the node that has not confirmed it
  std::uint64_t puts = 0;
  std::uint64_t gets = 0;
  std::uint64_t hits = 0;
  std::uint64_t evicted_objects = 0;
  Bytes evicted_bytes;
  std::vector<std::pair<std::string, std::uint64_t>> eviction_skips;  // by reason
  std::vector<std::pair<std::string, std::uint64_t>> refusals;        // by error name
  std::vector<std::pair<std::string, std::uint64_t>> gone;  // objects that left, by reason
  std::vector<Node> nodes;
  std::vector<LostNode> lost_nodes;  // the newest ones, newest first
  std::vector<Stage> stages;
  Recording recording;
};

struct QuiesceReport {
  Bytes put_bytes_max;                // what can be put now without anyone waiting for space
  std::uint64_t evicted_objects = 0;  // since the master's start
  Bytes evicted_bytes;
  std::uint64_t eviction_digest = 0;  // of the names of all victims, in order
};

using AnswerValue =
    std::variant<Done, SessionOpened, PutGrant, ReplicaList, Existence, ObjectDetails,
                 SegmentDescription, NodeRegistered, ObjectPage, StatusReport, QuiesceReport>;
using Answer = Result<AnswerValue>;

// All answers to one request.
struct Reply {
  Epoch epoch;  // of the master that answers
  std::vector<Answer> answers;
};

}  // namespace larder
