#include "proto/status_codec.h"

#include "proto/columns.h"

namespace larder::columns {
namespace {

using NamedCounts = std::vector<std::pair<std::string, std::uint64_t>>;

void put_counts(const NamedCounts& in, wire::NamedCounts& out) {
  put_texts(
      in, [](auto& entry) -> auto& { return entry.first; }, *out.mutable_names(), Presence::always);
  put_numbers(in, [](auto& entry) { return entry.second; }, *out.mutable_counts());
}

Status take_counts(const wire::NamedCounts& in, NamedCounts& out) {
  LARDER_TRY(const Reader read, reader("StatusReport", in.names().lengths_size()));
  out.resize(read.count());
  LARDER_CHECK(read.texts({"names", name_bytes_max}, in.names(),
                          [&](std::size_t i, std::string_view name) { out[i].first = name; }));
  return read.numbers("counts", in.counts(),
                      [&](std::size_t i, std::uint64_t count) { out[i].second = count; });
}

using Nodes = std::vector<StatusReport::Node>;

void put_nodes(const Nodes& in, wire::NodeStatuses& out) {
  const auto texts = [&](auto member, wire::Texts& column, Presence presence) {
    put_texts(in, [&](auto& node) -> auto& { return node.*member; }, column, presence);
  };
  const auto sizes = [&](auto member, Repeated<std::uint64_t>& column) {
    put_numbers(in, [&](auto& node) { return (node.*member).value; }, column);
  };
  using Node = StatusReport::Node;
  texts(&Node::name, *out.mutable_names(), Presence::always);
  texts(&Node::endpoint, *out.mutable_endpoints(), Presence::optional);
  texts(&Node::host, *out.mutable_hosts(), Presence::optional);
  texts(&Node::state, *out.mutable_states(), Presence::optional);
  sizes(&Node::capacity, *out.mutable_capacities());
  sizes(&Node::used, *out.mutable_used());
  sizes(&Node::quarantined, *out.mutable_quarantined());
  put_numbers(in, [](auto& node) { return node.objects; }, *out.mutable_objects());
  put_numbers(
      in, [](auto& node) { return wire_duration(node.since_heartbeat); },
      *out.mutable_since_heartbeat());
  put_numbers(in, [](auto& node) { return wire_duration(node.in_state); }, *out.mutable_in_state());
  put_numbers(
      in, [](auto& node) { return wire_duration(node.oldest_quarantine); },
      *out.mutable_oldest_quarantine());
  put_numbers(in, [](auto& node) { return node.only_here; }, *out.mutable_only_here());
}

Status take_nodes(const wire::NodeStatuses& in, Nodes& out) {
  LARDER_TRY(const Reader read, reader("StatusReport", in.names().lengths_size()));
  out.resize(read.count());
  const auto texts = [&](std::string_view column, const wire::Texts& from, auto member) {
    return read.texts({column, name_bytes_max}, from,
                      [&](std::size_t i, std::string_view text) { out[i].*member = text; });
  };
  const auto sizes = [&](std::string_view column, const Repeated<std::uint64_t>& from,
                         auto member) {
    return read.numbers(column, from,
                        [&](std::size_t i, std::uint64_t size) { out[i].*member = {size}; });
  };
  using Node = StatusReport::Node;
  LARDER_CHECK(texts("names", in.names(), &Node::name));
  LARDER_CHECK(texts("endpoints", in.endpoints(), &Node::endpoint));
  LARDER_CHECK(texts("hosts", in.hosts(), &Node::host));
  LARDER_CHECK(texts("states", in.states(), &Node::state));
  LARDER_CHECK(sizes("capacities", in.capacities(), &Node::capacity));
  LARDER_CHECK(sizes("used", in.used(), &Node::used));
  LARDER_CHECK(sizes("quarantined", in.quarantined(), &Node::quarantined));
  LARDER_CHECK(read.numbers("objects", in.objects(),
                            [&](std::size_t i, std::uint64_t n) { out[i].objects = n; }));
  LARDER_CHECK(read.numbers("only_here", in.only_here(),
                            [&](std::size_t i, std::uint64_t n) { out[i].only_here = n; }));
  const auto durations = [&](std::string_view column, const Repeated<std::uint64_t>& from,
                             auto member) {
    return read.durations(column, from, [&](std::size_t i, Duration d) { out[i].*member = d; });
  };
  LARDER_CHECK(durations("since_heartbeat", in.since_heartbeat(), &Node::since_heartbeat));
  LARDER_CHECK(durations("in_state", in.in_state(), &Node::in_state));
  return durations("oldest_quarantine", in.oldest_quarantine(), &Node::oldest_quarantine);
}

using LostNodes = std::vector<StatusReport::LostNode>;

void put_lost(const LostNodes& in, wire::LostNodes& out) {
  put_texts(
      in, [](auto& lost) -> auto& { return lost.name; }, *out.mutable_names(), Presence::always);
  put_texts(
      in, [](auto& lost) -> auto& { return lost.endpoint; }, *out.mutable_endpoints(),
      Presence::optional);
  put_texts(
      in, [](auto& lost) -> auto& { return lost.why; }, *out.mutable_why(), Presence::optional);
  put_numbers(in, [](auto& lost) { return wire_duration(lost.ago); }, *out.mutable_ago());
  put_numbers(in, [](auto& lost) { return lost.objects; }, *out.mutable_objects());
  put_numbers(in, [](auto& lost) { return lost.bytes.value; }, *out.mutable_bytes());
  put_flag(in, [](auto& lost) { return lost.cleared; }, *out.mutable_cleared());
}

Status take_lost(const wire::LostNodes& in, LostNodes& out) {
  LARDER_TRY(const Reader read, reader("StatusReport", in.names().lengths_size()));
  out.resize(read.count());
  const auto texts = [&](std::string_view column, const wire::Texts& from, auto member) {
    return read.texts({column, name_bytes_max}, from,
                      [&](std::size_t i, std::string_view text) { out[i].*member = text; });
  };
  using Lost = StatusReport::LostNode;
  LARDER_CHECK(texts("names", in.names(), &Lost::name));
  LARDER_CHECK(texts("endpoints", in.endpoints(), &Lost::endpoint));
  LARDER_CHECK(texts("why", in.why(), &Lost::why));
  LARDER_CHECK(read.durations("ago", in.ago(), [&](std::size_t i, Duration d) { out[i].ago = d; }));
  LARDER_CHECK(read.numbers("objects", in.objects(),
                            [&](std::size_t i, std::uint64_t n) { out[i].objects = n; }));
  LARDER_CHECK(read.numbers("bytes", in.bytes(),
                            [&](std::size_t i, std::uint64_t n) { out[i].bytes = {n}; }));
  return read.flag("cleared", in.cleared(), [&](std::size_t i) { out[i].cleared = true; });
}

using Stages = std::vector<StatusReport::Stage>;

void put_stages(const Stages& in, wire::StageStatuses& out) {
  put_texts(
      in, [](auto& stage) -> auto& { return stage.where; }, *out.mutable_where(), Presence::always);
  put_texts(
      in, [](auto& stage) -> auto& { return stage.stage; }, *out.mutable_stages(),
      Presence::optional);
  put_numbers(in, [](auto& stage) { return stage.count; }, *out.mutable_counts());
  put_numbers(in, [](auto& stage) { return wire_duration(stage.p50); }, *out.mutable_p50());
  put_numbers(in, [](auto& stage) { return wire_duration(stage.p99); }, *out.mutable_p99());
  put_numbers(in, [](auto& stage) { return wire_duration(stage.longest); }, *out.mutable_longest());
}

Status take_stages(const wire::StageStatuses& in, Stages& out) {
  LARDER_TRY(const Reader read, reader("StatusReport", in.where().lengths_size()));
  out.resize(read.count());
  using Stage = StatusReport::Stage;
  const auto texts = [&](std::string_view column, const wire::Texts& from, auto member) {
    return read.texts({column, 2 * name_bytes_max}, from,
                      [&](std::size_t i, std::string_view text) { out[i].*member = text; });
  };
  const auto durations = [&](std::string_view column, const Repeated<std::uint64_t>& from,
                             auto member) {
    return read.durations(column, from, [&](std::size_t i, Duration d) { out[i].*member = d; });
  };
  LARDER_CHECK(texts("where", in.where(), &Stage::where));
  LARDER_CHECK(texts("stages", in.stages(), &Stage::stage));
  LARDER_CHECK(read.numbers("counts", in.counts(),
                            [&](std::size_t i, std::uint64_t n) { out[i].count = n; }));
  LARDER_CHECK(durations("p50", in.p50(), &Stage::p50));
  LARDER_CHECK(durations("p99", in.p99(), &Stage::p99));
  return durations("longest", in.longest(), &Stage::longest);
}

}  // namespace

void put_status(const StatusReport& in, wire::StatusReport& out) {
  out.set_epoch(in.epoch.value);
  out.set_recovering(in.recovering);
  out.set_objects(in.objects);
  out.set_unfinished_puts(in.unfinished_puts);
  out.set_sessions(in.sessions);
  out.set_capacity(in.capacity.value);
  out.set_used(in.used.value);
  out.set_quarantined(in.quarantined.value);
  out.set_free(in.free.value);
  out.set_largest_free(in.largest_free.value);
  out.set_oldest_quarantine(wire_duration(in.oldest_quarantine));
  out.set_oldest_quarantine_holder(in.oldest_quarantine_holder);
  out.set_puts(in.puts);
  out.set_gets(in.gets);
  out.set_hits(in.hits);
  out.set_evicted_objects(in.evicted_objects);
  out.set_evicted_bytes(in.evicted_bytes.value);
  put_counts(in.eviction_skips, *out.mutable_eviction_skips());
  put_counts(in.refusals, *out.mutable_refusals());
  put_nodes(in.nodes, *out.mutable_nodes());
  out.set_hidden_objects(in.hidden_objects);
  out.set_waiting_puts(in.waiting_puts);
  out.set_hidden_capacity(in.hidden_capacity.value);
  out.set_hidden_used(in.hidden_used.value);
  out.set_hidden_quarantined(in.hidden_quarantined.value);
  put_counts(in.gone, *out.mutable_gone());
  put_lost(in.lost_nodes, *out.mutable_lost_nodes());
  put_stages(in.stages, *out.mutable_stages());
  wire::Recording& recording = *out.mutable_recording();
  recording.set_on(in.recording.on);
  recording.set_span(wire_duration(in.recording.span));
  recording.set_bytes(in.recording.bytes.value);
  recording.set_dropped(in.recording.dropped);
  recording.set_trouble(in.recording.trouble.substr(0, error_detail_bytes_max));
}

Result<AnswerValue> take_status(const wire::StatusReport& in) {
  const Reader read("StatusReport", 1);
  LARDER_TRY(const Duration oldest, read.duration("oldest_quarantine", in.oldest_quarantine()));
  LARDER_TRY(const std::string_view holder, read.text({"oldest_quarantine_holder", name_bytes_max},
                                                      in.oldest_quarantine_holder()));
  StatusReport out{.epoch = {in.epoch()},
                   .recovering = in.recovering(),
                   .objects = in.objects(),
                   .hidden_objects = in.hidden_objects(),
                   .unfinished_puts = in.unfinished_puts(),
                   .waiting_puts = in.waiting_puts(),
                   .sessions = in.sessions(),
                   .capacity = {in.capacity()},
                   .used = {in.used()},
                   .quarantined = {in.quarantined()},
                   .free = {in.free()},
                   .largest_free = {in.largest_free()},
                   .hidden_capacity = {in.hidden_capacity()},
                   .hidden_used = {in.hidden_used()},
                   .hidden_quarantined = {in.hidden_quarantined()},
                   .oldest_quarantine = oldest,
                   .oldest_quarantine_holder = std::string(holder),
                   .puts = in.puts(),
                   .gets = in.gets(),
                   .hits = in.hits(),
                   .evicted_objects = in.evicted_objects(),
                   .evicted_bytes = {in.evicted_bytes()}};
  LARDER_CHECK(take_counts(in.eviction_skips(), out.eviction_skips));
  LARDER_CHECK(take_counts(in.refusals(), out.refusals));
  LARDER_CHECK(take_counts(in.gone(), out.gone));
  LARDER_CHECK(take_nodes(in.nodes(), out.nodes));
  LARDER_CHECK(take_lost(in.lost_nodes(), out.lost_nodes));
  LARDER_CHECK(take_stages(in.stages(), out.stages));
  LARDER_TRY(const Duration span, read.duration("recording.span", in.recording().span()));
  LARDER_TRY(const std::string_view trouble,
             read.text({"recording.trouble", error_detail_bytes_max}, in.recording().trouble()));
  out.recording = {.on = in.recording().on(),
                   .span = span,
                   .bytes = {in.recording().bytes()},
                   .dropped = in.recording().dropped(),
                   .trouble = std::string(trouble)};
  return out;
}

}  // namespace larder::columns
