#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/catalog/catalog.h"
#include "core/catalog/deadlines.h"
#include "core/catalog/lookahead.h"
#include "core/catalog/slab.h"
#include "core/eviction/eviction_round.h"
#include "core/master/master.h"
#include "core/master/put_times.h"
#include "core/master/records.h"

namespace larder {

// Everything that a master knows. The methods stand in the files of their subject: sessions.cpp,
// puts.cpp, placement.cpp, lookups.cpp, directory.cpp, removal.cpp, nodes.cpp, inventory.cpp,
// retirement.cpp, evicting.cpp, report.cpp, checkpoint.cpp; the dispatch and the tick in
// master.cpp.
class Master::State final : Evictor {
 public:
  State(Time now, const MasterConfig& config, const MasterIdentity& identity,
        const MasterState& state);
  ~State();

  void apply(Time now, Ticket ticket, const Request& request, MasterEffects& effects, Piece piece);
  void node_disconnected(Time now, IncarnationId incarnation, std::uint64_t registration);
  void tick(Time now, MasterEffects& effects);
  std::optional<Time> next_deadline() const;
  bool superseded() const { return superseded_; }
  Epoch epoch() const { return identity_.epoch; }
  StatusReport status(Time now) const;
  const StageTimes& client_stages() const { return client_stages_; }
  const StageTimes* node_stages(std::string_view name) const;
  ObjectDetails describe(Time now, std::string_view tenant, std::string_view key) const;
  std::optional<Master::Who> session(SessionId id) const;
  const SegmentDescription* segment(SegmentId id) const;
  std::vector<std::string_view> tenants() const { return catalog_.tenants(); }
  void check_invariants() const;
  void check_puts() const;
  void check_retirements() const;
  std::uint64_t digest(Time now) const;
  // All but the configuration: loading begins with a state that was made with the saved one.
  void archive(Archive& archive);
  const MasterConfig& config() const { return config_; }
  Status change(const MasterChange& change);
  void add_identity(Identity& identity, Time now) const;

 private:
  // One apply() or tick().
  struct Step {
    Time now;
    MasterEffects& effects;
    std::uint64_t told;  // the last quarantine of the steps before; later ones are told in this one
  };
  // Who asks, and for which of the items of its call: [first, end).
  struct Caller {
    Ticket ticket;
    const RequestHeader& header;
    std::size_t items;
    std::uint32_t first;
    std::uint32_t end;
  };
  // A changing call of a known session, and the items that are to be begun now: [first, end).
  struct OpenCall {
    Session& session;
    Call& call;
    std::uint32_t first;
    std::uint32_t end;
  };
  enum class Gone : std::uint8_t { removed, evicted, expired, replaced, bad, lost };

  // ---- master.cpp
  void enter(Time now);
  void run_due(Step& step);
  void tell(NodeRecord&);  // before something is added to what it is to be told
  void flush(Step& step);
  bool more_is_due(Time now) const;
  void refuse_all(Step& step, const Caller& caller, const Error& error);

  // ---- sessions.cpp
  void handle(Step&, Caller, const OpenSession&);
  void handle(Step&, Caller, const CloseSession&);
  void handle(Step&, Caller, const KeepAlive&);
  Session* session_of(Step&, const Caller&);
  std::optional<OpenCall> open_call(Step&, const Caller&);
  Session* find_session(SessionId id);
  Session* find_session(const SessionRef& ref);
  void charge(Session&, Put&, Bytes);  // what the put counts for from now on
  void ease(Session&, Bytes);          // it holds so much less
  void take_header(Step&, Session&, const RequestHeader&);
  void answer(Step&, const OpenCall&, std::uint32_t index, Answer answer);
  void answer_late(Step&, const AnswerAddress&, Answer answer);
  void end_session(Step&, Session&);
  void check_session(Step&, SessionId id);

  // ---- puts.cpp
  void handle(Step&, Caller, const PutStart&);
  void handle(Step&, Caller, const PutEnd&);
  void handle(Step&, Caller, const PutRevoke&);
  Status check_put(const PutStart::Item& item) const;
  struct StartedPut {
    const PutStart& request;
    const PutStart::Item& item;
    const Catalog::Name& key;
    PutId put_id;
    Bytes call_bytes;
    AnswerAddress address;
  };
  // The grant, or nothing if it waits for space.
  Result<std::optional<PutGrant>> start_put(Step&, Session&, const StartedPut&);
  Result<std::optional<PutGrant>> assign_or_wait(Step&, Session&, Put&);
  void wait_for_space(Session&, Put&);
  bool within_share(const Session&, const Put&) const;
  PutGrant grant(Step&, Session&, Put&);
  // Whether the answer is given now; if not, it is given when older puts are retired.
  Result<bool> end_put(Step&, const OpenCall&, const Catalog::Name&, const PutEnd::Item&,
                       const AnswerAddress&);
  Status publish(Step&, Put&, Object* older, const PutEnd::Item&);
  Result<bool> end_older_epoch(Step&, const Catalog::Name&, const PutEnd::Item&,
                               const AnswerAddress&);
  Result<bool> revoke(Step&, const OpenCall&, const Catalog::Name&, const PutRevoke::Item&,
                      const AnswerAddress&);
  // A put that waits for space is answered `waiting`.
  void fail_put(Step&, Put&, const Error& waiting = Error(ErrorCode::cancelled));
  void forget_put(Put&);
  Put& put_of(const Object& object) { return *puts_.at(object.put); }
  static AnswerAddress address_of(const Put&);  // of its PutStart
  void set_deadline(Put&, Time);
  void serve_eased();
  void serve_waiting(Step&);
  void expire_puts(Step&);
  Error no_room(const Put&) const;
  std::string passed_over() const;
  Bytes share_of_client() const;
  Bytes extents_of(const Object& object) const;

  // ---- placement.cpp
  // Assigns space for up to the wanted number of replicas; how many it could.
  std::size_t place(Step&, const Session&, Put&);
  bool place_on(Step&, Put&, SegmentIndex index);
  bool has_room(const Put&, SegmentIndex) const;
  bool eligible(Time now, const Put&, SegmentIndex, bool strict) const;
  std::optional<SegmentIndex> choose(Time now, const Session&, const Put&, bool strict);
  bool quarantine_full(const Segment& segment) const;
  bool host_taken(const Put&, SegmentIndex) const;
  bool better(const Put&, SegmentIndex a, SegmentIndex b) const;

  // ---- lookups.cpp
  void handle(Step&, Caller, const GetReplicaList&);
  void handle(Step&, Caller, const Exists&);
  void handle(Step&, Caller, const DescribeSegments&);
  Object* readable(Time now, const Catalog::Name& key) const;
  std::unexpected<Error> not_readable(Time now, const Catalog::Name& key) const;
  bool visible(const Object& object) const;
  bool reachable(const Object& object) const;
  ReplicaLocations locations(const Object& object) const;
  static Status check_key(std::string_view key);

  // ---- directory.cpp
  void handle(Step&, Caller, const ListObjects&);
  void handle(Step&, Caller, const DescribeObjects&);
  Result<ObjectPage> list(Time now, TenantId, const ListObjects&) const;
  ObjectDetails details(Time now, const Catalog::Name&) const;
  ObjectPage::Item page_item(Time now, const Object&) const;
  std::string group_name(const Object&) const;
  Time began(const Object&) const;
  ObjectDetails::Version any_version(const Object&) const;
  ObjectDetails::Version complete_version(Time now, const Object&) const;
  ObjectDetails::Version unfinished_version(Time now, const Object&) const;

  // ---- removal.cpp
  void handle(Step&, Caller, const Remove&);
  Result<bool> remove(Step&, const Catalog::Name&, bool force, const AnswerAddress&);
  void remove_object(Step&, Object&, Gone);
  void expire_objects(Step&);
  void note_event(Step&, ObjectEvent::Kind, const Object&);

  // ---- nodes.cpp
  void handle(Step&, Caller, const RegisterNode&);
  void handle(Step&, Caller, const Heartbeat&);
  void handle(Step&, Caller, const UnregisterNode&);
  Result<NodeRegistered> register_node(Step&, const RegisterNode&);
  std::string why_it_reports(const NodeRecord&, const RegisterNode&, bool rejoins) const;
  Status check_registration(const RegisterNode&) const;
  Status make_way_for(Step&, const RegisterNode&);
  NodeRecord& add_node(Step&, const RegisterNode&);
  void add_segments(NodeRecord&, const RegisterNode&);
  Result<NodeRecord*> known_node(IncarnationId, std::uint64_t registration);
  NodeRecord* find_node(IncarnationId);
  void hear(Step&, NodeRecord&);
  void hide(Step&, NodeRecord&, std::string why);
  void lose(Step&, NodeRecord&, std::string why);
  void try_show(Step&, NodeRecord&);
  void set_shown(NodeRecord&, bool shown);
  void set_state(Step&, NodeRecord&, NodeState, std::string why);
  void tell_of(Step&, NodeRecord&, NodeEvent::Kind, std::string why);
  LostNode* find_lost(IncarnationId);
  void check_node(Step&, NodeIndex);
  void arm(NodeRecord&, Time);
  Time next_check(const NodeRecord&) const;
  void sweep(Step&);
  void sweep_object(Step&, Object&, const NodeRecord&);
  void drop_node(NodeRecord&);

  // ---- inventory.cpp
  void handle(Step&, Caller, const ReportInventory&);
  void take_item(Step&, NodeRecord&, const ReportInventory::Item&);
  bool take_up(Step&, NodeRecord&, const Replica&, const ReportInventory::Item&);
  bool known(NodeRecord&, SegmentIndex, const ReportInventory::Item&);
  void finish_report(Step&, NodeRecord&);
  Time recovery_end() const;
  // An error until recovery has ended: what is acknowledged before could be undone by a report.
  Status recovered() const;
  void end_recovery(Step&);

  // ---- retirement.cpp
  void handle(Step&, Caller, const ConfirmRetirement&);
  void handle(Step&, Caller, const ReportCorrupt&);
  void retire(Step&, const Object&, Replica, ReplicaEvent, SessionRef charged);
  void quarantine(Step&, Replica, const ExtentName&, const Fingerprint&, SessionRef charged);
  void end_quarantine(Step&, Quarantined&, ReplicaEvent);
  void remove_replica(Step&, Object&, Replica&, Gone);
  void ask_again(Step&, NodeRecord&);
  bool waits(const KeyRetirements&, const RetirementWaiter&) const;
  Fingerprint fingerprint_of(const Catalog::Name&) const;
  bool wait_for_older(const Fingerprint&, const RetirementWaiter&);
  void wake_waiters(Step&, const Fingerprint&);
  std::optional<SegmentIndex> find_segment(SegmentId) const;
  Object* holder(std::string_view tenant, std::string_view key, const ExtentName&,
                 Replica** replica);
  PutId lowest_unfinished() const;

  // ---- evicting.cpp
  std::optional<SkipReason> held_by(const Evictable&) override;
  Taken evict(Evictable&) override;
  void run_eviction(Step&);
  void end_round();
  bool keeps_last() const;
  Bytes bytes_wanted() const;
  SpaceUse use() const;
  void handle(Step&, Caller, const Quiesce&);
  void answer_quiesce(Step&);

  // ---- checkpoint.cpp
  Put* loaded_put(Archive&, std::uint32_t slot) const;
  template <class List>
  void archive_order(Archive&, List&);
  void archive_sessions(Archive&);
  void archive_session(Archive&, Session&);
  void archive_puts(Archive&);
  void archive_put(Archive&, Put&, std::uint32_t slot);
  void archive_nodes(Archive&);
  void archive_node(Archive&, NodeRecord&);
  void archive_retirements(Archive&);
  void archive_recovery_and_eviction(Archive&);
  void enlarge_segments(double factor);

  // ---- report.cpp
  void handle(Step&, Caller, const GetStatus&);
  void report_node(Time now, const NodeRecord&, StatusReport&) const;
  static std::string_view gone_name(Gone why);

  // What is added here and decides anything is added to checkpoint.cpp too.
  // ---- identity.cpp
  void add_sessions(Identity&, Time now) const;
  void add_session(const Session&, Identity&, Time now) const;
  void add_put(const Put&, Identity&, Time now) const;
  void add_node(const NodeRecord&, Identity&, Time now) const;
  void add_quarantine(const NodeRecord&, Identity&, Time now) const;
  void add_ref(const SessionRef&, Identity&) const;

  MasterConfig config_;
  MasterIdentity identity_;
  Time last_now_;
  Time started_;
  bool superseded_ = false;
  Random random_;

  Catalog catalog_;
  std::uint64_t next_counter_ = 1;
  PutTimes put_times_;

  boost::unordered_flat_map<SessionId, std::unique_ptr<Session>, IdHash> sessions_;
  Deadlines<SessionId> session_checks_;
  std::uint64_t session_lives_ = 0;
  std::vector<SessionRef> eased_;  // those of which puts over their share may go on

  Slab<Put> puts_;
  PutsByAge puts_by_age_;
  WaitingPuts waiting_;
  Bytes waiting_bytes_;         // that those wait for
  Bytes granted_bytes_;         // that unfinished puts hold
  std::size_t over_share_ = 0;  // puts that wait for their session's share instead
  PutsByDeadline puts_by_deadline_;

  std::vector<std::unique_ptr<NodeRecord>> nodes_;  // by index; null: vacant
  std::vector<std::unique_ptr<Segment>> segments_;  // by index; null: vacant
  boost::unordered_flat_map<IncarnationId, NodeIndex, IdHash> node_index_;
  boost::unordered_flat_map<SegmentId, SegmentIndex, IdHash> segment_index_;
  std::vector<NodeIndex> to_tell_;
  std::vector<SegmentIndex> shown_;  // in the order in which they were shown
  boost::unordered_flat_map<std::string, std::vector<SegmentIndex>> shown_on_host_;  // likewise
  Bytes shown_capacity_;
  std::set<IncarnationId> lost_;
  Deadlines<NodeIndex> node_checks_;
  struct Sweep {  // a walk over all objects for one node
    NodeIndex node;
    IncarnationId incarnation;
    std::uint64_t registration;
    std::uint32_t next_slot;
  };
  std::deque<Sweep> sweeps_;

  Slab<Quarantined> quarantine_;
  std::uint64_t quarantine_sequence_ = 0;
  boost::unordered_flat_map<Fingerprint, KeyRetirements, FingerprintHash> retirements_;
  std::size_t removals_waiting_ = 0;

  bool recovering_ = true;
  bool durable_ = false;
  Epoch recovered_epoch_;
  // What the state directory held when this master began.
  Epoch directory_epoch_;                         // the last epoch that was recovered with it
  std::set<IncarnationId> directory_known_;       // nodes of its earlier masters
  std::map<IncarnationId, std::string> awaited_;  // known nodes that have not reported yet
  Time part_taken_ = Time::min();                 // of the report of one of those

  std::optional<EvictionRound> round_;
  Time eviction_pause_ = Time::min();
  bool eviction_blocked_ = false;  // until some quarantine ends
  Step* evicting_ = nullptr;
  Digest eviction_digest_;
  std::vector<Ticket> quiescing_;

  EvictionCounts evictions_;
  EvictionCounts last_round_;
  std::map<ErrorCode, std::uint64_t> refusals_;
  std::map<Gone, std::uint64_t> gone_;
  std::deque<LostNode> lost_nodes_;  // newest first
  StageTimes client_stages_;         // of all clients
  std::uint64_t counted_puts_ = 0;
  std::uint64_t counted_gets_ = 0;
  std::uint64_t counted_hits_ = 0;
};

}  // namespace larder
