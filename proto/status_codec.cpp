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
  return read.durations("since_heartbeat", in.since_heartbeat(),
                        [&](std::size_t i, Duration d) { out[i].since_heartbeat = d; });
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
}

Result<AnswerValue> take_status(const wire::StatusReport& in) {
  const Reader read("StatusReport", 1);
  LARDER_TRY(const Duration oldest, read.duration("oldest_quarantine", in.oldest_quarantine()));
  LARDER_TRY(const std::string_view holder, read.text({"oldest_quarantine_holder", name_bytes_max},
                                                      in.oldest_quarantine_holder()));
  StatusReport out{.epoch = {in.epoch()},
                   .recovering = in.recovering(),
                   .objects = in.objects(),
                   .unfinished_puts = in.unfinished_puts(),
                   .sessions = in.sessions(),
                   .capacity = {in.capacity()},
                   .used = {in.used()},
                   .quarantined = {in.quarantined()},
                   .free = {in.free()},
                   .largest_free = {in.largest_free()},
                   .oldest_quarantine = oldest,
                   .oldest_quarantine_holder = std::string(holder),
                   .puts = in.puts(),
                   .gets = in.gets(),
                   .hits = in.hits(),
                   .evicted_objects = in.evicted_objects(),
                   .evicted_bytes = {in.evicted_bytes()}};
  LARDER_CHECK(take_counts(in.eviction_skips(), out.eviction_skips));
  LARDER_CHECK(take_counts(in.refusals(), out.refusals));
  LARDER_CHECK(take_nodes(in.nodes(), out.nodes));
  return out;
}

}  // namespace larder::columns
