#include "sim/incident/key_story.h"

#include <algorithm>
#include <cmath>

#include "core/base/percent.h"
#include "core/base/size_text.h"
#include "sim/incident/wall_clock.h"

namespace larder::sim {
namespace {

constexpr std::string_view recording = "record";

std::string reason(const Error& error) {
  std::string text(error_name(error.code()));
  if (!error.facts().detail.empty()) text += " (" + error.facts().detail + ")";
  return text;
}

// The key that an item of a request is about; empty: none.
std::string_view key_of(const RequestBody& body, std::uint32_t index) {
  return std::visit(
      [&](const auto& request) -> std::string_view {
        if constexpr (requires { request.items.front().key; }) {
          return request.items[index].key;
        } else {
          return {};
        }
      },
      body);
}

std::string_view name_of(ObjectEvent::Kind kind) {
  switch (kind) {
    case ObjectEvent::Kind::stored:
      return "is stored";
    case ObjectEvent::Kind::removed:
      return "is removed";
    case ObjectEvent::Kind::evicted:
      return "is evicted";
    case ObjectEvent::Kind::expired:
      return "is gone: its time to live is over";
    case ObjectEvent::Kind::lost:
      return "is lost: no node has a copy any more";
  }
  return "";
}

}  // namespace

std::string to_text(const std::vector<KeyStory::Line>& lines) {
  std::size_t width = 8;
  for (const KeyStory::Line& line : lines) width = std::max(width, line.who.size());
  std::string out;
  for (const KeyStory::Line& line : lines) {
    std::string who = line.who;
    who.resize(std::min<std::size_t>(width, 24), ' ');
    out += time_of_day_text(line.wall_clock_ns) + "  " + who + "  " + line.what;
    if (line.times > 1) {
      out += " (" + std::to_string(line.times) + " times, until " +
             time_of_day_text(line.last_wall_clock_ns) + ")";
    }
    out += "\n";
  }
  return out;
}

bool KeyStory::about(std::string_view key) const {
  return subject_.prefix ? key.starts_with(subject_.key) : key == subject_.key;
}

void KeyStory::say(std::string who, std::string what) {
  if (who != recording) knows_ = true;
  if (lines_.size() >= lines_max) return;
  if (lines_.size() + 1 == lines_max) what = "the story goes on, but is too long to be told";
  if (!lines_.empty() && lines_.back().who == who && lines_.back().what == what) {
    ++lines_.back().times;
    lines_.back().last_wall_clock_ns = now_ns_;
    return;
  }
  lines_.push_back({.wall_clock_ns = now_ns_,
                    .who = percent_escaped(who),
                    .what = std::move(what),
                    .last_wall_clock_ns = now_ns_});
}

std::string KeyStory::put(PutId id) {
  puts_.insert(id);
  return "put " + to_string(id);
}

std::string KeyStory::node_of(SegmentId segment) const {
  const SegmentDescription* known = master_->segment(segment);
  return known == nullptr ? "a lost node" : percent_escaped(known->node);
}

std::string KeyStory::places(std::span<const ReplicaLocation> replicas) const {
  std::string list;
  for (const ReplicaLocation& each : replicas) {
    list += (list.empty() ? "" : ", ") + node_of(each.segment);
  }
  return list;
}

std::string KeyStory::client(const Request& request) const {
  const auto who = master_->session(request.header.session);
  if (who && !who->client.empty()) return std::string(who->client);
  return "client " + to_string(request.header.session).substr(0, 8);
}

void KeyStory::loaded(Master& master, Time now, std::int64_t wall_clock_ns) {
  master_ = &master;
  now_ns_ = wall_clock_ns;
  // Neither answers nor digests depend on it.
  if (!master.change({.object_events = true})) return;
  describe(now);
}

// How a key stands where the recording begins.
void KeyStory::describe(Time now) {
  if (subject_.prefix) return;
  for (std::string_view tenant : master_->tenants()) {
    for (const auto& version : master_->describe(now, tenant, subject_.key).versions) {
      std::string list;
      for (const auto& replica : version.replicas) {
        list += (list.empty() ? "" : ", ") + percent_escaped(replica.node);
      }
      say("master",
          "has " + put(version.put_id) + " of " + percent_escaped(subject_.key) + ", " +
              version.state + ", " + size_text(version.size) + (list.empty() ? "" : " on " + list) +
              (version.group.empty() ? "" : ", of group " + percent_escaped(version.group)));
    }
  }
}

void KeyStory::broken(const std::string& why) { say(std::string(recording), why); }

// What explains later what the master does.
void KeyStory::hear(const RecordedCall& call) {
  const Request& request = *call.request;
  if (const auto* start = std::get_if<PutStart>(&request.body)) {
    for (std::size_t i = call.piece.first; i < std::min(call.piece.end, start->items.size()); ++i) {
      waiting_[{request.header.session, request.header.number, static_cast<std::uint32_t>(i)}] = {
          client(request), std::string(start->items[i].key), start->items[i].size};
    }
  } else if (const auto* revoke = std::get_if<PutRevoke>(&request.body)) {
    for (const auto& each : revoke->items) {
      if (unfinished_.erase(each.put_id) > 0) why_retired_[each.put_id] = "its writer gave it up";
    }
  }
}

void KeyStory::note_answer(const Request& request, std::uint32_t index, const Answer& answer) {
  if (const auto* start = std::get_if<PutStart>(&request.body)) {
    waiting_.erase({request.header.session, request.header.number, index});
    if (!answer || !about(start->items[index].key)) return;
    const auto& grant = std::get<PutGrant>(*answer);
    unfinished_[grant.put_id] = {request.header.session, client(request),
                                 now_ + grant.time_allowed};
  } else if (const auto* end = std::get_if<PutEnd>(&request.body)) {
    if (answer) unfinished_.erase(end->items[index].put_id);
  }
}

// The puts of a session that has ended end with it.
void KeyStory::end_sessions(const RecordedCall& call) {
  std::erase_if(unfinished_, [&](const auto& entry) {
    const auto& [id, put] = entry;
    if (master_->session(put.session)) return false;
    const bool closed = call.request != nullptr && call.request->header.session == put.session &&
                        std::holds_alternative<CloseSession>(call.request->body);
    why_retired_[id] =
        "the session of its writer, " + put.client + ", ended: " +
        (closed ? "it was closed"
                : "nothing was heard of it for " + time_text(config_.timing.session_lost));
    return true;
  });
}

// By what the master looks at: puts that wait for room, or else how full the pool is.
std::string KeyStory::why_evicted() {
  std::erase_if(waiting_, [&](const auto& entry) {
    return !master_->session(std::get<SessionId>(entry.first));
  });
  std::string why;
  if (waiting_.empty()) {
    why = "the pool was fuller than its high watermark, " +
          std::to_string(std::lround(config_.watermarks.high * 100)) + " %";
  } else {
    const Waiting& first = waiting_.begin()->second;
    why = "the put of " + percent_escaped(first.key) + ", " + size_text(first.size) + ", by " +
          first.client + " waits for room";
    if (waiting_.size() > 1) why += " (and " + std::to_string(waiting_.size() - 1) + " more)";
  }
  return why + "; policy " + config_.policy;
}

// Empty: what was said before tells.
std::string KeyStory::why_retired(const ExtentName& name, Time now) {
  const auto known = unfinished_.find(name.put_id);
  if (known != unfinished_.end() && now >= known->second.must_end) {
    why_retired_[name.put_id] = "it was not ended in its time";
    unfinished_.erase(known);
  }
  const auto why = why_retired_.find(name.put_id);
  return why == why_retired_.end() ? "" : ": " + why->second;
}

void KeyStory::before(const RecordedCall& call, Master& master) {
  master_ = &master;
  now_ns_ = call.wall_clock_ns;
  now_ = call.now;
  if (call.request == nullptr) return;
  hear(call);
  const auto ours = [&](PutId id) { return puts_.contains(id); };
  const auto& body = call.request->body;
  if (const auto* confirmed = std::get_if<ConfirmRetirement>(&body)) {
    for (const ExtentName& each : confirmed->retired) {
      if (ours(each.put_id)) {
        say(node_of(each.location.segment), "has retired " + put(each.put_id));
      }
    }
  } else if (const auto* corrupt = std::get_if<ReportCorrupt>(&body)) {
    for (const auto& each : corrupt->extents) {
      if (about(each.key)) {
        say(node_of(each.name.location.segment), put(each.name.put_id) + " is not what was put");
      }
    }
  } else if (const auto* report = std::get_if<ReportInventory>(&body)) {
    for (const auto& each : report->items) {
      if (!about(each.record.key)) continue;
      say(node_of(each.extent.location.segment), "reports that it has " + put(each.extent.put_id) +
                                                     " of " + percent_escaped(each.record.key));
    }
  }
}

void KeyStory::answered(Ticket, const Request* request, std::uint32_t index, const Answer& answer) {
  if (request == nullptr) return;
  note_answer(*request, index, answer);
  const std::string_view raw = key_of(request->body, index);
  if (!about(raw)) return;
  const std::string key = percent_escaped(raw);
  const std::string bad = answer ? "" : reason(answer.error());
  const std::string text = std::visit(
      [&](const auto& body) -> std::string {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, PutStart>) {
          const std::string what = "put of " + key + ", " + size_text(body.items[index].size);
          if (!answer) return what + ": refused, " + bad;
          const auto& grant = std::get<PutGrant>(*answer);
          return what + ": " + put(grant.put_id) + " has room on " + places(grant.replicas) +
                 "; it must end within " + time_text(grant.time_allowed);
        } else if constexpr (std::is_same_v<Body, PutEnd>) {
          return "end of " + put(body.items[index].put_id) + " of " + key + ": " +
                 (answer ? "COMPLETE" : "refused, " + bad);
        } else if constexpr (std::is_same_v<Body, PutRevoke>) {
          return "gives up " + put(body.items[index].put_id) + " of " + key + ": " +
                 (answer ? "its space is back" : bad);
        } else if constexpr (std::is_same_v<Body, GetReplicaList>) {
          if (!answer) return "get of " + key + ": " + bad;
          const auto& list = std::get<ReplicaList>(*answer);
          return "get of " + key + ": " + put(list.put_id) + " on " + places(list.replicas) +
                 "; lease " + time_text(list.lease.duration);
        } else if constexpr (std::is_same_v<Body, Exists>) {
          if (!answer) return "exists " + key + ": " + bad;
          return "exists " + key + ": " + (std::get<Existence>(*answer).exists ? "yes" : "no");
        } else if constexpr (std::is_same_v<Body, Remove>) {
          return "removal of " + key + (body.force ? ", forced" : "") + ": " +
                 (answer ? "done, and its space is back" : bad);
        } else {
          return "";
        }
      },
      request->body);
  if (!text.empty()) say(client(*request), text);
}

std::string KeyStory::extents(const std::vector<ExtentName>& names) {
  std::string list;
  for (const ExtentName& each : names) {
    if (puts_.contains(each.put_id)) list += (list.empty() ? "" : ", ") + put(each.put_id);
  }
  return list;
}

void KeyStory::after(const RecordedCall& call, Master&, const MasterEffects& effects) {
  end_sessions(call);
  for (const ObjectEvent& event : effects.events) {
    if (about(event.key) && event.kind != ObjectEvent::Kind::stored) {
      const bool evicted = event.kind == ObjectEvent::Kind::evicted;
      say("master", percent_escaped(event.key) + " " + std::string(name_of(event.kind)) +
                        (evicted ? ": " + why_evicted() : ""));
    }
  }
  for (const Command& command : effects.commands) {
    const auto* retire = std::get_if<RetireExtents>(&command.body);
    if (retire == nullptr) continue;
    if (const std::string list = extents(retire->extents); !list.empty()) {
      std::string why;
      for (const ExtentName& each : retire->extents) {
        if (puts_.contains(each.put_id) && why.empty()) why = why_retired(each, call.now);
      }
      say("master",
          "asks " + node_of(retire->extents[0].location.segment) + " to retire " + list + why);
    }
  }
  for (const NodeEvent& event : effects.node_events) {
    if (!puts_.empty())
      say("master", percent_escaped(event.name) + ": " + std::string(to_string(event.kind)) +
                        (event.why.empty() ? "" : ", " + event.why));
  }
}

}  // namespace larder::sim
