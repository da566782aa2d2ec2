#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/master/config.h"
#include "core/protocol/owned_request.h"
#include "sim/incident/incident_replay.h"

namespace larder::sim {

// A second master that goes on from a moment of a recording with other settings, beside the
// recorded one. It gets the recorded calls: put ids, sealed replicas and leases stand for its own
// ones. Its nodes retire at once what it asks them to, since what they said is about other extents.
// What clients did is what they did in the recording: one that was answered a miss there puts the
// value although it may be here, and one that got a hit there does not put what is missing here.
class WhatIf final : public IncidentObserver, AnswerSink {
 public:
  struct Question {
    std::int64_t at_ns = 0;  // on the wall clock; at the latest the last call
    MasterChange change;
  };
  explicit WhatIf(Question question) : question_(std::move(question)), effects_(*this) {}

  struct Side {
    std::uint64_t gets = 0;
    std::uint64_t hits = 0;
    std::uint64_t puts = 0;
    std::uint64_t refused = 0;
    std::uint64_t evicted_objects = 0;
    Bytes evicted_bytes;
    std::uint64_t objects = 0;  // at the end
    Bytes used;                 // likewise
    std::string policy;
    Duration lease{0};
    Bytes memory;  // that values may take, at the end
  };
  struct Difference {  // the first one
    std::int64_t wall_clock_ns = 0;
    std::string what;
  };
  struct Outcome {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    Side recorded;
    Side other;
    std::uint64_t only_recorded_hits = 0;  // items that were found there, but not here
    std::uint64_t only_other_hits = 0;
    std::uint64_t ends_left_out = 0;  // of puts that got no space here
    std::optional<Difference> first;
    std::string stopped;             // why it ended before the recording; empty: it did not
    std::int64_t next_begin_ns = 0;  // where the recording goes on then; 0: it does not
  };
  // Errors: what was asked for cannot be (invalid_params), or the moment is not in the recording.
  Result<Outcome> outcome();

  void configured(const MasterConfig& config) override { config_ = config; }
  void loaded(Master& master, Time now, std::int64_t wall_clock_ns) override;
  void ended(Master& master, Time now) override;
  void broken(const std::string& why) override;
  void before(const RecordedCall& call, Master& master) override;
  void answered(Ticket ticket, const Request* request, std::uint32_t index,
                const Answer& answer) override;
  void after(const RecordedCall& call, Master& master, const MasterEffects& effects) override;

 private:
  struct Place {  // an item of a call, in both worlds
    SessionId session;
    std::uint64_t number = 0;
    std::uint32_t index = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Grant {
    PutId put_id;
    std::size_t replicas = 0;
  };
  struct Node {
    std::uint64_t registration = 0;  // 0: it has no connection, or was not heard of yet
    Time heard;
    std::vector<ExtentName> asked;
  };
  using Lease = std::pair<std::uint32_t, std::uint32_t>;  // slot, round

  void begin(Master& master, Time now);
  void answer(Ticket ticket, std::uint32_t index, const Answer& answer) override;
  void ticks(Time until);
  void go(const RecordedCall& call);
  std::optional<Request> translated(const Request& request);
  void translate(PutEnd& body);
  void translate(PutRevoke& body);
  void take_effects();
  void confirm();
  void compare(std::string_view key, bool recorded, bool other);
  void hear(const RecordedCall& call);
  static Side side(const StatusReport& before, const StatusReport& after);

  Question question_;
  MasterConfig config_;  // of the recorded master that is loaded
  MasterConfig begun_;   // of the one from which the other goes on
  std::optional<Error> error_;
  std::unique_ptr<Master> other_;
  MasterEffects effects_;
  bool over_ = false;
  Time now_;  // the last time that the other master was told
  std::int64_t now_ns_ = 0;
  StatusReport first_;
  StatusReport last_recorded_;
  StatusReport last_other_;
  Outcome outcome_;

  std::map<PutId, Place> recorded_puts_;
  std::map<Place, Grant> other_grants_;
  std::map<std::pair<Ticket, std::uint32_t>, Lease> recorded_leases_;  // of the present call
  std::map<std::pair<Ticket, std::uint32_t>, bool> recorded_hits_;     // likewise
  std::unordered_map<std::uint64_t, LeaseReturn> leases_;
  std::map<IncarnationId, Node> nodes_;
  const Request* asked_ = nullptr;  // the call that the other master is answering
  std::map<Ticket, Place> puts_;    // PutStart calls of which answers may come late
};

}  // namespace larder::sim
