#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/master/master.h"
#include "core/protocol/owned_request.h"

namespace larder::testing {

inline constexpr SessionId alice{1, 1};
inline constexpr SessionId bob{1, 2};

struct NodeSpec {
  std::string name = "n0";
  Bytes size = 1_MiB;
  std::string host = "";
  IncarnationId incarnation = {};
  Epoch taken = {};
};

// A master with a clock that the test moves, nodes that the test plays, and every answer kept.
class MasterHarness final : public AnswerSink {
 public:
  // The nodes here are small, so that by default any part of them may be in quarantine.
  static MasterConfig small_nodes() {
    MasterConfig config;
    config.quarantine_bytes_min = 1_TiB;
    return config;
  }
  explicit MasterHarness(MasterConfig config = small_nodes(), const MasterState& state = {},
                         Epoch epoch = {100})
      : config_(config), effects_(*this) {
    restart(epoch, state);
  }

  void restart(Epoch epoch, const MasterState& state) {
    epoch_ = epoch;
    Result<std::unique_ptr<Master>> made =
        Master::make(now, config_, {.epoch = epoch, .instance = {epoch.value, 1}}, state);
    master_ = std::move(made).value();
  }

  Master& master() { return *master_; }

  // ---- requests ----------------------------------------------------------------------------
  Ticket send(Request request) {
    const Ticket ticket = ++tickets_;
    counts_[ticket] = answer_count(request.body);
    send_piece(ticket, request, {});
    return ticket;
  }
  // A call that is handed over in pieces: its ticket, then the pieces.
  Ticket begin(const Request& request) {
    counts_[++tickets_] = answer_count(request.body);
    return tickets_;
  }
  void send_piece(Ticket ticket, const Request& request, Piece piece) {
    master_->apply(now, ticket, request, effects_, piece);
    collect();
    check();
  }
  Ticket call(SessionId session, RequestBody body) {
    Request request{.header = {.session = session}, .body = std::move(body)};
    const std::uint64_t number = ++numbers_[session];
    request.header.number = number;
    request.header.lowest_unanswered = number > 100 ? number - 100 : 0;
    return send(std::move(request));
  }
  void open(SessionId session, std::string_view tenant = "t", std::string_view host = "") {
    ASSERT_TRUE(answer(call(session, OpenSession{.tenant = tenant, .host = host})).has_value());
  }

  bool answered(Ticket ticket, std::uint32_t index = 0) const {
    return answers_.contains({ticket, index});
  }
  const Answer& answer(Ticket ticket, std::uint32_t index = 0) const {
    const auto found = answers_.find({ticket, index});
    if (found == answers_.end()) {
      ADD_FAILURE() << "no answer to " << ticket << "/" << index;
      static const Answer none = failed(ErrorCode::internal_error, "no answer");
      return none;
    }
    return found->second;
  }
  ErrorCode error(Ticket ticket, std::uint32_t index = 0) const {
    const Answer& given = answer(ticket, index);
    EXPECT_FALSE(given.has_value());
    return given ? ErrorCode{} : given.error().code();
  }
  template <class T>
  T value(Ticket ticket, std::uint32_t index = 0) const {
    const Answer& given = answer(ticket, index);
    EXPECT_TRUE(given.has_value()) << given.error().message();
    return given ? std::get<T>(*given) : T{};
  }

  // For very many calls.
  void forget_answers() {
    answers_.clear();
    counts_.clear();
  }

  // ---- time --------------------------------------------------------------------------------
  void tick() {
    for (int i = 0; i < 10000; ++i) {
      const std::optional<Time> next = master_->next_deadline();
      if (!next || *next > now) break;
      master_->tick(now, effects_);
      collect();
    }
    check();
  }
  // Passes the time, with heartbeats of all nodes that are `beating` and sessions kept alive.
  void pass(Duration duration) {
    const Time end = now + duration;
    while (now < end) {
      now = std::min(end, now + std::chrono::milliseconds(500));
      for (auto& [name, node] : nodes) {
        if (node.beating) {
          send({.body =
                    Heartbeat{.incarnation = node.incarnation, .registration = node.registration}});
        }
      }
      for (const SessionId session : kept_alive) {
        master_->apply(now, ++tickets_, {.header = {.session = session}, .body = KeepAlive{}},
                       effects_);
        collect();
      }
      tick();
    }
  }

  // ---- nodes -------------------------------------------------------------------------------
  struct FakeNode {
    IncarnationId incarnation;
    std::uint64_t registration = 0;
    SegmentId segment;
    Bytes size;
    std::string host;
    Epoch taken;
    bool beating = true;
    bool confirms = true;          // retirements at once
    std::deque<ExtentName> asked;  // not confirmed yet
    std::vector<ExtentName> verify;
    int taken_reports = 0;
  };
  Ticket register_node(const NodeSpec& spec) {
    FakeNode& node = nodes[spec.name];
    if (!node.incarnation || (spec.incarnation && node.incarnation != spec.incarnation)) {
      node.incarnation = spec.incarnation ? spec.incarnation : IncarnationId{7, ++incarnations_};
      node.segment = {node.incarnation.high, node.incarnation.low + 1000};
      node.registration = 0;
    }
    node.size = spec.size;
    node.host = spec.host.empty() ? spec.name : spec.host;
    node.taken = spec.taken;
    ++node.registration;
    const std::string endpoint = spec.name + ":1";
    return send({.body = RegisterNode{
                     .incarnation = node.incarnation,
                     .registration = node.registration,
                     .taken_epoch = node.taken,
                     .name = spec.name,
                     .endpoint = endpoint,
                     .host = node.host,
                     .segments = {{.id = node.segment, .name = spec.name, .size = node.size}}}});
  }
  Ticket report(const std::string& name, std::vector<ReportInventory::Item> items,
                std::uint32_t part = 0, bool last = true) {
    const FakeNode& node = nodes[name];
    return send({.body = ReportInventory{.incarnation = node.incarnation,
                                         .registration = node.registration,
                                         .part = part,
                                         .last = last,
                                         .items = std::move(items)}});
  }
  void join(const NodeSpec& spec = {}, std::vector<ReportInventory::Item> items = {}) {
    const Answer& registered = answer(register_node(spec));
    ASSERT_TRUE(registered.has_value()) << registered.error().message();
    ASSERT_TRUE(answer(report(spec.name, std::move(items))).has_value());
  }
  void confirm(const std::string& name) {
    FakeNode& node = nodes[name];
    std::vector<ExtentName> all(node.asked.begin(), node.asked.end());
    node.asked.clear();
    if (all.empty()) return;
    send({.body = ConfirmRetirement{.incarnation = node.incarnation,
                                    .registration = node.registration,
                                    .retired = std::move(all)}});
  }

  // ---- whole operations --------------------------------------------------------------------
  Ticket start(SessionId session, std::string_view key, Bytes size = 1000_B, bool upsert = false,
               std::uint32_t replicas = 1) {
    return call(session, PutStart{.items = {{.key = key, .size = size, .replicas = replicas}},
                                  .upsert = upsert});
  }
  Ticket end(SessionId session, std::string_view key, PutId id, std::uint32_t sealed = 1) {
    return call(session, PutEnd{.items = {{.key = key, .put_id = id, .sealed = sealed}}});
  }
  PutGrant put(SessionId session, std::string_view key, Bytes size = 1000_B, bool upsert = false) {
    const PutGrant grant = value<PutGrant>(start(session, key, size, upsert));
    EXPECT_TRUE(answer(end(session, key, grant.put_id)).has_value());
    return grant;
  }
  Ticket get(SessionId session, std::string_view key) {
    return call(session, GetReplicaList{.items = {{key}}});
  }
  bool readable(SessionId session, std::string_view key) {
    return std::get<Existence>(*answer(call(session, Exists{.items = {{key}}}))).exists;
  }
  Ticket remove(SessionId session, std::string_view key, bool force = false) {
    return call(session, Remove{.items = {{key}}, .force = force});
  }
  StatusReport status() const { return master_->status(now); }
  QuiesceReport quiesce() { return value<QuiesceReport>(call(alice, Quiesce{})); }
  // A read that gives its lease back.
  void read_and_return(SessionId session, std::string_view key) {
    const ReplicaList list = value<ReplicaList>(get(session, key));
    give_back(session, list);
  }
  void give_back(SessionId session, const ReplicaList& list) {
    send({.header = {.session = session,
                     .lease_returns = {{list.lease.slot, list.lease.round, list.put_id}}},
          .body = KeepAlive{}});
  }
  bool hard_pin(SessionId session, std::string_view key, Bytes size = 1000_B) {
    return put_item(session, {.key = key, .size = size, .hard_pin = true});
  }
  bool put_item(SessionId session, PutStart::Item item) {
    const Answer started = answer(call(session, PutStart{.items = {item}}));
    if (!started) return false;
    return answer(end(session, item.key, std::get<PutGrant>(*started).put_id)).has_value();
  }
  // What a node reports of an object that it has sealed.
  ReportInventory::Item sealed(const std::string& node, std::string_view key, PutId id,
                               Bytes offset = 0_B, Bytes size = 1000_B) {
    return {.extent = {.put_id = id, .location = {nodes[node].segment, offset}},
            .record = {.tenant = "t", .key = key, .size = size}};
  }
  void disconnect(const std::string& name) {
    nodes[name].beating = false;
    master_->node_disconnected(now, nodes[name].incarnation, nodes[name].registration);
  }
  void beat(const std::string& name) {
    nodes[name].beating = true;
    send({.body = Heartbeat{.incarnation = nodes[name].incarnation,
                            .registration = nodes[name].registration}});
  }
  std::string node_state(const std::string& name) const {
    for (const StatusReport::Node& node : status().nodes) {
      if (node.name == name) return node.state;
    }
    return "none";
  }

  Time now{std::chrono::hours(1)};
  std::map<std::string, FakeNode> nodes;
  std::vector<SessionId> kept_alive;
  std::vector<StateRecord> records;
  std::vector<ObjectEvent> events;
  std::vector<NodeEvent> node_events;
  bool checks = true;  // all invariants after each call

 private:
  void check() const {
    if (checks) master_->check_invariants();
  }
  void answer(Ticket ticket, std::uint32_t index, const Answer& given) override {
    ASSERT_LT(index, std::max<std::size_t>(1, counts_[ticket]));
    ASSERT_TRUE(answers_.emplace(std::pair(ticket, index), given).second)
        << "answered twice: " << ticket << "/" << index;
  }
  void collect() {
    records.insert(records.end(), effects_.records.begin(), effects_.records.end());
    events.insert(events.end(), effects_.events.begin(), effects_.events.end());
    node_events.insert(node_events.end(), effects_.node_events.begin(), effects_.node_events.end());
    const std::vector<Command> commands = std::move(effects_.commands);
    effects_.clear();
    std::vector<std::string> confirming;
    for (const Command& command : commands) {
      for (auto& [name, node] : nodes) {
        if (node.incarnation != command.incarnation) continue;
        if (const auto* retire = std::get_if<RetireExtents>(&command.body)) {
          node.asked.insert(node.asked.end(), retire->extents.begin(), retire->extents.end());
          if (node.confirms && node.beating) confirming.push_back(name);
        } else if (const auto* verify = std::get_if<VerifyExtents>(&command.body)) {
          node.verify.insert(node.verify.end(), verify->extents.begin(), verify->extents.end());
        } else if (std::holds_alternative<InventoryTaken>(command.body)) {
          ++node.taken_reports;
          node.taken = epoch_;
        }
      }
    }
    for (const std::string& name : confirming) confirm(name);
  }

  MasterConfig config_;
  Epoch epoch_;
  MasterEffects effects_;
  std::unique_ptr<Master> master_;
  Ticket tickets_ = 0;
  std::uint64_t incarnations_ = 0;
  std::map<SessionId, std::uint64_t> numbers_;
  std::map<Ticket, std::size_t> counts_;
  std::map<std::pair<Ticket, std::uint32_t>, Answer> answers_;
};

}  // namespace larder::testing
