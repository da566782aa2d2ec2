#include "tests/property/world.h"

#include <algorithm>
#include <tuple>

namespace larder::property {
namespace {

using namespace std::chrono_literals;

constexpr SessionId client{1, 1};
constexpr std::array<std::string_view, 3> keys{"a", "b", "c"};
constexpr std::array<Bytes, 3> sizes{100_B, 300_B, 700_B};
constexpr Bytes segment_size{1536};  // so that a few objects fill it

}  // namespace

World::World(Seen& seen) : seen_(seen), effects_(*this) {
  config_.quarantine_bytes_min = 1_TiB;
  config_.timing.lease = 1s;
  config_.timing.exists_lease = 100ms;
  disk_.durable = true;
  make_master();
  for (std::size_t i = 0; i < nodes_.size(); ++i) make_node(i);
  deliver_all();
}

void World::make_master() {
  ++epoch_;
  asked_.clear();
  reference_.new_master();
  master_ =
      std::move(Master::make(now_, config_, {.epoch = {epoch_}, .instance = {epoch_, 1}}, disk_))
          .value();
}

void World::make_node(std::size_t index) {
  NodeProcess& process = nodes_[index];
  process.incarnation = {2, ++incarnations_};
  process.segment = {3, incarnations_};
  segments_[process.incarnation] = process.segment;
  const std::string name = "n" + std::to_string(index);
  process.node = std::make_unique<Node>(NodeConfig{.name = name,
                                                   .endpoint = name + ":1",
                                                   .host = name,
                                                   .timing = config_.timing,
                                                   .inventory_part_items = 2},
                                        process.incarnation, memory_);
  NodeEffects effects;
  RC_ASSERT(
      process.node
          ->add_segment(now_, {.id = process.segment, .name = "s", .size = segment_size}, effects)
          .has_value());
  process.connected = false;
  connect(index);
}

void World::connect(std::size_t index) {
  NodeEffects effects;
  nodes_[index].connected = true;
  nodes_[index].node->connected(now_, effects);
  carry_out(index, effects);
}

void World::disconnect(std::size_t index) {
  NodeProcess& process = nodes_[index];
  process.connected = false;
  master_->node_disconnected(now_, process.incarnation, process.node->status(now_).registration);
  process.node->disconnected(now_);
}

void World::run(const Op& op) {
  step(op);
  do_due();
  check();
}

void World::step(const Op& op) {
  const std::size_t node = op.a % nodes_.size();
  const std::string_view key = keys[op.a % keys.size()];
  switch (op.kind) {
    case Kind::deliver:
      if (!messages_.empty()) deliver(0);
      return;
    case Kind::deliver_late:
      if (!messages_.empty()) deliver(op.a % messages_.size());
      return;
    case Kind::drop:
      if (!messages_.empty()) drop(op.a % messages_.size());
      return;
    case Kind::duplicate:
      if (!messages_.empty()) messages_.push_back(messages_[op.a % messages_.size()]);
      return;
    case Kind::calm:
      return deliver_all();
    case Kind::store:
      return store(op);
    case Kind::start:
      return call(PutStart{
          .items = {{.key = key, .size = sizes[op.b % sizes.size()], .replicas = 1 + op.b / 3 % 2}},
          .upsert = op.b / 6 % 2 == 0});
    case Kind::fill:
      if (const ClientPut* put = recent_put(op.b)) {
        for (const ReplicaLocation& at : put->replicas) {
          for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (nodes_[i].segment != at.segment) continue;
            messages_.push_back(
                FillPart{.to = {i, nodes_[i].incarnation},
                         .item = {.put_id = put->put_id,
                                  .location = at,
                                  .record = {.tenant = "t", .key = put->key, .size = put->size},
                                  .part_length = put->size}});
          }
        }
      }
      return;
    case Kind::end:
      if (const ClientPut* put = recent_put(op.b); put != nullptr && put->sealed != 0) {
        call(PutEnd{.items = {{.key = put->key, .put_id = put->put_id, .sealed = put->sealed}}});
      }
      return;
    case Kind::revoke:
      if (const ClientPut* put = recent_put(op.b)) {
        call(PutRevoke{.items = {{.key = put->key, .put_id = put->put_id}}});
      }
      return;
    case Kind::remove:
      return call(Remove{.items = {{key}}, .force = op.b % 2 == 0});
    case Kind::get:
      open_session();
      reads_ = op.b % 3 == 0;
      apply({.request = std::make_shared<const OwnedRequest>(Request{
                 .header = {.session = client}, .body = GetReplicaList{.items = {{key}}}})});
      reads_ = false;
      return;
    case Kind::pass:
      now_ += std::array<Duration, 8>{1ms, 100ms, 500ms, 1s, 1s, 2s, 6s, 12s}[op.b % 8];
      return;
    case Kind::connect:
      if (!nodes_[node].connected || op.b % 4 == 0) connect(node);
      return;
    case Kind::disconnect:
      return disconnect(node);
    case Kind::restart_node:
      if (op.b % 2 == 0) disconnect(node);
      return make_node(node);
    case Kind::restart_master:
      for (std::size_t i = 0; i < nodes_.size(); ++i) disconnect(i);
      make_master();
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if ((op.b >> i & 1) == 0) connect(i);
      }
      return;
  }
}

// A message between a master and a node is lost with their connection only.
void World::drop(std::size_t index) {
  const Message& message = messages_[index];
  IncarnationId of;
  if (const auto* one = std::get_if<ToMaster>(&message); one != nullptr && one->from) {
    of = one->from->incarnation;
  } else if (const auto* command = std::get_if<ToNode>(&message)) {
    of = command->command.incarnation;
  } else if (const auto* reply = std::get_if<Reply>(&message)) {
    of = reply->to.incarnation;
  } else if (std::holds_alternative<FillEnd>(message) || std::holds_alternative<ReadEnd>(message)) {
    return;  // these always come
  }
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(index));
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].incarnation == of && nodes_[i].connected) disconnect(i);
  }
}

void World::store(const Op& op) {
  const std::size_t before = puts_.size();
  for (const Kind kind : {Kind::start, Kind::fill, Kind::end}) {
    step({kind, op.a, kind == Kind::start ? op.b : 0});
    deliver_all();
    if (puts_.size() == before) return;
  }
}

// ---- clients -----------------------------------------------------------------------------------

void World::open_session() {
  apply({.request = std::make_shared<const OwnedRequest>(
             Request{.header = {.session = client}, .body = OpenSession{.tenant = "t"}})});
}

void World::call(RequestBody body) {
  open_session();
  ++calls_;
  const RequestHeader header{
      .session = client, .number = calls_, .lowest_unanswered = calls_ > 50 ? calls_ - 50 : 0};
  messages_.push_back(ToMaster{.request = std::make_shared<const OwnedRequest>(
                                   Request{.header = header, .body = std::move(body)})});
}

World::ClientPut* World::recent_put(unsigned a) {
  if (puts_.empty()) return nullptr;
  return &puts_[puts_.size() - 1 - a % std::min<std::size_t>(puts_.size(), 4)];
}

void World::answered_client(const Request& request, std::uint32_t index, const Answer& given) {
  if (const auto* start = std::get_if<PutStart>(&request.body)) {
    if (!given) return;
    const PutGrant& grant = std::get<PutGrant>(*given);
    const PutStart::Item& item = start->items[index];
    if (reference_.knows(grant.put_id)) {  // a repeated call
      RC_ASSERT(reference_.key_of(grant.put_id) == item.key);
      return;
    }
    reference_.granted(std::string(item.key), item.size, start->upsert, grant);
    const auto* key = std::ranges::find(keys, item.key);
    puts_.push_back(
        {.put_id = grant.put_id, .key = *key, .size = item.size, .replicas = grant.replicas});
  } else if (const auto* end = std::get_if<PutEnd>(&request.body)) {
    if (!given) return;
    reference_.ended(end->items[index].put_id);
    ++seen_.upserts;
  } else if (const auto* revoke = std::get_if<PutRevoke>(&request.body)) {
    if (given) reference_.revoked(revoke->items[index].put_id);
  } else if (std::holds_alternative<Remove>(request.body)) {
    if (!given && given.error().code() != ErrorCode::object_not_found) return;
    reference_.removed(removals_.at({epoch_, request.header.number, index}));
    ++seen_.removed;
  } else if (const auto* get = std::get_if<GetReplicaList>(&request.body)) {
    if (!given) return;
    const ReplicaList& list = std::get<ReplicaList>(*given);
    reference_.listed(get->items[index].key, {epoch_}, list);
    ++seen_.listed;
    seen_.restored += list.put_id.epoch.value < epoch_;
    read(list);
  }
}

void World::read(const ReplicaList& list) {
  if (!reads_) return;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].segment != list.replicas[0].segment) continue;
    const Result<ReadBegun> begun =
        nodes_[i].node->begin_read(now_, {.extent = {list.put_id, list.replicas[0]},
                                          .tenant = "t",
                                          .offset = 0_B,
                                          .length = list.size});
    if (!begun) continue;
    messages_.push_back(ReadEnd{.to = {i, nodes_[i].incarnation}, .id = begun->id});
  }
}

// ---- messages ----------------------------------------------------------------------------------

void World::deliver(std::size_t index) {
  const Message message = std::move(messages_[index]);
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(index));
  std::visit([&](const auto& one) { take(one); }, message);
}

void World::deliver_all() {
  for (int i = 0; i < 2000 && !messages_.empty(); ++i) {
    deliver(0);
    do_due();
  }
  RC_ASSERT(messages_.empty());  // the talk comes to an end
}

World::NodeProcess* World::process(const NodeAddress& address) {
  NodeProcess& process = nodes_[address.node];
  return process.incarnation == address.incarnation ? &process : nullptr;
}

void World::take(const ToMaster& message) {
  if (message.from && message.to.value != epoch_) return;
  apply(message);
}

void World::apply(const ToMaster& message) {
  const Ticket ticket = ++tickets_;
  asked_[ticket] = {message.request, message.from, message.ticket};
  const Request& request = message.request->get();
  if (!message.from && request.header.number != 0) {
    for (auto& [earlier, one] : asked_) {
      const bool same = one.request->get().header.number == request.header.number;
      one.excused |= same && !one.from && earlier < ticket;
    }
  }
  if (const auto* remove = std::get_if<Remove>(&request.body)) {
    for (std::uint32_t i = 0; i < remove->items.size(); ++i) {
      removals_.try_emplace({epoch_, request.header.number, i},
                            reference_.puts_of(remove->items[i].key));
    }
  } else if (const auto* end = std::get_if<PutEnd>(&request.body)) {
    for (const PutEnd::Item& item : end->items) reference_.end_asked(item.put_id);
  } else if (const auto* report = std::get_if<ReportInventory>(&request.body)) {
    if (master_->status(now_).recovering) taking_ = report;
  }
  reference_.next_step();
  master_->apply(now_, ticket, request, effects_);
  taking_ = nullptr;
  carry_out();
}

void World::take(const ToNode& message) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].incarnation != message.command.incarnation || !nodes_[i].connected) continue;
    NodeEffects effects;
    nodes_[i].node->command(now_, message.command, effects);
    carry_out(i, effects);
  }
}

void World::take(const Reply& message) {
  NodeProcess* to = process(message.to);
  if (to == nullptr || !to->connected) return;
  NodeEffects effects;
  to->node->answered(now_, message.ticket, message.answer, effects);
  carry_out(message.to.node, effects);
}

void World::take(const FillPart& message) {
  NodeProcess* to = process(message.to);
  if (to == nullptr) return;
  const Result<FillBegun> begun = to->node->begin_fill(now_, message.item, ConnectionId{1});
  const ExtentName extent{message.item.put_id, message.item.location};
  if (begun && !begun->already_sealed) {
    messages_.push_back(FillEnd{.to = message.to, .id = begun->id, .extent = extent});
  }
}

void World::take(const FillEnd& message) {
  NodeProcess* to = process(message.to);
  if (to == nullptr) return;
  NodeEffects effects;
  const Status status = to->node->seal(now_, message.id, {}, effects);
  carry_out(message.to.node, effects);
  if (!status) return;
  reference_.sealed(message.extent);
  for (ClientPut& put : puts_) {
    if (put.put_id != message.extent.put_id) continue;
    for (std::size_t i = 0; i < put.replicas.size(); ++i) {
      if (put.replicas[i] == message.extent.location) put.sealed |= 1u << i;
    }
  }
}

void World::take(const ReadEnd& message) {
  NodeProcess* to = process(message.to);
  if (to == nullptr) return;
  NodeEffects effects;
  to->node->end_read(now_, message.id, effects);
  carry_out(message.to.node, effects);
}

void World::answer(Ticket ticket, std::uint32_t index, const Answer& given) {
  const auto found = asked_.find(ticket);
  RC_ASSERT(found != asked_.end());
  Asked& asked = found->second;
  RC_ASSERT(!asked.excused);
  ++asked.answers;
  if (given && std::holds_alternative<SessionOpened>(*given)) {
    if (std::get<SessionOpened>(*given).resumed) return;
    for (auto& [earlier, one] : asked_) one.excused |= !one.from && earlier < ticket;
  }
  if (!asked.from) return answered_client(asked.request->get(), index, given);
  if (given && taking_ != nullptr) {
    for (const auto& item : taking_->items) {
      if (!item.retiring && item.extent.put_id.epoch.value < epoch_) {
        reference_.found(item.record.key, item.extent.put_id);
      }
    }
  }
  messages_.push_back(Reply{.to = *asked.from, .ticket = asked.ticket, .answer = given});
}

void World::carry_out() {
  for (const StateRecord& record : effects_.records) {
    if (const auto* known = std::get_if<NodeKnown>(&record)) {
      std::erase_if(disk_.known,
                    [&](const NodeKnown& one) { return one.incarnation == known->incarnation; });
      disk_.known.push_back(*known);
    } else if (const auto* lost = std::get_if<NodeLost>(&record)) {
      std::erase_if(disk_.known,
                    [&](const NodeKnown& one) { return one.incarnation == lost->incarnation; });
      disk_.lost.push_back(lost->incarnation);
      reference_.lost(segments_.at(lost->incarnation));
      ++seen_.lost_nodes;
    } else if (const auto* ended = std::get_if<RecoveryEnded>(&record)) {
      disk_.recovered_epoch = ended->epoch;
    }
  }
  for (Command& command : effects_.commands) {
    if (const auto* retire = std::get_if<RetireExtents>(&command.body)) {
      for (const ExtentName& name : retire->extents) reference_.asked(name.put_id);
    }
    messages_.push_back(ToNode{std::move(command)});
  }
  effects_.clear();
}

void World::carry_out(std::size_t index, NodeEffects& effects) {
  NodeProcess& process = nodes_[index];
  for (const NodeEffects::Send& send : effects.send) {
    if (const auto* report = std::get_if<ReportInventory>(&send.request.body)) {
      if (report->part == 0) process.reporting.clear();
      for (const auto& item : report->items) process.reporting.insert(item.extent);
      if (report->last) {
        reference_.reported(process.segment, process.reporting, process.node->status(now_).epoch);
      }
    } else if (const auto* confirm = std::get_if<ConfirmRetirement>(&send.request.body)) {
      for (const ExtentName& name : confirm->retired) reference_.confirmed(name);
    }
    messages_.push_back(ToMaster{.request = std::make_shared<const OwnedRequest>(send.request),
                                 .from = NodeAddress{index, process.incarnation},
                                 .ticket = send.ticket,
                                 .to = {epoch_}});
  }
  if (effects.reconnect) {
    process.connected = false;
    process.node->disconnected(now_);
  }
  if (effects.finished) make_node(index);
}

void World::do_due() {
  for (int i = 0; i < 1000; ++i) {
    const std::optional<Time> next = master_->next_deadline();
    if (!next || *next > now_) break;
    RC_ASSERT(i < 999);
    reference_.next_step();
    master_->tick(now_, effects_);
    carry_out();
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    for (int i = 0; i < 1000; ++i) {
      const std::optional<Time> next = nodes_[n].node->next_deadline();
      if (!next || *next > now_) break;
      RC_ASSERT(i < 999);
      NodeEffects effects;
      nodes_[n].node->tick(now_, effects);
      carry_out(n, effects);
    }
  }
}

void World::check() const {
  master_->check_invariants();
  for (const NodeProcess& process : nodes_) {
    process.node->check_invariants();
    RC_ASSERT(process.node->status(now_).overlaps == 0u);
  }
}

// Every item of every call that a living session still waits for.
void World::check_answered() const {
  for (const auto& [ticket, asked] : asked_) {
    const Request& request = asked.request->get();
    if (asked.excused || asked.from || request.header.number + 50 <= calls_) continue;
    RC_ASSERT(asked.answers == answer_count(request.body));
  }
}

void World::finish() {
  for (int i = 0; i < 140; ++i) {
    open_session();
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (!nodes_[n].connected) connect(n);
    }
    deliver_all();
    now_ += 500ms;
    do_due();
  }
  deliver_all();
  check();
  const StatusReport status = master_->status(now_);
  seen_.evicted += static_cast<int>(status.evicted_objects);
  RC_ASSERT(!status.recovering);
  RC_ASSERT(status.unfinished_puts == 0u);
  RC_ASSERT(status.quarantined == 0_B);
  RC_ASSERT(status.nodes.size() == nodes_.size());
  for (const NodeProcess& process : nodes_) {
    const NodeStatus node = process.node->status(now_);
    RC_ASSERT(node.extents[0] == 0u && node.extents[2] == 0u);
    RC_ASSERT(node.taken_epoch == Epoch{epoch_});
    for (const StatusReport::Node& known : status.nodes) {
      if (known.name != "n" + std::to_string(&process - nodes_.data())) continue;
      RC_ASSERT(known.state == "shown");
      RC_ASSERT(known.used == node.bytes[1]);
      RC_ASSERT(known.objects == node.extents[1]);
    }
  }
  for (unsigned i = 0; i < keys.size(); ++i) run({Kind::get, i, 1});
  // And the pool still serves: leases are over, so an upsert finds room.
  now_ += 2s;
  const std::size_t puts = puts_.size();
  run({Kind::start, 0, 2});
  for (int i = 0; i < 3; ++i) deliver_all();
  RC_ASSERT(puts_.size() == puts + 1);
  check_answered();
}

}  // namespace larder::property
