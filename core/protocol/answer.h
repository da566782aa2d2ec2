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
  };
  Epoch epoch;
  bool recovering = false;
  std::uint64_t objects = 0;  // with a COMPLETE replica
  std::uint64_t unfinished_puts = 0;
  std::uint64_t sessions = 0;
  Bytes capacity;
  Bytes used;  // allocated, not in quarantine
  Bytes quarantined;
  Bytes free;
  Bytes largest_free;
  Duration oldest_quarantine{0};
  std::string oldest_quarantine_holder;  // the node that has not confirmed it
  std::uint64_t puts = 0;
  std::uint64_t gets = 0;
  std::uint64_t hits = 0;
  std::uint64_t evicted_objects = 0;
  Bytes evicted_bytes;
  std::vector<std::pair<std::string, std::uint64_t>> eviction_skips;  // by reason
  std::vector<std::pair<std::string, std::uint64_t>> refusals;        // by error name
  std::vector<Node> nodes;
};

struct QuiesceReport {
  Bytes put_bytes_max;                // what can be put now without anyone waiting for space
  std::uint64_t evicted_objects = 0;  // since the master's start
  Bytes evicted_bytes;
  std::uint64_t eviction_digest = 0;  // of the names of all victims, in order
};

using AnswerValue = std::variant<Done, SessionOpened, PutGrant, ReplicaList, Existence,
                                 SegmentDescription, NodeRegistered, StatusReport, QuiesceReport>;
using Answer = Result<AnswerValue>;

// All answers to one request.
struct Reply {
  Epoch epoch;  // of the master that answers
  std::vector<Answer> answers;
};

}  // namespace larder
