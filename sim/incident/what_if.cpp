#include "sim/incident/what_if.h"

#include <algorithm>
#include <utility>

#include "core/base/archive.h"
#include "core/base/percent.h"

namespace larder::sim {
namespace {

constexpr std::size_t leases_max = 4'000'000;  // then older ones run out by themselves
constexpr Duration silence_max = std::chrono::seconds(3);
constexpr int ticks_max = 10'000;  // of one moment

std::uint64_t lease_key(std::uint32_t slot, std::uint32_t round) {
  return std::uint64_t{slot} << 32 | round;
}

Result<std::unique_ptr<Master>> copy_of(const Master& master) {
  std::string bytes;
  Archive saving([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  master.save(saving);
  Archive loading(std::as_bytes(std::span(bytes)));
  return Master::load(loading);
}

std::uint64_t sum(const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  std::uint64_t total = 0;
  for (const auto& [name, count] : counts) total += count;
  return total;
}

}  // namespace

Result<WhatIf::Outcome> WhatIf::outcome() {
  if (error_) return std::unexpected(*error_);
  if (!other_) {
    return failed(ErrorCode::invalid_params,
                  "the recording ends before the moment that --at names");
  }
  outcome_.recorded = side(first_, last_recorded_);
  outcome_.other = side(first_, last_other_);
  Side& a = outcome_.recorded;
  Side& b = outcome_.other;
  a.policy = begun_.policy;
  b.policy = question_.change.policy.value_or(a.policy);
  a.lease = begun_.timing.lease;
  b.lease = question_.change.lease.value_or(a.lease);
  // A smaller pool is one of which eviction keeps a part free.
  b.memory = {static_cast<std::uint64_t>(static_cast<double>(b.memory.value) *
                                         std::min(1.0, question_.change.memory_factor))};
  return outcome_;
}

WhatIf::Side WhatIf::side(const StatusReport& before, const StatusReport& after) {
  return {.gets = after.gets - before.gets,
          .hits = after.hits - before.hits,
          .puts = after.puts - before.puts,
          .refused = sum(after.refusals) - sum(before.refusals),
          .evicted_objects = after.evicted_objects - before.evicted_objects,
          .evicted_bytes = after.evicted_bytes - before.evicted_bytes,
          .objects = after.objects,
          .used = after.used,
          .policy = {},
          .memory = after.capacity};
}

void WhatIf::loaded(Master& master, Time now, std::int64_t wall_clock_ns) {
  now_ns_ = wall_clock_ns;
  if (!other_ && !error_ && wall_clock_ns >= question_.at_ns) begin(master, now);
  if (over_ && outcome_.next_begin_ns == 0) outcome_.next_begin_ns = wall_clock_ns;
}

void WhatIf::broken(const std::string& why) {
  if (!other_ || over_) return;
  over_ = true;
  outcome_.stopped = why;
}

void WhatIf::begin(Master& master, Time now) {
  now_ = now;
  auto copy = copy_of(master);
  if (!copy) {
    error_ = copy.error();
    return;
  }
  if (Status changed = (*copy)->change(question_.change); !changed) {
    error_ = changed.error();
    return;
  }
  other_ = std::move(*copy);
  begun_ = config_;
  outcome_.begin_ns = now_ns_;
  outcome_.end_ns = now_ns_;
  first_ = last_recorded_ = last_other_ = master.status(now);
}

void WhatIf::before(const RecordedCall& call, Master& master) {
  now_ns_ = call.wall_clock_ns;
  hear(call);
  if (!other_ && !error_ && call.wall_clock_ns >= question_.at_ns) begin(master, call.now);
  recorded_leases_.clear();
  recorded_hits_.clear();
}

// Nodes confirm under their registration, while they are there.
void WhatIf::hear(const RecordedCall& call) {
  if (call.kind == journal::RecordKind::node_disconnected) {
    nodes_[call.node.incarnation].registration = 0;
  } else if (call.request != nullptr) {
    const auto heard = [&](const auto& from) {
      Node& node = nodes_[from.incarnation];
      node.registration = from.registration;
      node.heard = call.now;
    };
    const RequestBody& body = call.request->body;
    if (const auto* node = std::get_if<RegisterNode>(&body)) heard(*node);
    if (const auto* beat = std::get_if<Heartbeat>(&body)) heard(*beat);
  }
}

void WhatIf::answered(Ticket ticket, const Request* request, std::uint32_t index,
                      const Answer& answer) {
  if (!other_ || over_ || request == nullptr) return;
  if (std::holds_alternative<GetReplicaList>(request->body)) {
    recorded_hits_[{ticket, index}] = answer.has_value();
  }
  if (!answer) return;
  if (const auto* grant = std::get_if<PutGrant>(&*answer)) {
    recorded_puts_[grant->put_id] = {request->header.session, request->header.number, index};
  } else if (const auto* list = std::get_if<ReplicaList>(&*answer)) {
    recorded_leases_[{ticket, index}] = {list->lease.slot, list->lease.round};
  }
}

void WhatIf::after(const RecordedCall& call, Master&, const MasterEffects&) {
  if (!other_ || over_) return;
  go(call);
  outcome_.end_ns = call.wall_clock_ns;
}

void WhatIf::ended(Master& master, Time now) {
  if (!other_ || over_) return;
  ticks(now);
  last_recorded_ = master.status(now);
  last_other_ = other_->status(std::max(now_, now));
}

void WhatIf::go(const RecordedCall& call) {
  ticks(call.now);
  now_ = std::max(now_, call.now);
  if (call.kind == journal::RecordKind::node_disconnected) {
    return other_->node_disconnected(now_, call.node.incarnation, call.node.registration);
  }
  // A long call is carried out with its first piece: those of the other master have other items.
  if (call.request == nullptr || call.piece.first != 0) return;
  const auto request = translated(*call.request);
  if (!request) return;
  if (std::holds_alternative<PutStart>(request->body)) {
    puts_[call.ticket] = {request->header.session, request->header.number, 0};
  }
  asked_ = &*request;
  other_->apply(now_, call.ticket, *request, effects_);
  asked_ = nullptr;
  take_effects();
  confirm();
}

// Its own work, when it is due.
void WhatIf::ticks(Time until) {
  for (int i = 0; i < ticks_max; ++i) {
    const std::optional<Time> due = other_->next_deadline();
    if (!due || *due > until) return;
    now_ = std::max(now_, *due);
    other_->tick(now_, effects_);
    take_effects();
    confirm();
  }
}

std::optional<Request> WhatIf::translated(const Request& request) {
  Request own = request;
  std::vector<LeaseReturn> returns;
  for (const LeaseReturn& lease : request.header.lease_returns) {
    const auto known = leases_.find(lease_key(lease.slot, lease.round));
    if (known != leases_.end()) returns.push_back(known->second);
  }
  own.header.lease_returns = std::move(returns);
  if (auto* end = std::get_if<PutEnd>(&own.body)) {
    translate(*end);
    if (end->items.empty()) return std::nullopt;
  } else if (auto* revoke = std::get_if<PutRevoke>(&own.body)) {
    translate(*revoke);
    if (revoke->items.empty()) return std::nullopt;
  } else if (auto* node = std::get_if<RegisterNode>(&own.body)) {
    const double larger = std::max(1.0, question_.change.memory_factor);
    for (auto& segment : node->segments) {
      segment.size = {static_cast<std::uint64_t>(static_cast<double>(segment.size.value) * larger)};
    }
  }
  return own;
}

// A put that began before the moment has one id in both worlds.
void WhatIf::translate(PutEnd& body) {
  std::erase_if(body.items, [&](PutEnd::Item& item) {
    const auto place = recorded_puts_.find(item.put_id);
    if (place == recorded_puts_.end()) return false;
    const auto grant = other_grants_.find(place->second);
    if (grant == other_grants_.end()) {
      ++outcome_.ends_left_out;
      return true;
    }
    item.put_id = grant->second.put_id;
    if (item.sealed != 0) item.sealed = (1u << grant->second.replicas) - 1;
    return false;
  });
}

void WhatIf::translate(PutRevoke& body) {
  std::erase_if(body.items, [&](PutRevoke::Item& item) {
    const auto place = recorded_puts_.find(item.put_id);
    if (place == recorded_puts_.end()) return false;
    const auto grant = other_grants_.find(place->second);
    if (grant == other_grants_.end()) return true;
    item.put_id = grant->second.put_id;
    return false;
  });
}

void WhatIf::answer(Ticket ticket, std::uint32_t index, const Answer& answer) {
  if (answer) {
    if (const auto* grant = std::get_if<PutGrant>(&*answer)) {
      const auto call = puts_.find(ticket);
      if (call == puts_.end()) return;
      Place place = call->second;
      place.index = index;
      other_grants_[place] = {grant->put_id, grant->replicas.size()};
    } else if (const auto* list = std::get_if<ReplicaList>(&*answer)) {
      if (const auto recorded = recorded_leases_.find({ticket, index});
          recorded != recorded_leases_.end()) {
        if (leases_.size() >= leases_max) leases_.clear();
        leases_[lease_key(recorded->second.first, recorded->second.second)] = {
            .slot = list->lease.slot, .round = list->lease.round, .put_id = list->put_id};
      }
    }
  }
  if (asked_ == nullptr) return;
  const auto* gets = std::get_if<GetReplicaList>(&asked_->body);
  const auto recorded = recorded_hits_.find({ticket, index});
  if (gets == nullptr || recorded == recorded_hits_.end()) return;
  compare(gets->items[index].key, recorded->second, answer.has_value());
}

void WhatIf::compare(std::string_view key, bool recorded, bool other) {
  if (recorded == other) return;
  ++(recorded ? outcome_.only_recorded_hits : outcome_.only_other_hits);
  if (outcome_.first) return;
  outcome_.first = {now_ns_, "a get of " + percent_escaped(key) +
                                 (recorded ? " found it, and would have missed it"
                                           : " missed it, and would have found it")};
}

void WhatIf::take_effects() {
  for (const Command& command : effects_.commands) {
    if (const auto* retire = std::get_if<RetireExtents>(&command.body)) {
      auto& asked = nodes_[command.incarnation].asked;
      asked.insert(asked.end(), retire->extents.begin(), retire->extents.end());
    }
  }
  effects_.clear();
}

// At once, by every node that is there; those of others wait.
void WhatIf::confirm() {
  for (auto& [incarnation, node] : nodes_) {
    const bool there = node.registration != 0 && now_ - node.heard < silence_max;
    if (node.asked.empty() || !there) continue;
    const Request request{.header = {},
                          .body = ConfirmRetirement{.incarnation = incarnation,
                                                    .registration = node.registration,
                                                    .retired = std::exchange(node.asked, {}),
                                                    .held = {}}};
    other_->apply(now_, 0, request, effects_);
    take_effects();
  }
}

}  // namespace larder::sim
