#include "sim/incident/key_story.h"

#include <algorithm>

#include "core/base/duration_text.h"
#include "core/base/percent.h"
#include "core/base/size_text.h"
#include "sim/incident/wall_clock.h"

namespace larder::sim {
namespace {

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
  return "put #" + std::to_string(puts_.try_emplace(id, puts_.size() + 1).first->second);
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

void KeyStory::broken(const std::string& why) { say("record", why); }

void KeyStory::before(const RecordedCall& call, Master& master) {
  master_ = &master;
  now_ns_ = call.wall_clock_ns;
  if (call.request == nullptr) return;
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
                 "; it must end within " + duration_text(grant.time_allowed);
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
                 "; lease " + duration_text(list.lease.duration);
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

void KeyStory::after(const RecordedCall&, Master&, const MasterEffects& effects) {
  for (const ObjectEvent& event : effects.events) {
    if (about(event.key) && event.kind != ObjectEvent::Kind::stored) {
      say("master", percent_escaped(event.key) + " " + std::string(name_of(event.kind)));
    }
  }
  for (const Command& command : effects.commands) {
    const auto* retire = std::get_if<RetireExtents>(&command.body);
    if (retire == nullptr) continue;
    if (const std::string list = extents(retire->extents); !list.empty()) {
      say("master", "asks " + node_of(retire->extents[0].location.segment) + " to retire " + list);
    }
  }
  for (const NodeEvent& event : effects.node_events) {
    if (!puts_.empty())
      say("master", percent_escaped(event.name) + ": " + std::string(to_string(event.kind)) +
                        (event.why.empty() ? "" : ", " + event.why));
  }
}

}  // namespace larder::sim
