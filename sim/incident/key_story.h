#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/incident/incident_replay.h"

namespace larder::sim {

// What became of one key, or of all with a prefix, in a recording: who asked for it and what the
// master answered, what it did with it on its own and why, and what its nodes said. Puts go by
// their ids, as `larder stat` shows them. What comes again and again is one line. Bounded: after
// lines_max it says so and ends.
class KeyStory final : public IncidentObserver {
 public:
  struct Subject {
    std::string key;
    bool prefix = false;
  };
  explicit KeyStory(Subject subject) : subject_(std::move(subject)) {}

  struct Line {
    std::int64_t wall_clock_ns = 0;
    std::string who;
    std::string what;
    std::uint64_t times = 1;
    std::int64_t last_wall_clock_ns = 0;
  };
  const std::vector<Line>& lines() const { return lines_; }
  static constexpr std::size_t lines_max = 100'000;
  // Whether the recording knows anything of it.
  bool knows() const { return knows_; }

  void configured(const MasterConfig& config) override { config_ = config; }
  void loaded(Master& master, Time now, std::int64_t wall_clock_ns) override;
  void broken(const std::string& why) override;
  void before(const RecordedCall& call, Master& master) override;
  void answered(Ticket ticket, const Request* request, std::uint32_t index,
                const Answer& answer) override;
  void after(const RecordedCall& call, Master& master, const MasterEffects& effects) override;

 private:
  bool about(std::string_view key) const;
  void say(std::string who, std::string what);
  std::string put(PutId id);
  std::string node_of(SegmentId segment) const;
  std::string places(std::span<const ReplicaLocation> replicas) const;
  std::string extents(const std::vector<ExtentName>& names);
  std::string client(const Request& request) const;
  void describe(Time now);
  void hear(const RecordedCall& call);
  void note_answer(const Request& request, std::uint32_t index, const Answer& answer);
  void end_sessions(const RecordedCall& call);
  std::string why_evicted();
  std::string why_retired(const ExtentName& name, Time now);

  // A put of the subject whose writer has not ended it.
  struct Unfinished {
    SessionId session;
    std::string client;
    Time must_end;
  };
  // A put of any key that is not answered: it waits for room.
  struct Waiting {
    std::string client;
    std::string key;
    Bytes size;
  };
  using Item = std::tuple<SessionId, std::uint64_t, std::uint32_t>;  // of a session's call

  Subject subject_;
  std::vector<Line> lines_;
  MasterConfig config_;
  bool knows_ = false;
  std::set<PutId> puts_;
  std::map<PutId, Unfinished> unfinished_;
  std::map<PutId, std::string> why_retired_;
  std::map<Item, Waiting> waiting_;
  Time now_;
  const Master* master_ = nullptr;  // whose call it is
  std::int64_t now_ns_ = 0;
};

std::string to_text(const std::vector<KeyStory::Line>& lines);

}  // namespace larder::sim
