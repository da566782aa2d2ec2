#include "core/base/assert.h"
#include "proto/codec.h"
#include "proto/columns.h"
#include "proto/directory_codec.h"
#include "proto/outcomes.h"
#include "proto/status_codec.h"

namespace larder {

using namespace columns;

namespace {

// ---- writing, answer by answer -----------------------------------------------------------------

void add_id(Halves id, Repeated<std::uint64_t>& column) {
  column.Add(id.high);
  column.Add(id.low);
}

void add_locations(const ReplicaLocations& locations, wire::Locations& out) {
  out.add_counts(static_cast<std::uint32_t>(locations.size()));
  for (const ReplicaLocation& location : locations) {
    add_id(halves(location.segment), *out.mutable_segments());
    out.add_offsets(location.offset.value);
  }
}

void add_text(std::string_view text, wire::Texts& out) {
  out.mutable_joined()->append(text);
  out.add_lengths(static_cast<std::uint32_t>(text.size()));
}

void add(const Done&, wire::Reply& out) { out.mutable_done(); }

void add(const SessionOpened& in, wire::Reply& out) {
  wire::SessionOpened& value = *out.mutable_session_opened();
  value.set_epoch(in.epoch.value);
  put_id(in.instance, *value.mutable_instance());
  value.set_resumed(in.resumed);
  value.set_lease(wire_duration(in.lease));
  value.set_keep_alive(wire_duration(in.keep_alive));
  value.set_object_bytes_max(in.object_bytes_max.value);
}

void add(const PutGrant& in, wire::Reply& out) {
  wire::PutGrants& values = *out.mutable_put_grants();
  add_id(halves(in.put_id), *values.mutable_put_ids());
  values.add_times_allowed(wire_duration(in.time_allowed));
  add_locations(in.replicas, *values.mutable_replicas());
}

void add(const ReplicaList& in, wire::Reply& out) {
  wire::ReplicaLists& values = *out.mutable_replica_lists();
  if (!in.checksum) {
    values.mutable_checksums()->add_none(static_cast<std::uint32_t>(values.sizes_size()));
  }
  values.mutable_checksums()->add_values(in.checksum.value_or(0));
  add_id(halves(in.put_id), *values.mutable_put_ids());
  values.add_sizes(in.size.value);
  values.add_lease_slots(in.lease.slot);
  values.add_lease_rounds(in.lease.round);
  values.add_lease_durations(wire_duration(in.lease.duration));
  add_locations(in.replicas, *values.mutable_replicas());
}

void add(const Existence& in, wire::Reply& out) {
  wire::Existences& values = *out.mutable_existences();
  if (in.exists) values.add_existing(static_cast<std::uint32_t>(values.leases_size()));
  values.add_leases(wire_duration(in.lease));
}

void add(const SegmentDescription& in, wire::Reply& out) {
  wire::Segments& values = *out.mutable_segments();
  add_id(halves(in.id), *values.mutable_ids());
  add_id(halves(in.incarnation), *values.mutable_incarnations());
  add_text(in.name, *values.mutable_names());
  values.add_kinds(static_cast<std::uint32_t>(in.kind));
  values.add_sizes(in.size.value);
  values.add_numa_nodes(in.numa_node);
  add_text(in.node, *values.mutable_nodes());
  add_text(in.endpoint, *values.mutable_endpoints());
  add_text(in.host, *values.mutable_hosts());
  add_text(in.rack, *values.mutable_racks());
}

void add(const NodeRegistered& in, wire::Reply& out) {
  wire::NodeRegistered& value = *out.mutable_node_registered();
  value.set_epoch(in.epoch.value);
  put_id(in.instance, *value.mutable_instance());
  value.set_heartbeat(wire_duration(in.heartbeat));
  value.set_retire_everything(in.retire_everything);
  value.set_lowest_unfinished_epoch(in.lowest_unfinished.epoch.value);
  value.set_lowest_unfinished_counter(in.lowest_unfinished.counter);
}

void add(const ObjectPage& in, wire::Reply& out) { put_page(in, *out.mutable_object_page()); }

void add(const ObjectDetails& in, wire::Reply& out) {
  add_details(in, *out.mutable_object_details());
}

void add(const StatusReport& in, wire::Reply& out) { put_status(in, *out.mutable_status_report()); }

void add(const QuiesceReport& in, wire::Reply& out) {
  wire::QuiesceReport& value = *out.mutable_quiesce_report();
  value.set_evicted_objects(in.evicted_objects);
  value.set_evicted_bytes(in.evicted_bytes.value);
  value.set_eviction_digest(in.eviction_digest);
  value.set_put_bytes_max(in.put_bytes_max.value);
}

// Columns for `count` values of the kind of this one.
void reserve(const AnswerValue& value, std::size_t count, wire::Reply& out) {
  const int n = to_int(count);
  const auto reserve_locations = [n](wire::Locations& locations) {
    locations.mutable_counts()->Reserve(n);
    locations.mutable_segments()->Reserve(2 * n);
    locations.mutable_offsets()->Reserve(n);
  };
  if (std::holds_alternative<ReplicaList>(value)) {
    wire::ReplicaLists& values = *out.mutable_replica_lists();
    values.mutable_put_ids()->Reserve(2 * n);
    values.mutable_sizes()->Reserve(n);
    values.mutable_checksums()->mutable_values()->Reserve(n);
    values.mutable_lease_slots()->Reserve(n);
    values.mutable_lease_rounds()->Reserve(n);
    values.mutable_lease_durations()->Reserve(n);
    reserve_locations(*values.mutable_replicas());
  } else if (std::holds_alternative<PutGrant>(value)) {
    wire::PutGrants& values = *out.mutable_put_grants();
    values.mutable_put_ids()->Reserve(2 * n);
    values.mutable_times_allowed()->Reserve(n);
    reserve_locations(*values.mutable_replicas());
  } else if (std::holds_alternative<Existence>(value)) {
    out.mutable_existences()->mutable_leases()->Reserve(n);
  }
}

// ---- reading -----------------------------------------------------------------------------------

using Values = std::vector<AnswerValue>;

// get(index) is the ReplicaLocations to fill in.
template <class Get>
Status take_locations(const Reader& read, const wire::Locations& in, Get get) {
  LARDER_CHECK(read.entries("counts", in.counts_size(), read.count()));
  std::size_t total = 0;
  for (const std::uint32_t count : in.counts()) {
    if (count == 0 || count > replicas_max) {
      return read.malformed(std::to_string(count) + " replicas, not 1 to " +
                            std::to_string(replicas_max));
    }
    total += count;
  }
  LARDER_CHECK(read.entries("segments", in.segments_size(), 2 * total));
  LARDER_CHECK(read.entries("offsets", in.offsets_size(), total));
  int next = 0;
  for (std::size_t i = 0; i < read.count(); ++i) {
    ReplicaLocations& out = get(i);
    out.resize(in.counts(to_int(i)));
    for (ReplicaLocation& location : out) {
      location = {.segment = {in.segments(2 * next), in.segments(2 * next + 1)},
                  .offset = {in.offsets(next)}};
      ++next;
    }
  }
  return {};
}

template <class Value>
auto element(Values& out) {
  for (AnswerValue& value : out) value.emplace<Value>();
  return [&out](std::size_t i) -> Value& { return *std::get_if<Value>(&out[i]); };
}

Status take(const Reader& read, const wire::PutGrants& in, Values& values) {
  const auto out = element<PutGrant>(values);
  LARDER_CHECK(read.ids("put_ids", in.put_ids(),
                        [&](std::size_t i, Halves id) { out(i).put_id = {{id.high}, id.low}; }));
  LARDER_CHECK(read.durations("times_allowed", in.times_allowed(),
                              [&](std::size_t i, Duration d) { out(i).time_allowed = d; }));
  return take_locations(read, in.replicas(),
                        [&](std::size_t i) -> auto& { return out(i).replicas; });
}

Status take(const Reader& read, const wire::ReplicaLists& in, Values& values) {
  const auto out = element<ReplicaList>(values);
  LARDER_CHECK(read.ids("put_ids", in.put_ids(),
                        [&](std::size_t i, Halves id) { out(i).put_id = {{id.high}, id.low}; }));
  LARDER_CHECK(read.numbers("sizes", in.sizes(),
                            [&](std::size_t i, std::uint64_t size) { out(i).size = {size}; }));
  LARDER_CHECK(read.checksums(
      in.checksums(), [&](std::size_t i, std::uint64_t value) { out(i).checksum = value; }));
  LARDER_CHECK(read.numbers("lease_slots", in.lease_slots(),
                            [&](std::size_t i, std::uint32_t n) { out(i).lease.slot = n; }));
  LARDER_CHECK(read.numbers("lease_rounds", in.lease_rounds(),
                            [&](std::size_t i, std::uint32_t n) { out(i).lease.round = n; }));
  LARDER_CHECK(read.durations("lease_durations", in.lease_durations(),
                              [&](std::size_t i, Duration d) { out(i).lease.duration = d; }));
  return take_locations(read, in.replicas(),
                        [&](std::size_t i) -> auto& { return out(i).replicas; });
}

Status take(const Reader& read, const wire::Existences& in, Values& values) {
  const auto out = element<Existence>(values);
  LARDER_CHECK(read.flag("existing", in.existing(), [&](std::size_t i) { out(i).exists = true; }));
  return read.durations("leases", in.leases(),
                        [&](std::size_t i, Duration d) { out(i).lease = d; });
}

Status take(const Reader& read, const wire::Segments& in, Values& values) {
  const auto out = element<SegmentDescription>(values);
  LARDER_CHECK(
      read.ids("ids", in.ids(), [&](std::size_t i, Halves id) { out(i).id = {id.high, id.low}; }));
  LARDER_CHECK(read.ids("incarnations", in.incarnations(),
                        [&](std::size_t i, Halves id) { out(i).incarnation = {id.high, id.low}; }));
  for (const std::uint32_t kind : in.kinds()) LARDER_CHECK(take_kind(kind));
  LARDER_CHECK(read.numbers("kinds", in.kinds(), [&](std::size_t i, std::uint32_t kind) {
    out(i).kind = static_cast<SegmentKind>(kind);
  }));
  LARDER_CHECK(read.numbers("sizes", in.sizes(),
                            [&](std::size_t i, std::uint64_t size) { out(i).size = {size}; }));
  for (std::size_t i = 0; i < read.count(); ++i) out(i).numa_node = 0;
  LARDER_CHECK(read.numbers("numa_nodes", in.numa_nodes(),
                            [&](std::size_t i, std::int32_t n) { out(i).numa_node = n; }));
  const auto texts = [&](std::string_view column, const wire::Texts& from, auto member) {
    return read.texts({column, name_bytes_max}, from,
                      [&](std::size_t i, std::string_view text) { out(i).*member = text; });
  };
  LARDER_CHECK(texts("names", in.names(), &SegmentDescription::name));
  LARDER_CHECK(texts("nodes", in.nodes(), &SegmentDescription::node));
  LARDER_CHECK(texts("endpoints", in.endpoints(), &SegmentDescription::endpoint));
  LARDER_CHECK(texts("hosts", in.hosts(), &SegmentDescription::host));
  return texts("racks", in.racks(), &SegmentDescription::rack);
}

Result<AnswerValue> take(const wire::SessionOpened& in) {
  const Reader read("SessionOpened", 1);
  LARDER_TRY(const Duration lease, read.duration("lease", in.lease()));
  LARDER_TRY(const Duration keep_alive, read.duration("keep_alive", in.keep_alive()));
  return SessionOpened{.epoch = {in.epoch()},
                       .instance = take_id<InstanceTag>(in.instance()),
                       .resumed = in.resumed(),
                       .lease = lease,
                       .keep_alive = keep_alive,
                       .object_bytes_max = {in.object_bytes_max()}};
}

Result<AnswerValue> take(const wire::NodeRegistered& in) {
  LARDER_TRY(const Duration heartbeat,
             Reader("NodeRegistered", 1).duration("heartbeat", in.heartbeat()));
  return NodeRegistered{
      .epoch = {in.epoch()},
      .instance = take_id<InstanceTag>(in.instance()),
      .heartbeat = heartbeat,
      .retire_everything = in.retire_everything(),
      .lowest_unfinished = {{in.lowest_unfinished_epoch()}, in.lowest_unfinished_counter()}};
}

Result<AnswerValue> take(const wire::QuiesceReport& in) {
  return QuiesceReport{.put_bytes_max = {in.put_bytes_max()},
                       .evicted_objects = in.evicted_objects(),
                       .evicted_bytes = {in.evicted_bytes()},
                       .eviction_digest = in.eviction_digest()};
}

// The values of all answers that are no errors.
Result<Values> take_values(const wire::Reply& in, std::size_t count) {
  Values out(count);  // of Done
  const Reader read("Reply", count);
  const auto one = [&](Result<AnswerValue> value) -> Status {
    if (count != 1) return read.malformed("more than one answer to a request without items");
    LARDER_TRY(out[0], std::move(value));
    return {};
  };
  switch (in.values_case()) {
    case wire::Reply::kDone:
      break;
    case wire::Reply::kSessionOpened:
      LARDER_CHECK(one(take(in.session_opened())));
      break;
    case wire::Reply::kPutGrants:
      LARDER_CHECK(take(read, in.put_grants(), out));
      break;
    case wire::Reply::kReplicaLists:
      LARDER_CHECK(take(read, in.replica_lists(), out));
      break;
    case wire::Reply::kExistences:
      LARDER_CHECK(take(read, in.existences(), out));
      break;
    case wire::Reply::kObjectPage:
      LARDER_CHECK(one(take_page(in.object_page())));
      break;
    case wire::Reply::kObjectDetails:
      LARDER_CHECK(take_details(read, in.object_details(), element<ObjectDetails>(out)));
      break;
    case wire::Reply::kSegments:
      LARDER_CHECK(take(read, in.segments(), out));
      break;
    case wire::Reply::kNodeRegistered:
      LARDER_CHECK(one(take(in.node_registered())));
      break;
    case wire::Reply::kStatusReport:
      LARDER_CHECK(one(take_status(in.status_report())));
      break;
    case wire::Reply::kQuiesceReport:
      LARDER_CHECK(one(take(in.quiesce_report())));
      break;
    case wire::Reply::VALUES_NOT_SET:
      if (count != 0) return read.malformed("answers without values, or of an unknown kind");
  }
  return out;
}

}  // namespace

struct ReplyEncoder::Message {
  InArena<wire::Reply> reply;
  std::size_t expected = 0;
  std::uint32_t kind = 0;  // of the values; 0: none yet
  bool in_order = true;    // the indices are 0, 1, 2 ...
};

ReplyEncoder::ReplyEncoder(Epoch epoch, std::size_t expected)
    : message_(std::make_unique<Message>()) {
  message_->expected = expected;
  message_->reply->set_epoch(epoch.value);
}
ReplyEncoder::ReplyEncoder(ReplyEncoder&&) noexcept = default;
ReplyEncoder& ReplyEncoder::operator=(ReplyEncoder&&) noexcept = default;
ReplyEncoder::~ReplyEncoder() = default;

std::size_t ReplyEncoder::size() const { return message_->reply->outcomes().count(); }

void ReplyEncoder::add(std::uint32_t index, const Answer& answer) {
  wire::Reply& reply = *message_->reply;
  // The indices are written down from the first one on that is not as expected.
  if (message_->in_order && index != size()) {
    message_->in_order = false;
    for (std::uint32_t i = 0; i < size(); ++i) reply.add_indices(i);
  }
  if (!message_->in_order) reply.add_indices(index);
  add_outcome(answer ? nullptr : &answer.error(), *reply.mutable_outcomes());
  if (!answer) return;
  if (message_->kind == 0) reserve(*answer, message_->expected, reply);
  std::visit([&](const auto& value) { larder::add(value, reply); }, *answer);
  const auto kind = static_cast<std::uint32_t>(reply.values_case());
  LARDER_ASSERT(message_->kind == 0 || message_->kind == kind,
                "the answers to one request are of one kind");
  message_->kind = kind;
}

void ReplyEncoder::finish(std::string& frame) {
  wire::Reply& reply = *message_->reply;
  close_outcomes(*reply.mutable_outcomes());
  wire::Checksums* checksums =
      reply.has_replica_lists() ? reply.mutable_replica_lists()->mutable_checksums() : nullptr;
  if (checksums != nullptr && checksums->none_size() == checksums->values_size()) {
    checksums->Clear();
  }
  append(reply, frame);
}

void encode(const ReplyPart& part, std::string& frame) {
  LARDER_ASSERT(part.indices.size() == part.answers.size());
  ReplyEncoder encoder(part.epoch, part.answers.size());
  for (std::size_t i = 0; i < part.answers.size(); ++i) {
    encoder.add(part.indices[i], part.answers[i]);
  }
  encoder.finish(frame);
}

Result<ReplyPart> decode_reply(FrameBytes bytes) {
  InArena<wire::Reply> parsed;
  wire::Reply& message = *parsed;
  LARDER_CHECK(parse(bytes, "Reply", message));
  LARDER_TRY(std::vector<Status> outcomes, take_outcomes("Reply", message.outcomes()));
  const auto good =
      std::ranges::count_if(outcomes, [](auto& outcome) { return outcome.has_value(); });
  LARDER_TRY(Values values, take_values(message, static_cast<std::size_t>(good)));

  ReplyPart part{.epoch = {message.epoch()}};
  part.indices.resize(outcomes.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) part.indices[i] = static_cast<std::uint32_t>(i);
  LARDER_CHECK(Reader("Reply", outcomes.size())
                   .numbers("indices", message.indices(),
                            [&](std::size_t i, std::uint32_t index) { part.indices[i] = index; }));
  part.answers.reserve(outcomes.size());
  auto value = values.begin();
  for (Status& outcome : outcomes) {
    if (outcome) {
      part.answers.emplace_back(std::move(*value++));
    } else {
      part.answers.emplace_back(std::unexpected(std::move(outcome).error()));
    }
  }
  return part;
}

bool answers(const RequestBody& request, const AnswerValue& value) {
  const auto is = [&]<class Value>(std::in_place_type_t<Value>) {
    return std::holds_alternative<Value>(value);
  };
  return std::visit(
      [&]<class Body>(const Body&) {
        if constexpr (std::is_same_v<Body, OpenSession>) {
          return is(std::in_place_type<SessionOpened>);
        } else if constexpr (std::is_same_v<Body, PutStart>) {
          return is(std::in_place_type<PutGrant>);
        } else if constexpr (std::is_same_v<Body, GetReplicaList>) {
          return is(std::in_place_type<ReplicaList>);
        } else if constexpr (std::is_same_v<Body, Exists>) {
          return is(std::in_place_type<Existence>);
        } else if constexpr (std::is_same_v<Body, ListObjects>) {
          return is(std::in_place_type<ObjectPage>);
        } else if constexpr (std::is_same_v<Body, DescribeObjects>) {
          return is(std::in_place_type<ObjectDetails>);
        } else if constexpr (std::is_same_v<Body, DescribeSegments>) {
          return is(std::in_place_type<SegmentDescription>);
        } else if constexpr (std::is_same_v<Body, GetStatus>) {
          return is(std::in_place_type<StatusReport>);
        } else if constexpr (std::is_same_v<Body, Quiesce>) {
          return is(std::in_place_type<QuiesceReport>);
        } else if constexpr (std::is_same_v<Body, RegisterNode>) {
          return is(std::in_place_type<NodeRegistered>);
        } else {
          return is(std::in_place_type<Done>);
        }
      },
      request);
}

}  // namespace larder
