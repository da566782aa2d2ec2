#include "proto/directory_codec.h"

#include <numeric>

namespace larder::columns {
namespace {

using Item = ObjectPage::Item;
using Version = ObjectDetails::Version;
using Replica = ObjectDetails::Replica;

void add_text(std::string_view text, wire::Texts& out) {
  out.mutable_joined()->append(text);
  out.add_lengths(static_cast<std::uint32_t>(text.size()));
}

void add_id(Halves id, Repeated<std::uint64_t>& column) {
  column.Add(id.high);
  column.Add(id.low);
}

void add_version(const Version& in, wire::Versions& out) {
  const auto index = static_cast<std::uint32_t>(out.sizes_size());
  add_id(halves(in.put_id), *out.mutable_put_ids());
  add_text(in.state, *out.mutable_states());
  out.add_sizes(in.size.value);
  if (!in.checksum) out.mutable_checksums()->add_none(index);
  out.mutable_checksums()->add_values(in.checksum.value_or(0));
  add_text(in.group, *out.mutable_groups());
  add_text(in.parent, *out.mutable_parents());
  add_text(in.writer, *out.mutable_writers());
  if (in.hard_pin) out.add_hard_pinned(index);
  out.add_soft_pins(wire_duration(in.soft_pin));
  out.add_times_to_live(wire_duration(in.time_to_live));
  out.add_leases(wire_duration(in.lease));
  out.add_ages(wire_duration(in.age));
  out.add_idle(wire_duration(in.idle));
  out.add_times_left(wire_duration(in.time_left));
  out.add_replica_counts(static_cast<std::uint32_t>(in.replicas.size()));
}

void add_replica(const Replica& in, wire::ReplicaDetails& out) {
  add_text(in.state, *out.mutable_states());
  add_id(halves(in.segment), *out.mutable_segments());
  out.add_offsets(in.offset.value);
  add_text(in.segment_name, *out.mutable_segment_names());
  add_text(in.node, *out.mutable_nodes());
  add_text(in.node_state, *out.mutable_node_states());
  add_text(in.endpoint, *out.mutable_endpoints());
}

// Reads columns of `out`, a vector of records whose length is the reader's count.
template <class Record>
struct Columns {
  const Reader& read;
  std::vector<Record>& out;

  Status texts(Reader::TextRule rule, const wire::Texts& in, std::string Record::* member) const {
    return read.texts(rule, in,
                      [&](std::size_t i, std::string_view text) { out[i].*member = text; });
  }
  Status sizes(std::string_view name, const Repeated<std::uint64_t>& in,
               Bytes Record::* member) const {
    return read.numbers(name, in,
                        [&](std::size_t i, std::uint64_t size) { out[i].*member = {size}; });
  }
  Status numbers(std::string_view name, const Repeated<std::uint32_t>& in,
                 std::uint32_t Record::* member) const {
    return read.numbers(name, in, [&](std::size_t i, std::uint32_t n) { out[i].*member = n; });
  }
  Status durations(std::string_view name, const Repeated<std::uint64_t>& in,
                   Duration Record::* member) const {
    return read.durations(name, in, [&](std::size_t i, Duration d) { out[i].*member = d; });
  }
  Status flag(std::string_view name, const Repeated<std::uint32_t>& in,
              bool Record::* member) const {
    return read.flag(name, in, [&](std::size_t i) { out[i].*member = true; });
  }
};

Status take_versions(const Reader& read, const wire::Versions& in, std::vector<Version>& out) {
  const Columns<Version> columns{read, out};
  LARDER_CHECK(read.ids("put_ids", in.put_ids(),
                        [&](std::size_t i, Halves id) { out[i].put_id = {{id.high}, id.low}; }));
  LARDER_CHECK(columns.texts({"states", name_bytes_max}, in.states(), &Version::state));
  LARDER_CHECK(columns.sizes("sizes", in.sizes(), &Version::size));
  LARDER_CHECK(read.checksums(
      in.checksums(), [&](std::size_t i, std::uint64_t value) { out[i].checksum = value; }));
  LARDER_CHECK(columns.texts({"groups", key_bytes_max}, in.groups(), &Version::group));
  LARDER_CHECK(columns.texts({"parents", key_bytes_max}, in.parents(), &Version::parent));
  LARDER_CHECK(columns.texts({"writers", name_bytes_max}, in.writers(), &Version::writer));
  LARDER_CHECK(columns.flag("hard_pinned", in.hard_pinned(), &Version::hard_pin));
  LARDER_CHECK(columns.durations("soft_pins", in.soft_pins(), &Version::soft_pin));
  LARDER_CHECK(columns.durations("times_to_live", in.times_to_live(), &Version::time_to_live));
  LARDER_CHECK(columns.durations("leases", in.leases(), &Version::lease));
  LARDER_CHECK(columns.durations("ages", in.ages(), &Version::age));
  LARDER_CHECK(columns.durations("idle", in.idle(), &Version::idle));
  return columns.durations("times_left", in.times_left(), &Version::time_left);
}

Status take_replicas(const Reader& read, const wire::ReplicaDetails& in,
                     std::vector<Replica>& out) {
  const Columns<Replica> columns{read, out};
  LARDER_CHECK(read.ids("segments", in.segments(),
                        [&](std::size_t i, Halves id) { out[i].segment = {id.high, id.low}; }));
  LARDER_CHECK(columns.sizes("offsets", in.offsets(), &Replica::offset));
  LARDER_CHECK(columns.texts({"states", name_bytes_max}, in.states(), &Replica::state));
  LARDER_CHECK(
      columns.texts({"segment_names", name_bytes_max}, in.segment_names(), &Replica::segment_name));
  LARDER_CHECK(columns.texts({"nodes", name_bytes_max}, in.nodes(), &Replica::node));
  LARDER_CHECK(
      columns.texts({"node_states", name_bytes_max}, in.node_states(), &Replica::node_state));
  return columns.texts({"endpoints", name_bytes_max}, in.endpoints(), &Replica::endpoint);
}

// Cuts `all` into lists of so many.
template <class Part, class Get>
void deal_out(const Repeated<std::uint32_t>& counts, std::vector<Part>& all, Get get) {
  auto next = all.begin();
  for (int i = 0; i < counts.size(); ++i) {
    const auto end = next + counts.Get(i);
    get(static_cast<std::size_t>(i))
        .assign(std::make_move_iterator(next), std::make_move_iterator(end));
    next = end;
  }
}

Result<Reader> reader_of_sum(std::string_view message, const Repeated<std::uint32_t>& counts) {
  return reader(message, std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
}

}  // namespace

void put_page(const ObjectPage& in, wire::ObjectPage& out) {
  put_texts(
      in.items, [](auto& item) -> auto& { return item.key; }, *out.mutable_keys(),
      Presence::always);
  put_numbers(in.items, [](auto& item) { return item.size.value; }, *out.mutable_sizes());
  put_numbers(in.items, [](auto& item) { return item.replicas; }, *out.mutable_replicas());
  put_numbers(in.items, [](auto& item) { return item.readable; }, *out.mutable_readable());
  put_texts(
      in.items, [](auto& item) -> auto& { return item.group; }, *out.mutable_groups(),
      Presence::optional);
  put_numbers(in.items, [](auto& item) { return wire_duration(item.age); }, *out.mutable_ages());
  put_flag(in.items, [](auto& item) { return item.hard_pin; }, *out.mutable_hard_pinned());
  put_flag(in.items, [](auto& item) { return item.soft_pin; }, *out.mutable_soft_pinned());
  if (in.next) put_cursor(*in.next, *out.mutable_next());
}

Result<AnswerValue> take_page(const wire::ObjectPage& in) {
  LARDER_TRY(const Reader read, reader("ObjectPage", in.keys().lengths_size()));
  ObjectPage page;
  page.items.resize(read.count());
  const Columns<Item> columns{read, page.items};
  LARDER_CHECK(columns.texts({"keys", key_bytes_max}, in.keys(), &Item::key));
  LARDER_CHECK(columns.sizes("sizes", in.sizes(), &Item::size));
  LARDER_CHECK(columns.numbers("replicas", in.replicas(), &Item::replicas));
  LARDER_CHECK(columns.numbers("readable", in.readable(), &Item::readable));
  LARDER_CHECK(columns.texts({"groups", key_bytes_max}, in.groups(), &Item::group));
  LARDER_CHECK(columns.durations("ages", in.ages(), &Item::age));
  LARDER_CHECK(columns.flag("hard_pinned", in.hard_pinned(), &Item::hard_pin));
  LARDER_CHECK(columns.flag("soft_pinned", in.soft_pinned(), &Item::soft_pin));
  if (in.has_next()) page.next = take_cursor(in.next());
  return page;
}

void add_details(const ObjectDetails& in, wire::ObjectDetails& out) {
  out.add_version_counts(static_cast<std::uint32_t>(in.versions.size()));
  for (const Version& version : in.versions) {
    add_version(version, *out.mutable_versions());
    for (const Replica& replica : version.replicas) add_replica(replica, *out.mutable_replicas());
  }
}

Status take_details(const Reader& read, const wire::ObjectDetails& in,
                    const std::function<ObjectDetails&(std::size_t)>& element) {
  LARDER_CHECK(read.entries("version_counts", in.version_counts_size(), read.count()));
  LARDER_TRY(const Reader of_versions, reader_of_sum("Versions", in.version_counts()));
  const Repeated<std::uint32_t>& counts = in.versions().replica_counts();
  LARDER_CHECK(of_versions.entries("replica_counts", counts.size(), of_versions.count()));
  LARDER_TRY(const Reader of_replicas, reader_of_sum("ReplicaDetails", counts));
  // The columns of ids are never absent: their lengths bound what the counts may ask for.
  LARDER_CHECK(
      of_versions.entries("put_ids", in.versions().put_ids_size(), 2 * of_versions.count()));
  LARDER_CHECK(
      of_replicas.entries("segments", in.replicas().segments_size(), 2 * of_replicas.count()));
  std::vector<Version> versions(of_versions.count());
  std::vector<Replica> replicas(of_replicas.count());
  LARDER_CHECK(take_versions(of_versions, in.versions(), versions));
  LARDER_CHECK(take_replicas(of_replicas, in.replicas(), replicas));
  deal_out(counts, replicas, [&](std::size_t i) -> auto& { return versions[i].replicas; });
  deal_out(in.version_counts(), versions,
           [&](std::size_t i) -> auto& { return element(i).versions; });
  return {};
}

}  // namespace larder::columns
