#include "core/base/hash.h"
#include "core/client/client_state.h"
#include "core/client/rules.h"
#include "core/protocol/footer.h"

namespace larder {
namespace {

// One item on its way. It asks for the replicas, reads one, and may go on to others or ask again.
struct GetWork {
  enum class Stage : std::uint8_t { ask, read, done };

  const GetItem* item = nullptr;
  Bytes room;  // in the caller's slices
  Fingerprint name;
  Stage stage = Stage::ask;
  std::uint32_t times_asked = 0;
  ReplicaList list;
  HeldLease lease;
  Time lease_deadline;
  SegmentUses places;              // of the list's replicas; empty: unknown segment
  std::vector<ExtentName> failed;  // extents that this call does not try again
  std::size_t replica = 0;         // that is being read
  std::optional<Error> cause;      // of the newest failure
  Result<GetOutcome> result = GetOutcome{};

  bool ranged() const { return item->range_offset.has_value(); }
  // What is read of the payload.
  Part part() const { return ranged() ? Part{*item->range_offset, room} : Part{0_B, list.size}; }
  ExtentName extent() const { return {list.put_id, list.replicas[replica]}; }
};

struct GetCall {
  ClientState& client;
  Time began;
  Time deadline;
  bool counted = false;  // as gets, by the master
  Time told{};           // when the master last answered
  std::vector<GetWork> works;

  void finish(GetWork& work, Error error) {
    work.stage = GetWork::Stage::done;
    work.lease = {};
    if (work.list.size > 0_B) error = std::move(error).with_size(work.list.size);
    work.result =
        std::unexpected(explained(std::move(error), work.item->key, client.now() - began));
  }
  std::vector<GetWork*> at(GetWork::Stage stage) {
    std::vector<GetWork*> found;
    for (GetWork& work : works) {
      if (work.stage == stage) found.push_back(&work);
    }
    return found;
  }
};

Status check(const GetWork& work) {
  LARDER_CHECK(check_key(work.item->key));
  if (work.room == 0_B) return failed(ErrorCode::invalid_params, "there is no buffer to read into");
  return {};
}

// ---- ask: the replicas, and where their segments are -------------------------------------------

Status check_room(const GetWork& work) {
  const Bytes size = work.list.size;
  if (!work.ranged() && work.room < size) {
    return failed(ErrorCode::buffer_overflow, "the buffer has " + std::to_string(work.room.value) +
                                                  " bytes, the object " +
                                                  std::to_string(size.value));
  }
  if (work.ranged() &&
      (*work.item->range_offset > size || work.room > size - *work.item->range_offset)) {
    return failed(ErrorCode::invalid_params, std::to_string(work.room.value) + " bytes from " +
                                                 std::to_string(work.item->range_offset->value) +
                                                 " on are not inside the object's " +
                                                 std::to_string(size.value));
  }
  return {};
}

void take_list(GetCall& call, GetWork& work, MasterSession::Answered answered) {
  if (!answered.answer) return call.finish(work, std::move(answered.answer).error());
  auto* list = std::get_if<ReplicaList>(&*answered.answer);
  if (!list || list->replicas.empty() || list->size == 0_B) {
    return call.finish(work, Error(ErrorCode::rpc_fail, "the master's answer is no replica list"));
  }
  work.list = std::move(*list);
  work.lease = HeldLease(
      call.client.session, answered.epoch,
      {.slot = work.list.lease.slot, .round = work.list.lease.round, .put_id = work.list.put_id});
  work.lease_deadline = lease_deadline(answered.asked, work.list.lease.duration);
  work.places.clear();
  work.stage = GetWork::Stage::read;
  if (Status fits = check_room(work); !fits) {
    call.finish(work, std::move(fits).error());
  }
}

Task<Done> ask(GetCall& call) {
  const std::vector<GetWork*> asking = call.at(GetWork::Stage::ask);
  GetReplicaList request{.again = std::exchange(call.counted, true)};
  for (GetWork* work : asking) {
    work->lease = {};  // the old one goes back with this very question
    ++work->times_asked;
    request.items.push_back({.key = work->item->key});
  }
  auto answers = co_await look_up(call.client, std::move(request), call.deadline);
  call.told = call.client.now();
  std::vector<SegmentId> segments;
  for (std::size_t i = 0; i < asking.size(); ++i) {
    take_list(call, *asking[i], std::move(answers[i]));
    if (asking[i]->stage != GetWork::Stage::read) continue;
    for (const ReplicaLocation& replica : asking[i]->list.replicas) {
      segments.push_back(replica.segment);
    }
  }
  const Status learnt = co_await learn_segments(call.client, std::move(segments), call.deadline);
  for (GetWork* work : asking) {
    if (work->stage != GetWork::Stage::read) continue;
    for (const ReplicaLocation& replica : work->list.replicas) {
      work->places.push_back(call.client.segments.use(replica.segment));
      if (work->places.back()) continue;
      work->cause = learnt ? Error(ErrorCode::segment_not_found,
                                   "the master does not know segment " + to_string(replica.segment))
                           : learnt.error();
    }
  }
  co_return Done{};
}

// ---- choose: a replica, or what else to do -----------------------------------------------------

using Candidates = boost::container::small_vector<ReplicaCandidate, 4>;

Candidates candidates_of(const GetCall& call, const GetWork& work) {
  Candidates candidates;
  for (std::size_t i = 0; i < work.places.size(); ++i) {
    const SegmentCache::Use& place = work.places[i];
    const ExtentName extent{work.list.put_id, work.list.replicas[i]};
    const bool failed_before = std::ranges::find(work.failed, extent) != work.failed.end();
    candidates.push_back(
        {.usable = place && !failed_before &&
                   call.client.endpoints.may_try(place->endpoint, call.client.now()),
         .local = place && place->host == call.client.config.host});
  }
  return candidates;
}

bool is_late(const ClientState& client, const GetWork& work) {
  return client.config.guards.lease && client.now() >= work.lease_deadline;
}

// After `work.cause` came about, or since no replica can be used.
void go_on(GetCall& call, GetWork& work) {
  const auto candidates = candidates_of(call, work);
  const NextStep step = next_step(
      {.usable_replicas =
           static_cast<std::size_t>(std::ranges::count_if(candidates, &ReplicaCandidate::usable)),
       .times_asked = work.times_asked,
       .now = call.client.now(),
       .lease_deadline = call.client.config.guards.lease ? work.lease_deadline : time_never,
       .deadline = call.deadline});
  switch (step) {
    case NextStep::next_replica:
      return;
    case NextStep::ask_again:
      work.stage = GetWork::Stage::ask;
      return;
    case NextStep::give_up:
      return call.finish(work, Error(*work.cause).with_size(work.list.size));
  }
}

void choose(GetCall& call) {
  for (GetWork* work : call.at(GetWork::Stage::read)) {
    if (is_late(call.client, *work)) {
      work->cause = Error(ErrorCode::lease_expired, "the lease was over before the read began");
      go_on(call, *work);
      continue;
    }
    const auto candidates = candidates_of(call, *work);
    const std::uint64_t spread = work->name.low ^ call.client.config.seed;
    if (const auto chosen = choose_replica(candidates, spread)) {
      work->replica = *chosen;
      continue;
    }
    if (!work->cause) {
      work->cause = Error(ErrorCode::transfer_fail, "no node with a replica answered a moment ago")
                        .with_endpoint(work->places.front()->endpoint);
    }
    go_on(call, *work);
  }
}

// ---- read: one transfer for each node ----------------------------------------------------------

struct ReadPart {
  Part part;                // of the payload
  std::vector<Slice> into;  // empty: the caller's slices as they are
  FooterBytes footer{};
  std::optional<std::uint64_t> computed;  // of its bytes, where the transport hashed them
  Status result = failed(ErrorCode::internal_error);  // the transport sets it
};
struct ItemRead {
  GetWork* work = nullptr;
  std::vector<ReadPart> parts;
};
struct NodeRead {
  const SegmentDescription* segment = nullptr;
  std::vector<ItemRead> items;
  Bytes bytes;
};

ItemRead item_read(GetWork& work, Bytes part_bytes_max) {
  ItemRead read{.work = &work};
  const Part whole = work.part();
  for (Bytes done; done < whole.length;) {
    const Part of_slices{.offset = done, .length = std::min(part_bytes_max, whole.length - done)};
    read.parts.push_back({.part = {whole.offset + done, of_slices.length}});
    if (of_slices.length != work.room) read.parts.back().into = part_of(work.item->into, of_slices);
    done += of_slices.length;
  }
  return read;
}

std::vector<NodeRead> group_by_node(GetCall& call, std::span<GetWork* const> reading) {
  const Bytes part_bytes_max = call.client.ports.transport.traits().transfer_bytes_max;
  std::vector<NodeRead> nodes;
  std::map<std::string_view, std::size_t> index;
  for (GetWork* work : reading) {
    const SegmentCache::Use& place = work->places[work->replica];
    const auto [entry, is_new] = index.try_emplace(place->endpoint, nodes.size());
    if (is_new) nodes.push_back({.segment = &*place});
    NodeRead& node = nodes[entry->second];
    node.items.push_back(item_read(*work, part_bytes_max));
    node.bytes += work->part().length;
  }
  return nodes;
}

bool is_verified(const ClientState& client, const GetWork& work) {
  return client.config.guards.checksum && client.config.checksum && !work.ranged() &&
         work.list.checksum.has_value();
}

Read read_of(const ClientState& client, NodeRead& node, bool footers) {
  Read read;
  for (ItemRead& item : node.items) {
    const GetWork& work = *item.work;
    const bool hashed = item.parts.size() == 1 && is_verified(client, work);
    for (ReadPart& part : item.parts) {
      read.ranges.push_back(
          {.put_id = work.list.put_id,
           .segment = &*work.places[work.replica],
           .extent_offset = work.list.replicas[work.replica].offset,
           .payload_size = work.list.size,
           .offset = part.part.offset,
           .into = part.into.empty() ? work.item->into : std::span<const Slice>(part.into),
           .result = &part.result,
           .computed = hashed ? &part.computed : nullptr,
           .footer = footers ? &part.footer : nullptr});
    }
  }
  return read;
}

// Ends early enough that there is time for another replica, or to ask again.
Task<Done> read_node(GetCall& call, NodeRead& node, bool footers) {
  const Time until = transfer_deadline({.bytes = node.bytes,
                                        .now = call.client.now(),
                                        .deadline = call.deadline,
                                        .patience = call.client.config.timing.fill_stalled});
  return move_bytes(call.client, read_of(call.client, node, footers), node.segment->endpoint,
                    {.told = call.told, .deadline = until});
}

// ---- check: in this order, and only then it is a success ---------------------------------------

Status check_footers(const ItemRead& read) {
  const GetWork& work = *read.work;
  for (const ReadPart& part : read.parts) {
    const std::optional<Footer> footer = decode_footer(part.footer);
    if (!footer) return failed(ErrorCode::replica_is_gone, "the extent is not sealed any more");
    if (footer->put_id != work.list.put_id || footer->name != work.name ||
        footer->length != work.list.size) {
      return failed(ErrorCode::replica_is_gone, "the extent holds put " +
                                                    to_string(footer->put_id) + ", not " +
                                                    to_string(work.list.put_id));
    }
  }
  return {};
}

// Of the whole payload as it stands in the caller's slices.
std::uint64_t checksum_of(const ItemRead& read) {
  if (read.parts.size() == 1 && read.parts.front().computed) return *read.parts.front().computed;
  const GetWork& work = *read.work;
  ChecksumStream stream;
  for (const Slice slice : part_of(work.item->into, work.part())) stream.update(slice);
  return stream.value();
}

Result<GetOutcome> checked(GetCall& call, ItemRead& read) {
  ClientState& client = call.client;
  GetWork& work = *read.work;
  for (ReadPart& part : read.parts) LARDER_CHECK(std::move(part.result));
  if (client.ports.transport.traits().one_sided && client.config.guards.footer) {
    if (Status good = check_footers(read); !good) {
      // Retired meanwhile, or broken: the node knows, and mends it.
      client.session.report_bad_bytes(work.extent(), work.item->key);
      return std::unexpected(std::move(good).error());
    }
  }
  const bool verify = is_verified(client, work);
  if (verify) {
    ++client.counters.checksum_passes;
    if (checksum_of(read) != *work.list.checksum) {
      client.session.report_bad_bytes(work.extent(), work.item->key);
      return failed(ErrorCode::checksum_mismatch, "the bytes are not those that were put");
    }
  }
  if (is_late(client, work)) {
    return failed(ErrorCode::lease_expired, "the read ended after its lease");
  }
  return GetOutcome{.put_id = work.list.put_id,
                    .size = work.part().length,
                    .checksum_verified = verify,
                    .checksum = work.list.checksum};
}

void take_read(GetCall& call, ItemRead& read) {
  GetWork& work = *read.work;
  Result<GetOutcome> outcome = checked(call, read);
  if (outcome) {
    work.stage = GetWork::Stage::done;
    work.lease = {};
    work.result = std::move(outcome);
    return;
  }
  ++call.client.counters.read_failures;
  // Bytes that only came too late are good to be read again, under another lease.
  if (outcome.error().code() != ErrorCode::lease_expired) work.failed.push_back(work.extent());
  work.cause = std::move(outcome).error().with_endpoint(work.places[work.replica]->endpoint);
  go_on(call, work);
}

Task<Done> read(GetCall& call) {
  choose(call);
  const std::vector<GetWork*> reading = call.at(GetWork::Stage::read);
  const bool footers =
      call.client.ports.transport.traits().one_sided && call.client.config.guards.footer;
  std::vector<NodeRead> nodes = group_by_node(call, reading);
  std::vector<Task<Done>> transfers;
  for (NodeRead& node : nodes) transfers.push_back(read_node(call, node, footers));
  co_await JoinAll(std::move(transfers));
  for (NodeRead& node : nodes) {
    for (ItemRead& item : node.items) take_read(call, item);
  }
  co_return Done{};
}

}  // namespace

Task<std::vector<Result<GetOutcome>>> run_get(ClientState& client, std::span<const GetItem> items,
                                              GetOptions options, Time deadline) {
  GetCall call{
      .client = client, .began = client.now(), .deadline = deadline, .counted = options.looked_up};
  const Status count = check_count(items.size());
  call.works.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    GetWork& work = call.works[i];
    work.item = &items[i];
    work.room = total_bytes(items[i].into);
    Status good = count ? check(work) : count;
    if (good) {
      work.name = fingerprint(client.config.tenant, items[i].key);
    } else {
      call.finish(work, std::move(good).error());
    }
  }
  for (;;) {
    if (!call.at(GetWork::Stage::ask).empty()) co_await ask(call);
    if (call.at(GetWork::Stage::read).empty() && call.at(GetWork::Stage::ask).empty()) break;
    co_await read(call);
  }
  std::vector<Result<GetOutcome>> results;
  results.reserve(call.works.size());
  for (GetWork& work : call.works) results.push_back(std::move(work.result));
  co_return results;
}

}  // namespace larder
