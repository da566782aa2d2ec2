#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/master/effects_digest.h"
#include "core/master/master.h"
#include "proto/codec.h"
#include "proto/journal/reader.h"

namespace larder::sim {

// One call of a recorded master.
struct RecordedCall {
  journal::RecordKind kind = journal::RecordKind::tick;
  Time now;
  std::int64_t wall_clock_ns = 0;
  Ticket ticket = 0;
  const Request* request = nullptr;  // null: none
  Piece piece;
  journal::NodePart node;
  std::string file;  // where it stands
  std::uint64_t offset = 0;
};
// "request PutStart at 14:03:07.120000 UTC, 00000012.calls byte 4711"
std::string to_text(const RecordedCall& call);

// Who watches a replay. A master, its effects and a request are valid during the call.
class IncidentObserver {
 public:
  virtual ~IncidentObserver() = default;
  // Of the master that is loaded next.
  virtual void configured(const MasterConfig&) {}
  // This master goes on from here: the first one, or after a gap. It may be changed.
  virtual void loaded(Master&, Time, std::int64_t /*wall_clock_ns*/) {}
  // This one goes on no further: the recording is over, or broken here.
  virtual void ended(Master&, Time) {}
  // What was lost before the master that is loaded next.
  virtual void broken(const std::string& /*why*/) {}
  virtual void before(const RecordedCall&, Master&) {}
  // `request`: that of the ticket; nullptr if it stands before the recording, or this is no answer
  // to it (its number was that of another call that was open).
  virtual void answered(Ticket, const Request* /*request*/, std::uint32_t /*index*/,
                        const Answer&) {}
  virtual void after(const RecordedCall&, Master&, const MasterEffects&) {}
};

struct IncidentSummary {
  std::uint64_t files = 0;
  Bytes bytes;
  std::int64_t first_wall_clock_ns = 0;
  std::int64_t last_wall_clock_ns = 0;
  Duration span{0};  // that was replayed
  std::uint64_t calls = 0;
  std::map<std::string, std::uint64_t> by_kind;  // requests by name, and ticks
  std::uint64_t items = 0;                       // of requests
  std::uint64_t objects_first = 0;
  std::uint64_t objects_last = 0;
  std::uint64_t states_compared = 0;  // with that to which the replay had come
  // What goes with masters that end and disks that are slow: gaps, torn tails, other masters.
  std::vector<std::string> breaks;
  // What nothing but damage brings about, and how much could not be replayed for it.
  std::vector<std::string> damages;
  Bytes left_out;
  struct Divergence {
    std::string where;
    std::string what;
  };
  std::optional<Divergence> divergence;  // the first
  bool same() const { return !divergence; }
};

// Drives masters through a recording, from its oldest state on, and compares what they do with what
// the recorded one did. Constant memory beside the masters'.
class IncidentReplay {
 public:
  // Called now and then with the share that is done; false ends the replay (cancelled).
  using Progress = std::function<bool(double)>;

  IncidentReplay(std::vector<journal::Slot> slots, IncidentObserver& observer)
      : slots_(std::move(slots)), observer_(observer), effects_(sink_) {}
  // Errors: bad_file if no state of it can be loaded, with the reason of each.
  Result<IncidentSummary> run(const Progress& progress);

 private:
  struct Open {  // a request that is not fully answered
    DecodedRequest decoded;
    std::size_t missing;
  };
  struct Sink final : AnswerSink {
    explicit Sink(IncidentReplay& r) : replay(r) {}
    void answer(Ticket ticket, std::uint32_t index, const Answer& given) override {
      replay.answered(ticket, index, given);
    }
    IncidentReplay& replay;
  };

  Status begin(const journal::Slot& slot);
  void load(journal::State state);
  void compare(const journal::State& state);
  Status calls(const journal::Slot& slot, const Progress& progress);
  void carry_out(const journal::Record& record);
  void apply(const journal::Record& record);
  void answered(Ticket ticket, std::uint32_t index, const Answer& given);
  void check_effects(std::uint64_t recorded, const std::string& where);
  void diverge(std::string where, std::string what);
  void end();
  void broke(std::string why);
  void damaged(std::string why, Bytes left_out);
  void cannot_go_on(const std::string& why);
  bool last_of_life(const journal::Slot& slot) const;
  void count(const Request& request);

  std::vector<journal::Slot> slots_;
  IncidentObserver& observer_;
  IncidentSummary summary_;
  Sink sink_{*this};
  MasterEffects effects_;
  std::unique_ptr<Master> master_;  // null: nothing to go on from, until the next state
  Epoch epoch_;
  EffectsDigest digest_;
  std::uint64_t digest_base_ = 0;  // of the recorded one where ours began
  bool comparing_ = false;
  std::map<Ticket, Open> open_;
  RecordedCall call_;
  std::string last_call_;
  Bytes total_;
  Bytes done_;
};

}  // namespace larder::sim
