#include "proto/codec.h"
#include "proto/columns.h"

namespace larder {

using namespace columns;

namespace {

constexpr auto key_of = [](const auto& item) { return item.key; };
constexpr auto put_id_of = [](const auto& item) { return item.put_id; };

// ---- writing -----------------------------------------------------------------------------------

void put(const OpenSession& in, wire::Request& out) {
  wire::OpenSession& body = *out.mutable_open_session();
  body.set_tenant(in.tenant.data(), in.tenant.size());
  body.set_client(in.client.data(), in.client.size());
  body.set_host(in.host.data(), in.host.size());
}
void put(const CloseSession&, wire::Request& out) { out.mutable_close_session(); }
void put_stages(const StageCounts& in, wire::Stages& out) {
  for (const Histogram::Entries& list : in) {
    out.add_lengths(static_cast<std::uint32_t>(list.size()));
    for (const Histogram::Entry& entry : list) {
      out.add_buckets(entry.bucket);
      out.add_counts(entry.count);
    }
  }
}

void put(const KeepAlive& in, wire::Request& out) {
  wire::KeepAlive& body = *out.mutable_keep_alive();
  if (!in.stages.empty()) put_stages(in.stages, *body.mutable_stages());
}
void put(const GetStatus&, wire::Request& out) { out.mutable_get_status(); }
void put(const Quiesce&, wire::Request& out) { out.mutable_quiesce(); }

void put(const PutStart& in, wire::Request& out) {
  wire::PutStart& body = *out.mutable_put_start();
  put_objects(in.items, itself, *body.mutable_objects());
  put_numbers(in.items, [](auto& item) { return item.replicas; }, *body.mutable_replicas(), 1u);
  body.set_upsert(in.upsert);
  put_ids(in.preferred, itself, *body.mutable_preferred());
  put_ids(in.avoid, itself, *body.mutable_avoid());
}

void put(const PutEnd& in, wire::Request& out) {
  wire::PutEnd& body = *out.mutable_put_end();
  put_texts(in.items, key_of, *body.mutable_keys(), Presence::always);
  put_ids(in.items, put_id_of, *body.mutable_put_ids());
  put_numbers(in.items, [](auto& item) { return item.sealed; }, *body.mutable_sealed());
  put_checksums(in.items, [](auto& item) { return item.checksum; }, *body.mutable_checksums());
}

void put(const PutRevoke& in, wire::Request& out) {
  wire::PutRevoke& body = *out.mutable_put_revoke();
  put_texts(in.items, key_of, *body.mutable_keys(), Presence::always);
  put_ids(in.items, put_id_of, *body.mutable_put_ids());
}

void put(const GetReplicaList& in, wire::Request& out) {
  put_texts(in.items, key_of, *out.mutable_get_replica_list()->mutable_keys(), Presence::always);
  out.mutable_get_replica_list()->set_again(in.again);
}

void put(const Exists& in, wire::Request& out) {
  put_texts(in.items, key_of, *out.mutable_exists()->mutable_keys(), Presence::always);
}

void put(const Remove& in, wire::Request& out) {
  put_texts(in.items, key_of, *out.mutable_remove()->mutable_keys(), Presence::always);
  out.mutable_remove()->set_force(in.force);
}

void put(const ListObjects& in, wire::Request& out) {
  wire::ListObjects& body = *out.mutable_list_objects();
  body.set_prefix(in.prefix.data(), in.prefix.size());
  body.set_pattern(in.pattern.data(), in.pattern.size());
  if (in.cursor != ListCursor{}) put_cursor(in.cursor, *body.mutable_cursor());
  body.set_limit(in.limit);
}

void put(const DescribeObjects& in, wire::Request& out) {
  put_texts(in.items, key_of, *out.mutable_describe_objects()->mutable_keys(), Presence::always);
}

void put(const DescribeSegments& in, wire::Request& out) {
  put_ids(in.items, itself, *out.mutable_describe_segments()->mutable_ids());
}

void put(const RegisterNode& in, wire::Request& out) {
  wire::RegisterNode& body = *out.mutable_register_node();
  put_id(in.incarnation, *body.mutable_incarnation());
  body.set_registration(in.registration);
  body.set_taken_epoch(in.taken_epoch.value);
  body.set_name(in.name.data(), in.name.size());
  body.set_endpoint(in.endpoint.data(), in.endpoint.size());
  body.set_host(in.host.data(), in.host.size());
  body.set_rack(in.rack.data(), in.rack.size());
  wire::Segments& segments = *body.mutable_segments();
  put_ids(in.segments, [](auto& s) { return s.id; }, *segments.mutable_ids());
  put_texts(
      in.segments, [](auto& s) { return s.name; }, *segments.mutable_names(), Presence::optional);
  put_numbers(
      in.segments, [](auto& s) { return static_cast<std::uint32_t>(s.kind); },
      *segments.mutable_kinds());
  put_numbers(in.segments, [](auto& s) { return s.size.value; }, *segments.mutable_sizes());
  put_numbers(in.segments, [](auto& s) { return s.numa_node; }, *segments.mutable_numa_nodes());
}

void put(const ReportInventory& in, wire::Request& out) {
  wire::ReportInventory& body = *out.mutable_report_inventory();
  put_id(in.incarnation, *body.mutable_incarnation());
  body.set_registration(in.registration);
  body.set_part(in.part);
  body.set_last(in.last);
  put_extents(in.items, [](auto& item) -> auto& { return item.extent; }, *body.mutable_extents());
  put_flag(in.items, [](auto& item) { return item.retiring; }, *body.mutable_retiring());
  put_objects(in.items, [](auto& item) -> auto& { return item.record; }, *body.mutable_objects());
  put_checksums(in.items, [](auto& item) { return item.checksum; }, *body.mutable_checksums());
  put_numbers(in.items, [](auto& item) { return wire_duration(item.age); }, *body.mutable_ages());
}

void put(const Heartbeat& in, wire::Request& out) {
  wire::Heartbeat& body = *out.mutable_heartbeat();
  put_id(in.incarnation, *body.mutable_incarnation());
  body.set_registration(in.registration);
  body.set_fill_queue(wire_duration(in.fill_queue));
  body.set_overlaps(in.overlaps);
  if (!in.stages.empty()) put_stages(in.stages, *body.mutable_stages());
}

void put(const UnregisterNode& in, wire::Request& out) {
  wire::UnregisterNode& body = *out.mutable_unregister_node();
  put_id(in.incarnation, *body.mutable_incarnation());
  body.set_registration(in.registration);
}

void put(const ConfirmRetirement& in, wire::Request& out) {
  wire::ConfirmRetirement& body = *out.mutable_confirm_retirement();
  put_id(in.incarnation, *body.mutable_incarnation());
  body.set_registration(in.registration);
  put_extents(in.retired, itself, *body.mutable_retired());
  put_extents(in.held, [](auto& held) -> auto& { return held.extent; }, *body.mutable_held());
  put_numbers(
      in.held, [](auto& held) { return wire_duration(held.at_most); },
      *body.mutable_held_at_most());
}

void put(const ReportCorrupt& in, wire::Request& out) {
  wire::ReportCorrupt& body = *out.mutable_report_corrupt();
  put_id(in.incarnation, *body.mutable_incarnation());
  body.set_registration(in.registration);
  put_extents(
      in.extents, [](auto& extent) -> auto& { return extent.name; }, *body.mutable_extents());
  put_texts(
      in.extents, [](auto& extent) { return extent.tenant; }, *body.mutable_tenants(),
      Presence::optional);
  put_texts(in.extents, key_of, *body.mutable_keys(), Presence::optional);
}

void put(const RequestHeader& in, wire::Request& out) {
  if (in.session) put_id(in.session, *out.mutable_session());
  out.set_number(in.number);
  out.set_lowest_unanswered(in.lowest_unanswered);
  out.set_highest_epoch(in.highest_epoch.value);
  if (!in.lease_returns.empty()) {
    wire::LeaseReturns& returns = *out.mutable_lease_returns();
    put_numbers(in.lease_returns, [](auto& r) { return r.slot; }, *returns.mutable_slots());
    put_numbers(in.lease_returns, [](auto& r) { return r.round; }, *returns.mutable_rounds());
    put_ids(in.lease_returns, put_id_of, *returns.mutable_put_ids());
  }
  if (!in.bad_bytes.empty()) {
    put_extents(
        in.bad_bytes, [](auto& bad) -> auto& { return bad.extent; }, *out.mutable_bad_extents());
    put_texts(in.bad_bytes, key_of, *out.mutable_bad_keys(), Presence::optional);
  }
}

// ---- reading -----------------------------------------------------------------------------------

template <class Body>
Status take_keys(const Reader& read, const wire::Texts& keys, Body& out) {
  out.items.resize(read.count());
  return read.texts({"keys", key_bytes_max}, keys,
                    [&](std::size_t i, std::string_view key) { out.items[i].key = key; });
}

template <class Body>
Status take_put_ids(const Reader& read, const Repeated<std::uint64_t>& column, Body& out) {
  return read.ids("put_ids", column,
                  [&](std::size_t i, Halves id) { out.items[i].put_id = {{id.high}, id.low}; });
}

// A stranger may send any buckets, but no more lists and entries than there are.
Status take_stages(std::string_view message, const wire::Stages& in, StageCounts& out) {
  const Reader lists(message, static_cast<std::size_t>(in.lengths_size()));
  if (lists.count() > stages_max) {
    return lists.malformed(std::to_string(lists.count()) + " lists of stages; there are " +
                           std::to_string(stages_max));
  }
  std::size_t total = 0;
  for (const std::uint32_t length : in.lengths()) total += length;
  LARDER_CHECK(lists.entries("buckets", in.buckets_size(), total));
  LARDER_CHECK(lists.entries("counts", in.counts_size(), total));
  if (total > stages_max * Histogram::buckets) {
    return lists.malformed(std::to_string(total) + " buckets, more than there are");
  }
  int next = 0;
  for (const std::uint32_t length : in.lengths()) {
    Histogram::Entries& list = out.emplace_back(length);
    for (Histogram::Entry& entry : list) {
      entry = {.bucket = in.buckets(next), .count = in.counts(next)};
      ++next;
    }
  }
  return {};
}

Result<RequestBody> take(const wire::KeepAlive& in) {
  KeepAlive out;
  LARDER_CHECK(take_stages("KeepAlive", in.stages(), out.stages));
  return out;
}

Result<RequestBody> take(const wire::OpenSession& in) {
  const Reader read("OpenSession", 0);
  OpenSession out;
  LARDER_TRY(out.tenant, read.text({"tenant", tenant_bytes_max}, in.tenant()));
  LARDER_TRY(out.client, read.text({"client", name_bytes_max}, in.client()));
  LARDER_TRY(out.host, read.text({"host", name_bytes_max}, in.host()));
  return out;
}

Result<RequestBody> take(const wire::PutStart& in) {
  LARDER_TRY(const Reader read, reader("PutStart", in.objects().keys().lengths_size()));
  PutStart out;
  out.items.resize(read.count());
  LARDER_CHECK(
      take_objects(read, in.objects(), [&](std::size_t i) -> auto& { return out.items[i]; }));
  LARDER_CHECK(read.numbers("replicas", in.replicas(),
                            [&](std::size_t i, std::uint32_t n) { out.items[i].replicas = n; }));
  out.upsert = in.upsert();
  LARDER_CHECK(take_ids("PutStart", in.preferred(), out.preferred));
  LARDER_CHECK(take_ids("PutStart", in.avoid(), out.avoid));
  return out;
}

Result<RequestBody> take(const wire::PutEnd& in) {
  LARDER_TRY(const Reader read, reader("PutEnd", in.keys().lengths_size()));
  PutEnd out;
  LARDER_CHECK(take_keys(read, in.keys(), out));
  LARDER_CHECK(take_put_ids(read, in.put_ids(), out));
  LARDER_CHECK(read.numbers("sealed", in.sealed(), [&](std::size_t i, std::uint32_t bits) {
    out.items[i].sealed = bits;
  }));
  LARDER_CHECK(read.checksums(
      in.checksums(), [&](std::size_t i, std::uint64_t value) { out.items[i].checksum = value; }));
  return out;
}

Result<RequestBody> take(const wire::PutRevoke& in) {
  LARDER_TRY(const Reader read, reader("PutRevoke", in.keys().lengths_size()));
  PutRevoke out;
  LARDER_CHECK(take_keys(read, in.keys(), out));
  LARDER_CHECK(take_put_ids(read, in.put_ids(), out));
  return out;
}

template <class Body>
Result<RequestBody> take(std::string_view message, const wire::Texts& keys, Body out) {
  LARDER_TRY(const Reader read, reader(message, keys.lengths_size()));
  LARDER_CHECK(take_keys(read, keys, out));
  return out;
}

Result<RequestBody> take(const wire::ListObjects& in) {
  const Reader read("ListObjects", 0);
  ListObjects out{.cursor = take_cursor(in.cursor()), .limit = in.limit()};
  LARDER_TRY(out.prefix, read.text({"prefix", key_bytes_max}, in.prefix()));
  LARDER_TRY(out.pattern, read.text({"pattern", pattern_bytes_max}, in.pattern()));
  return out;
}

Result<RequestBody> take(const wire::DescribeSegments& in) {
  DescribeSegments out;
  LARDER_CHECK(take_ids("DescribeSegments", in.ids(), out.items));
  return out;
}

Result<RequestBody> take(const wire::RegisterNode& in) {
  const wire::Segments& segments = in.segments();
  LARDER_TRY(const Reader read, reader_of_ids("RegisterNode", segments.ids_size()));
  RegisterNode out{.incarnation = take_id<IncarnationTag>(in.incarnation()),
                   .registration = in.registration(),
                   .taken_epoch = {in.taken_epoch()}};
  LARDER_TRY(out.name, read.text({"name", name_bytes_max}, in.name()));
  LARDER_TRY(out.endpoint, read.text({"endpoint", name_bytes_max}, in.endpoint()));
  LARDER_TRY(out.host, read.text({"host", name_bytes_max}, in.host()));
  LARDER_TRY(out.rack, read.text({"rack", name_bytes_max}, in.rack()));
  out.segments.resize(read.count());
  LARDER_CHECK(read.ids("ids", segments.ids(),
                        [&](std::size_t i, Halves id) { out.segments[i].id = {id.high, id.low}; }));
  LARDER_CHECK(
      read.texts({"names", name_bytes_max}, segments.names(),
                 [&](std::size_t i, std::string_view name) { out.segments[i].name = name; }));
  for (const std::uint32_t kind : segments.kinds()) LARDER_CHECK(take_kind(kind));
  LARDER_CHECK(read.numbers("kinds", segments.kinds(), [&](std::size_t i, std::uint32_t kind) {
    out.segments[i].kind = static_cast<SegmentKind>(kind);
  }));
  LARDER_CHECK(read.numbers("sizes", segments.sizes(), [&](std::size_t i, std::uint64_t size) {
    out.segments[i].size = {size};
  }));
  // The default of this column is 0, not the struct's -1.
  for (auto& segment : out.segments) segment.numa_node = 0;
  LARDER_CHECK(read.numbers("numa_nodes", segments.numa_nodes(),
                            [&](std::size_t i, std::int32_t n) { out.segments[i].numa_node = n; }));
  return out;
}

Result<RequestBody> take(const wire::ReportInventory& in) {
  LARDER_TRY(const Reader read, reader("ReportInventory", in.objects().keys().lengths_size()));
  ReportInventory out{.incarnation = take_id<IncarnationTag>(in.incarnation()),
                      .registration = in.registration(),
                      .part = in.part(),
                      .last = in.last()};
  out.items.resize(read.count());
  LARDER_CHECK(
      read.extents(in.extents(), [&](std::size_t i) -> auto& { return out.items[i].extent; }));
  LARDER_CHECK(
      read.flag("retiring", in.retiring(), [&](std::size_t i) { out.items[i].retiring = true; }));
  LARDER_CHECK(take_objects(read, in.objects(),
                            [&](std::size_t i) -> auto& { return out.items[i].record; }));
  LARDER_CHECK(read.checksums(
      in.checksums(), [&](std::size_t i, std::uint64_t value) { out.items[i].checksum = value; }));
  LARDER_CHECK(read.durations("ages", in.ages(),
                              [&](std::size_t i, Duration age) { out.items[i].age = age; }));
  return out;
}

Result<RequestBody> take(const wire::Heartbeat& in) {
  const Reader read("Heartbeat", 0);
  LARDER_TRY(const Duration queue, read.duration("fill_queue", in.fill_queue()));
  Heartbeat out{.incarnation = take_id<IncarnationTag>(in.incarnation()),
                .registration = in.registration(),
                .fill_queue = queue,
                .overlaps = in.overlaps()};
  LARDER_CHECK(take_stages("Heartbeat", in.stages(), out.stages));
  return out;
}

Result<RequestBody> take(const wire::UnregisterNode& in) {
  return UnregisterNode{.incarnation = take_id<IncarnationTag>(in.incarnation()),
                        .registration = in.registration()};
}

Result<RequestBody> take(const wire::ConfirmRetirement& in) {
  ConfirmRetirement out{.incarnation = take_id<IncarnationTag>(in.incarnation()),
                        .registration = in.registration()};
  LARDER_TRY(const Reader retired, reader_of_ids("ConfirmRetirement", in.retired().put_ids_size()));
  out.retired.resize(retired.count());
  LARDER_CHECK(
      retired.extents(in.retired(), [&](std::size_t i) -> auto& { return out.retired[i]; }));
  LARDER_TRY(const Reader held, reader_of_ids("ConfirmRetirement", in.held().put_ids_size()));
  out.held.resize(held.count());
  LARDER_CHECK(held.extents(in.held(), [&](std::size_t i) -> auto& { return out.held[i].extent; }));
  LARDER_CHECK(held.durations("held_at_most", in.held_at_most(),
                              [&](std::size_t i, Duration d) { out.held[i].at_most = d; }));
  return out;
}

Result<RequestBody> take(const wire::ReportCorrupt& in) {
  LARDER_TRY(const Reader read, reader_of_ids("ReportCorrupt", in.extents().put_ids_size()));
  ReportCorrupt out{.incarnation = take_id<IncarnationTag>(in.incarnation()),
                    .registration = in.registration()};
  out.extents.resize(read.count());
  LARDER_CHECK(
      read.extents(in.extents(), [&](std::size_t i) -> auto& { return out.extents[i].name; }));
  LARDER_CHECK(
      read.texts({"tenants", tenant_bytes_max}, in.tenants(),
                 [&](std::size_t i, std::string_view text) { out.extents[i].tenant = text; }));
  LARDER_CHECK(
      read.texts({"keys", key_bytes_max}, in.keys(),
                 [&](std::size_t i, std::string_view text) { out.extents[i].key = text; }));
  return out;
}

Result<RequestBody> take_body(const wire::Request& in) {
  switch (in.body_case()) {
    case wire::Request::kOpenSession:
      return take(in.open_session());
    case wire::Request::kCloseSession:
      return CloseSession{};
    case wire::Request::kKeepAlive:
      return take(in.keep_alive());
    case wire::Request::kPutStart:
      return take(in.put_start());
    case wire::Request::kPutEnd:
      return take(in.put_end());
    case wire::Request::kPutRevoke:
      return take(in.put_revoke());
    case wire::Request::kGetReplicaList:
      return take("GetReplicaList", in.get_replica_list().keys(),
                  GetReplicaList{.again = in.get_replica_list().again()});
    case wire::Request::kExists:
      return take("Exists", in.exists().keys(), Exists{});
    case wire::Request::kRemove:
      return take("Remove", in.remove().keys(), Remove{.force = in.remove().force()});
    case wire::Request::kListObjects:
      return take(in.list_objects());
    case wire::Request::kDescribeObjects:
      return take("DescribeObjects", in.describe_objects().keys(), DescribeObjects{});
    case wire::Request::kDescribeSegments:
      return take(in.describe_segments());
    case wire::Request::kGetStatus:
      return GetStatus{};
    case wire::Request::kQuiesce:
      return Quiesce{};
    case wire::Request::kRegisterNode:
      return take(in.register_node());
    case wire::Request::kReportInventory:
      return take(in.report_inventory());
    case wire::Request::kHeartbeat:
      return take(in.heartbeat());
    case wire::Request::kUnregisterNode:
      return take(in.unregister_node());
    case wire::Request::kConfirmRetirement:
      return take(in.confirm_retirement());
    case wire::Request::kReportCorrupt:
      return take(in.report_corrupt());
    case wire::Request::BODY_NOT_SET:
      break;
  }
  return failed(ErrorCode::invalid_params, "a request of a kind that is not known here");
}

Status take_header(const wire::Request& in, RequestHeader& out) {
  out.session = take_id<SessionTag>(in.session());
  out.number = in.number();
  out.lowest_unanswered = in.lowest_unanswered();
  out.highest_epoch = {in.highest_epoch()};
  const wire::LeaseReturns& returns = in.lease_returns();
  LARDER_TRY(const Reader leases, reader_of_ids("LeaseReturns", returns.put_ids_size()));
  out.lease_returns.resize(leases.count());
  LARDER_CHECK(leases.ids("put_ids", returns.put_ids(), [&](std::size_t i, Halves id) {
    out.lease_returns[i].put_id = {{id.high}, id.low};
  }));
  LARDER_CHECK(leases.numbers("slots", returns.slots(), [&](std::size_t i, std::uint32_t slot) {
    out.lease_returns[i].slot = slot;
  }));
  LARDER_CHECK(leases.numbers("rounds", returns.rounds(), [&](std::size_t i, std::uint32_t n) {
    out.lease_returns[i].round = n;
  }));
  LARDER_TRY(const Reader bad, reader_of_ids("BadBytes", in.bad_extents().put_ids_size()));
  out.bad_bytes.resize(bad.count());
  LARDER_CHECK(bad.extents(in.bad_extents(),
                           [&](std::size_t i) -> auto& { return out.bad_bytes[i].extent; }));
  return bad.texts({"keys", key_bytes_max}, in.bad_keys(),
                   [&](std::size_t i, std::string_view key) { out.bad_bytes[i].key = key; });
}

}  // namespace

void encode(const Request& request, std::string& frame) {
  InArena<wire::Request> message;
  put(request.header, *message);
  std::visit([&](const auto& body) { put(body, *message); }, request.body);
  append(*message, frame);
}

Result<DecodedRequest> decode_request(FrameBytes bytes) {
  auto message = std::make_unique<InArena<wire::Request>>();
  LARDER_CHECK(parse(bytes, "Request", **message));
  Request request;
  LARDER_CHECK(take_header(**message, request.header));
  LARDER_TRY(request.body, take_body(**message));
  return DecodedRequest{.texts = MessageHolder(std::move(message)), .request = std::move(request)};
}

}  // namespace larder
