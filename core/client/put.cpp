#include <bit>

#include "core/base/hash.h"
#include "core/client/client_state.h"
#include "core/client/rules.h"

namespace larder {
namespace {

constexpr std::uint32_t put_attempts_max = 4;  // of one item, by failures of nodes

// One item on its way. It starts, is filled, ends, and may have to start once more, elsewhere.
struct PutWork {
  enum class Stage : std::uint8_t { start, fill, end, done };

  const PutItem* item = nullptr;
  Bytes size;
  Stage stage = Stage::start;
  std::optional<std::uint64_t> checksum;
  PutGrant grant;
  Time granted_since;          // before the request whose answer the grant is
  SegmentUses places;          // of the grant's replicas; empty: unknown segment
  std::uint32_t sealed = 0;    // bit i: the i-th replica
  std::uint32_t attempts = 0;  // grants that it had
  std::optional<Error> cause;  // why it had to start once more
  Result<PutOutcome> result = PutOutcome{};
};

struct PutCall {
  ClientState& client;
  PutOptions options;
  Time began;
  Time deadline;
  Time told{};  // when the master last gave places
  std::vector<PutWork> works;
  std::vector<SegmentId> avoid;  // ascending

  void finish(PutWork& work, Error error) {
    work.stage = PutWork::Stage::done;
    work.result = std::unexpected(
        explained(std::move(error), work.item->key, client.now() - began).with_size(work.size));
  }
  void finish(PutWork& work, PutOutcome outcome) {
    work.stage = PutWork::Stage::done;
    work.result = outcome;
  }
  void avoid_segment(SegmentId id) {
    const auto place = std::ranges::lower_bound(avoid, id);
    if (place == avoid.end() || *place != id) avoid.insert(place, id);
  }
  std::vector<PutWork*> at(PutWork::Stage stage) {
    std::vector<PutWork*> found;
    for (PutWork& work : works) {
      if (work.stage == stage) found.push_back(&work);
    }
    return found;
  }
};

// The one pass over the data that a put makes, and only when space for it was granted.
void make_checksum(ClientState& client, PutWork& work) {
  if (!client.config.checksum || work.checksum) return;
  ChecksumStream stream;
  for (const ConstSlice slice : work.item->value) stream.update(slice);
  work.checksum = stream.value();
  ++client.counters.checksum_passes;
}

// ---- start: PutStart, and where the segments are -----------------------------------------------

// Whether a refusal to start is only what this call has brought about before: it was granted once,
// and the revoke of that has not arrived.
bool is_own_put(const PutWork& work, ErrorCode code) {
  return work.attempts > 0 && code == ErrorCode::put_in_flight;
}

void take_grant(PutCall& call, PutWork& work, MasterSession::Answered answered) {
  if (!answered.answer) {
    Error& error = answered.answer.error();
    if (error.code() == ErrorCode::object_already_exists) {
      call.finish(work, PutOutcome{.already_stored = true});
    } else if (!is_own_put(work, error.code())) {
      call.finish(work, work.cause ? std::move(*work.cause) : std::move(error));
    }
    return;
  }
  auto* grant = std::get_if<PutGrant>(&*answered.answer);
  if (!grant || grant->replicas.empty() || grant->replicas.size() > replicas_max) {
    call.finish(work, Error(ErrorCode::rpc_fail, "the master's answer is no grant of a put"));
    return;
  }
  work.grant = std::move(*grant);
  work.granted_since = answered.asked;
  work.sealed = 0;
  work.places.clear();
  ++work.attempts;
  work.stage = PutWork::Stage::fill;
}

Task<Done> start(PutCall& call) {
  const std::vector<PutWork*> starting = call.at(PutWork::Stage::start);
  PutStart request{.upsert = call.options.upsert, .avoid = call.avoid};
  request.preferred.assign(call.options.preferred.begin(), call.options.preferred.end());
  for (const PutWork* work : starting) {
    request.items.push_back(start_item(*work->item, work->size));
  }
  auto answers = co_await look_up(call.client, std::move(request), call.deadline);
  call.told = call.client.now();
  std::vector<SegmentId> segments;
  for (std::size_t i = 0; i < starting.size(); ++i) {
    take_grant(call, *starting[i], std::move(answers[i]));
    if (starting[i]->stage != PutWork::Stage::fill) continue;
    for (const ReplicaLocation& replica : starting[i]->grant.replicas) {
      segments.push_back(replica.segment);
    }
  }
  const Status learnt = co_await learn_segments(call.client, std::move(segments), call.deadline);
  for (PutWork* work : starting) {
    if (work->stage != PutWork::Stage::fill) continue;
    for (const ReplicaLocation& replica : work->grant.replicas) {
      work->places.push_back(call.client.segments.use(replica.segment));
      if (work->places.back()) continue;
      work->cause = learnt ? Error(ErrorCode::segment_not_found,
                                   "the master does not know segment " + to_string(replica.segment))
                           : learnt.error();
      call.avoid_segment(replica.segment);
    }
  }
  co_return Done{};
}

// ---- fill: one transfer for each node ----------------------------------------------------------

struct FillPart {
  PutWork* work = nullptr;
  std::size_t replica = 0;
  Part part;
  std::vector<ConstSlice> from;  // only where the value is sent in several parts
  Status result = failed(ErrorCode::internal_error);  // the transport sets it
};
struct NodeFill {
  const SegmentDescription* segment = nullptr;
  std::vector<FillPart> parts;
  Bytes bytes;
  Time allowed = time_never;  // the first of its items must be published by then
};

void add_parts(NodeFill& node, PutWork& work, std::size_t replica, Bytes part_bytes_max) {
  for (Bytes offset; offset < work.size;) {
    const Part part{.offset = offset, .length = std::min(part_bytes_max, work.size - offset)};
    node.parts.push_back({.work = &work, .replica = replica, .part = part});
    if (part.length != work.size) node.parts.back().from = part_of(work.item->value, part);
    offset += part.length;
  }
  node.bytes += work.size;
  node.allowed = std::min(node.allowed, work.granted_since + work.grant.time_allowed);
}

// In the order of the first item for each node.
std::vector<NodeFill> group_by_node(PutCall& call, std::span<PutWork* const> filling) {
  const Bytes part_bytes_max = call.client.ports.transport.traits().transfer_bytes_max;
  std::vector<NodeFill> nodes;
  std::map<std::string_view, std::size_t> index;
  for (PutWork* work : filling) {
    for (std::size_t i = 0; i < work->places.size(); ++i) {
      if (!work->places[i]) continue;
      const auto [place, is_new] = index.try_emplace(work->places[i]->endpoint, nodes.size());
      if (is_new) nodes.push_back({.segment = &*work->places[i]});
      add_parts(nodes[place->second], *work, i, part_bytes_max);
    }
  }
  return nodes;
}

Fill fill_of(PutCall& call, NodeFill& node) {
  Fill fill{.segment = node.segment};
  for (FillPart& part : node.parts) {
    const PutItem& item = *part.work->item;
    const bool last = part.part.offset + part.part.length == part.work->size;
    fill.ranges.push_back(
        {.item = {.put_id = part.work->grant.put_id,
                  .location = part.work->grant.replicas[part.replica],
                  .record = record_of(call.client, item, part.work->size),
                  .part_offset = part.part.offset,
                  .part_length = part.part.length,
                  .checksum = last ? part.work->checksum : std::nullopt,
                  .last_part = last},
         .from = part.from.empty() ? item.value : std::span<const ConstSlice>(part.from),
         .result = &part.result});
  }
  return fill;
}

Task<Done> fill_node(PutCall& call, NodeFill& node) {
  ClientState& client = call.client;
  const Time now = client.now();
  if (!client.endpoints.may_try(node.segment->endpoint, now)) {
    for (FillPart& part : node.parts) {
      part.result = failed(ErrorCode::transfer_fail, "the node did not answer a moment ago");
    }
    co_return Done{};
  }
  const Time until = transfer_deadline({.bytes = node.bytes,
                                        .now = now,
                                        .deadline = call.deadline,
                                        .patience = client.config.timing.fill_stalled});
  co_return co_await move_bytes(client, fill_of(call, node), node.segment->endpoint,
                                {.told = call.told, .deadline = std::min(until, node.allowed)});
}

void take_fills(PutCall& call, NodeFill& node) {
  for (std::size_t i = 0; i < node.parts.size();) {
    PutWork& work = *node.parts[i].work;
    const std::size_t replica = node.parts[i].replica;
    Status whole;  // the first part that failed decides
    for (; i < node.parts.size() && node.parts[i].work == &work && node.parts[i].replica == replica;
         ++i) {
      if (whole) whole = std::move(node.parts[i].result);
    }
    if (whole) {
      work.sealed |= 1u << replica;
      continue;
    }
    work.cause = std::move(whole).error().with_endpoint(node.segment->endpoint);
    call.avoid_segment(work.grant.replicas[replica].segment);
  }
}

Task<Done> fill(PutCall& call) {
  std::vector<PutWork*> filling = call.at(PutWork::Stage::fill);
  // What a master granted that no longer leads is dropped: nodes would refuse it.
  std::erase_if(filling, [&](const PutWork* work) {
    return work->grant.put_id.epoch < call.client.session.epoch();
  });
  for (PutWork* work : filling) make_checksum(call.client, *work);
  std::vector<NodeFill> nodes = group_by_node(call, filling);
  std::vector<Task<Done>> transfers;
  for (NodeFill& node : nodes) transfers.push_back(fill_node(call, node));
  co_await JoinAll(std::move(transfers));
  for (NodeFill& node : nodes) take_fills(call, node);
  co_return Done{};
}

// ---- end: publish what was sealed, give up the rest --------------------------------------------

void start_once_more(PutCall& call, PutWork& work) {
  const bool superseded = work.grant.put_id.epoch < call.client.session.epoch();
  if (!work.cause) work.cause.emplace(ErrorCode::epoch_superseded, "a new master leads");
  if (!superseded && work.attempts >= put_attempts_max) return call.finish(work, *work.cause);
  work.stage = PutWork::Stage::start;
  ++call.client.counters.puts_restarted;
}

void give_up_unsealed(PutCall& call) {
  PutRevoke revoke;
  for (PutWork* work : call.at(PutWork::Stage::fill)) {
    if (work->sealed != 0) {
      work->stage = PutWork::Stage::end;
      continue;
    }
    if (work->grant.put_id.epoch == call.client.session.epoch()) {
      revoke.items.push_back({.key = work->item->key, .put_id = work->grant.put_id});
    }
    start_once_more(call, *work);
  }
  if (!revoke.items.empty()) revoke_unwaited(call.client, std::move(revoke));
}

Task<Done> end(PutCall& call) {
  give_up_unsealed(call);
  const std::vector<PutWork*> ending = call.at(PutWork::Stage::end);
  PutEnd request;
  for (const PutWork* work : ending) {
    request.items.push_back({.key = work->item->key,
                             .put_id = work->grant.put_id,
                             .sealed = work->sealed,
                             .checksum = work->checksum});
  }
  auto answers = co_await call.client.session.call(std::move(request), call.deadline);
  for (std::size_t i = 0; i < ending.size(); ++i) {
    PutWork& work = *ending[i];
    Answer& answer = answers[i].answer;
    if (answer) {
      call.finish(work,
                  PutOutcome{.put_id = work.grant.put_id,
                             .replicas = static_cast<std::uint32_t>(std::popcount(work.sealed))});
    } else if (answer.error().code() == ErrorCode::invalid_write &&
               work.grant.put_id.epoch < answers[i].epoch) {
      work.cause = std::move(answer).error();  // a new master that did not take the put up
      start_once_more(call, work);
    } else {
      call.finish(work, std::move(answer).error());
    }
  }
  co_return Done{};
}

}  // namespace

Status check_put(const PutItem& item, Bytes size, Bytes object_bytes_max) {
  LARDER_CHECK(check_key(item.key));
  for (const std::string_view name : {item.group, item.parent}) {
    if (name.size() > key_bytes_max) {
      return failed(ErrorCode::invalid_params,
                    "a group's or parent's name has " + std::to_string(name.size()) +
                        " bytes; at most " + std::to_string(key_bytes_max));
    }
  }
  if (size == 0_B) return failed(ErrorCode::invalid_params, "the value has no bytes");
  if (size > object_bytes_max) {
    return failed(ErrorCode::invalid_params, "the value has " + std::to_string(size.value) +
                                                 " bytes; an object at most " +
                                                 std::to_string(object_bytes_max.value));
  }
  if (item.replicas < 1 || item.replicas > replicas_max) {
    return failed(ErrorCode::invalid_params, std::to_string(item.replicas) + " replicas; 1 to " +
                                                 std::to_string(replicas_max) +
                                                 " can be asked for");
  }
  if (item.soft_pin < Duration(0) || item.time_to_live < Duration(0)) {
    return failed(ErrorCode::invalid_params, "a negative pin or time to live");
  }
  return {};
}

PutStart::Item start_item(const PutItem& item, Bytes size) {
  return {.key = item.key,
          .size = size,
          .replicas = item.replicas,
          .group = item.group,
          .parent = item.parent,
          .soft_pin = item.soft_pin,
          .time_to_live = item.time_to_live,
          .hard_pin = item.hard_pin};
}

ObjectRecord record_of(const ClientState& client, const PutItem& item, Bytes size) {
  return {.tenant = client.config.tenant,
          .key = item.key,
          .group = item.group,
          .parent = item.parent,
          .size = size,
          .soft_pin = item.soft_pin,
          .time_to_live = item.time_to_live,
          .hard_pin = item.hard_pin};
}

Task<std::vector<Result<PutOutcome>>> run_put(ClientState& client, std::span<const PutItem> items,
                                              PutOptions options, Time deadline) {
  PutCall call{.client = client, .options = options, .began = client.now(), .deadline = deadline};
  const Status count = check_count(items.size());
  call.works.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    PutWork& work = call.works[i];
    work.item = &items[i];
    work.size = total_bytes(items[i].value);
    Status good = count ? check_put(items[i], work.size, client.session.object_bytes_max()) : count;
    if (!good) call.finish(work, std::move(good).error());
  }
  for (std::uint32_t round = 0; !call.at(PutWork::Stage::start).empty(); ++round) {
    // The first repetition is elsewhere, at once.
    const Duration wait = round > 1 ? client.session.delay(round - 2) : Duration(0);
    const Time next = client.now() + wait;
    if (round > 0 && next >= deadline) {
      for (PutWork* work : call.at(PutWork::Stage::start)) call.finish(*work, *work->cause);
      break;
    }
    if (wait > Duration(0)) co_await Sleep(client.ports.timers, next);
    co_await start(call);
    co_await fill(call);
    co_await end(call);
  }
  std::vector<Result<PutOutcome>> results;
  results.reserve(call.works.size());
  for (PutWork& work : call.works) results.push_back(std::move(work.result));
  co_return results;
}

}  // namespace larder
