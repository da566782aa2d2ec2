#include "sim/explore/time_line.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/base/size_text.h"
#include "sim/explore/scenario_text.h"

namespace larder::sim {
namespace {

// An error as people hear it: without what the rest of the line says already.
std::string reason(const Error& error) {
  std::string text(error_name(error.code()));
  if (!error.facts().detail.empty()) text += " (" + error.facts().detail + ")";
  return text;
}

}  // namespace

std::string to_text(std::span<const TimeLineEntry> entries) {
  std::string out;
  for (const TimeLineEntry& entry : entries) {
    const std::int64_t us = (entry.when - Instant{}).count() / 1'000;
    char time[32];
    std::snprintf(time, sizeof(time), "%6lld.%06lld s  %-8s ",
                  static_cast<long long>(us / 1'000'000), static_cast<long long>(us % 1'000'000),
                  entry.who.c_str());
    out += time + entry.what + "\n";
  }
  return out;
}

void TimeLine::say(std::string who, std::string what) {
  if (stopped_) return;
  if (!entries_.empty() && entries_.back().who == who && entries_.back().what == what) return;
  entries_.push_back({world_->kernel().now(), std::move(who), std::move(what)});
}

// ---- names --------------------------------------------------------------------------------------

std::string TimeLine::name(const Process& process) const {
  const auto in = [&](Role role, const auto& list) -> std::string {
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      if (static_cast<const Process*>(list[i].get()) == &process) return to_string({role, i});
    }
    return "";
  };
  return in(Role::master, world_->masters()) + in(Role::node, world_->nodes()) +
         in(Role::client, world_->clients());
}

std::string TimeLine::node_at(const std::string& endpoint) const {
  for (const auto& node : world_->nodes()) {
    if (node->endpoint() == endpoint) return name(*node);
  }
  return "'" + endpoint + "'";
}

std::string TimeLine::node_of(SegmentId segment) {
  for (const auto& node : world_->nodes()) {
    if (node->has_segment(segment)) segments_[segment] = name(*node);
  }
  const auto known = segments_.find(segment);
  return known == segments_.end() ? "a lost node" : known->second;
}

std::string TimeLine::put(PutId id) {
  return "put #" + std::to_string(puts_.try_emplace(id, puts_.size() + 1).first->second);
}

std::string TimeLine::places(std::span<const ReplicaLocation> replicas) {
  std::string list;
  for (const ReplicaLocation& each : replicas) {
    list += (list.empty() ? "" : ", ") + node_of(each.segment);
  }
  return list;
}

// Operations go by the numbers by which violations name them.
void TimeLine::say_of(OperationId id, const std::string& what) {
  const auto known = clients_.find(id);
  say(known == clients_.end() ? "client" : known->second,
      "operation " + std::to_string(id.value) + ": " + what);
}

// ---- clients ------------------------------------------------------------------------------------

void TimeLine::step(const Step& step) {
  const Fault& fault = std::get<Fault>(step.what);
  say(to_string(fault.target), "FAULT: " + step_text(step));
}

void TimeLine::step_skipped(const Step& step) {
  const auto& operation = std::get<OperationStep>(step.what);
  say(to_string({Role::client, operation.client}), "is dead and does not begin its operation");
}

void TimeLine::fault_over(const Fault& fault) {
  say(to_string(fault.target), "the " + std::string(info(fault.kind).name) + " is over");
}

void TimeLine::begins(OperationId id, const OperationStep& step) {
  clients_[id] = to_string({Role::client, step.client});
  const std::string text = step_text({.at = {}, .what = step});
  say_of(id, text.substr(text.find(' ') + 1));
}

template <class Item, class Good>
void TimeLine::ended(OperationId id, const Item& result, std::string_view verb,
                     std::string_view key, Good&& good) {
  std::string text = std::string(verb) + " of " + std::string(key) + ": ";
  text += result ? good(*result) : reason(result.error());
  say_of(id, text);
}

void TimeLine::put_began(OperationId id, std::span<const PutWanted> items, WriteId first) {
  history_.put_began(id, items, first);
}

void TimeLine::put_ended(OperationId id, std::span<const PutSeen> items) {
  for (const PutSeen& item : items) {
    ended(id, item.result, "put", item.key, [&](const PutOutcome& outcome) {
      if (outcome.already_stored) return std::string("OK, it was there already");
      return "OK, " + put(outcome.put_id) + " has " + std::to_string(outcome.replicas) +
             (outcome.replicas == 1 ? " replica" : " replicas");
    });
  }
  history_.put_ended(id, items);
}

void TimeLine::get_ended(OperationId id, std::span<const GetSeen> items) {
  for (const GetSeen& item : items) {
    ended(id, item.result, "get", item.key, [&](const GetOutcome& outcome) {
      return "OK, the " + size_text(outcome.size) + " of " + put(outcome.put_id);
    });
  }
  history_.get_ended(id, items);
}

void TimeLine::exists_ended(OperationId id, std::span<const std::string_view> keys,
                            std::span<const Result<Existence>> results) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ended(id, results[i], "exists", keys[i],
          [](const Existence& found) { return std::string(found.exists ? "yes" : "no"); });
  }
  history_.exists_ended(id, keys, results);
}

void TimeLine::remove_ended(OperationId id, std::span<const std::string_view> keys,
                            std::span<const Status> results) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    say_of(id, "removal of " + std::string(keys[i]) + ": " +
                   (results[i] ? std::string("OK") : reason(results[i].error())));
  }
  history_.remove_ended(id, keys, results);
}

void TimeLine::operation_lost(OperationId id) {
  say_of(id, "dies in it");
  history_.operation_lost(id);
}

void TimeLine::violation(const std::string& what) {
  say("world", "VIOLATION: " + what);
  history_.violation(what);
}

void TimeLine::read_began(const ClientProcess& client, const std::string& endpoint, PutId id) {
  say(name(client), "reads " + put(id) + " from " + node_at(endpoint));
}

void TimeLine::transfer_failed(const ClientProcess& client, const std::string& endpoint,
                               const Error& error) {
  say(name(client), "its transfer with " + node_at(endpoint) + " ends: " + reason(error));
}

// ---- the master ---------------------------------------------------------------------------------

void TimeLine::master_answered(const MasterProcess& master, const Request& request,
                               std::uint32_t index, const Answer& answer) {
  history_.master_answered(master, request, index, answer);
  const bool first = answered_.emplace(request.header.session, request.header.number, index).second;
  if (!first && request.header.session) return;
  const std::string bad = answer ? "" : reason(answer.error());
  const std::string text = std::visit(
      [&](const auto& body) -> std::string {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, PutStart>) {
          const std::string key(body.items[index].key);
          if (!answer) return "refuses the put of " + key + ": " + bad;
          const auto& grant = std::get<PutGrant>(*answer);
          return "gives " + put(grant.put_id) + " of " + key + " room on " +
                 places(grant.replicas) + "; it must end within " +
                 duration_text(grant.time_allowed);
        } else if constexpr (std::is_same_v<Body, PutEnd>) {
          const std::string it = put(body.items[index].put_id);
          return answer ? it + " is COMPLETE" : "refuses the end of " + it + ": " + bad;
        } else if constexpr (std::is_same_v<Body, PutRevoke>) {
          return put(body.items[index].put_id) +
                 (answer ? " is revoked, its space is back" : " is not revoked: " + bad);
        } else if constexpr (std::is_same_v<Body, GetReplicaList>) {
          const std::string key(body.items[index].key);
          if (!answer) return "has no replica of " + key + " to answer: " + bad;
          const auto& list = std::get<ReplicaList>(*answer);
          return "answers where " + key + " is: " + put(list.put_id) + " on " +
                 places(list.replicas) + "; lease " + duration_text(list.lease.duration);
        } else if constexpr (std::is_same_v<Body, Remove>) {
          const std::string key(body.items[index].key);
          return answer ? key + " is removed, and its space is back"
                        : "does not remove " + key + ": " + bad;
        } else if constexpr (std::is_same_v<Body, RegisterNode>) {
          const std::string node = node_at(std::string(body.endpoint));
          if (!answer) return "sends " + node + " away: " + bad;
          const bool empties = std::get<NodeRegistered>(*answer).retire_everything;
          return "registers " + node + (empties ? ", which must retire everything first" : "");
        } else {
          return "";
        }
      },
      request.body);
  if (!text.empty()) say(name(master), text);
}

void TimeLine::master_commanded(const MasterProcess& master, const Command& command) {
  std::string list;
  std::string node;
  const auto add = [&](const std::vector<ExtentName>& extents) {
    for (const ExtentName& each : extents) {
      list += (list.empty() ? "" : ", ") + put(each.put_id);
      node = node_of(each.location.segment);
    }
  };
  if (const auto* retire = std::get_if<RetireExtents>(&command.body)) {
    add(retire->extents);
    if (!list.empty()) say(name(master), "asks " + node + " to retire " + list);
  } else if (const auto* verify = std::get_if<VerifyExtents>(&command.body)) {
    add(verify->extents);
    if (!list.empty()) say(name(master), "asks " + node + " to verify " + list);
  }
}

// What it does on its own shows in its books alone.
void TimeLine::master_stepped(const MasterProcess& master) {
  const StatusReport status = master.machine()->status(master.now());
  Books now{.epoch = status.epoch,
            .sessions = status.sessions,
            .unfinished = status.unfinished_puts,
            .evicted = status.evicted_objects,
            .quarantined = status.quarantined + status.hidden_quarantined,
            .nodes = {}};
  for (const StatusReport::Node& node : status.nodes) now.nodes[node.endpoint] = node.state;
  const std::string self = name(master);
  const Books before = std::exchange(books_[self], now);
  if (before.epoch != now.epoch) return;
  if (now.sessions < before.sessions) say(self, "ends a session that was silent for too long");
  if (now.evicted > before.evicted) {
    say(self, "evicts " + std::to_string(now.evicted - before.evicted) + " object" +
                  (now.evicted - before.evicted == 1 ? "" : "s"));
  }
  if (now.quarantined > before.quarantined) {
    say(self, size_text(now.quarantined - before.quarantined) + " go into quarantine");
  } else if (now.quarantined < before.quarantined) {
    // A node that is lost takes along what it had not retired.
    const bool lost = std::ranges::any_of(
        before.nodes, [&](const auto& node) { return !now.nodes.contains(node.first); });
    say(self, size_text(before.quarantined - now.quarantined) +
                  (lost ? " in quarantine are gone with their node"
                        : " leave quarantine, and are free again"));
  }
  for (const auto& [endpoint, state] : now.nodes) {
    const auto known = before.nodes.find(endpoint);
    if (known == before.nodes.end() || known->second == state) continue;
    say(self, node_at(endpoint) + " is " + state + ", and was " + known->second);
  }
  for (const auto& [endpoint, state] : before.nodes) {
    if (!now.nodes.contains(endpoint)) say(self, node_at(endpoint) + " is lost");
  }
}

void TimeLine::master_superseded(const MasterProcess& master) {
  say(name(master), "ends: a newer master leads");
}

// ---- nodes --------------------------------------------------------------------------------------

void TimeLine::fill_began(const NodeProcess& node, const FillItem& item, const Status& status) {
  if (item.part_offset > 0_B && status) return;
  say(name(node), status ? "fills " + put(item.put_id)
                         : "refuses to fill " + put(item.put_id) + ": " + reason(status.error()));
}

void TimeLine::fill_ended(const NodeProcess& node, const FillItem& item, const Status& status) {
  say(name(node), status ? "seals " + put(item.put_id)
                         : "does not seal " + put(item.put_id) + ": " + reason(status.error()));
}

void TimeLine::read_refused(const NodeProcess& node, PutId id, const Error& error) {
  say(name(node), "refuses to read " + put(id) + ": " + reason(error));
}

void TimeLine::node_sent(const NodeProcess& node, const Request& request) {
  if (const auto* confirmed = std::get_if<ConfirmRetirement>(&request.body)) {
    for (const ExtentName& each : confirmed->retired) {
      say(name(node), "has retired " + put(each.put_id));
    }
    for (const auto& each : confirmed->held) {
      say(name(node),
          put(each.extent.put_id) + " is still being read; at most " + duration_text(each.at_most));
    }
  } else if (const auto* report = std::get_if<ReportInventory>(&request.body)) {
    say(name(node), "reports what it holds: " + std::to_string(report->items.size()) +
                        (report->items.size() == 1 ? " extent" : " extents"));
  } else if (const auto* corrupt = std::get_if<ReportCorrupt>(&request.body)) {
    for (const auto& each : corrupt->extents) {
      say(name(node), put(each.name.put_id) + " is not what was put there");
    }
  }
}

}  // namespace larder::sim
