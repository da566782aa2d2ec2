#include "core/client/put_writer.h"

#include <bit>

#include "core/base/hash.h"
#include "core/client/client_state.h"
#include "core/client/rules.h"

namespace larder {

struct PutWriter::State {
  enum class Stage : std::uint8_t {
    open,
    at_work,  // a call is under way; if that was destroyed, it stays so for ever
    dead,
    ended,
  };

  State(ClientState& the_client, const PutItem& given, Bytes bytes)
      : client(the_client),
        began(the_client.now()),
        key(given.key),
        group(given.group),
        parent(given.parent),
        item(given),
        size(bytes) {
    item.key = key;
    item.group = group;
    item.parent = parent;
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { give_up(); }

  // Nothing of it will be published.
  void give_up() {
    if (stage == Stage::ended || stage == Stage::dead) return;
    stage = Stage::dead;
    if (grant.put_id.epoch != client.session.epoch()) return;  // dead with its master
    revoke_unwaited(client, {.items = {{.key = key, .put_id = grant.put_id}}});
  }

  Error explain(Error error) const {
    return explained(std::move(error), key, client.now() - began).with_size(size);
  }

  // Whether a call may begin on it.
  Status usable() {
    if (stage == Stage::open && grant.put_id.epoch < client.session.epoch()) {
      give_up();
      cause.emplace(ErrorCode::epoch_superseded, "a new master leads");
    }
    if (stage == Stage::open) return {};
    const char* why = stage == Stage::ended     ? "the put has ended"
                      : stage == Stage::at_work ? "another call on it is under way, or was given up"
                                                : "the put is dead";
    return failed(ErrorCode::invalid_write,
                  cause ? std::string(why) + " since " + cause->message() : std::string(why));
  }

  ClientState& client;
  Time began;
  std::string key;
  std::string group;
  std::string parent;
  PutItem item;  // of the texts above
  Bytes size;
  Bytes written;
  Stage stage = Stage::open;
  PutGrant grant;
  Time allowed;             // until when it must have ended
  SegmentUses places;       // of the grant's replicas; empty: unknown segment
  std::uint32_t whole = 0;  // bit i: the i-th replica has all parts so far
  std::optional<Error> cause;
  ChecksumStream hash;
  std::optional<PutOutcome> outcome;
};

PutWriter::PutWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
PutWriter::PutWriter(PutWriter&&) noexcept = default;
PutWriter& PutWriter::operator=(PutWriter&&) noexcept = default;
PutWriter::~PutWriter() = default;
Bytes PutWriter::size() const { return state_->size; }
Bytes PutWriter::written() const { return state_->written; }
bool PutWriter::already_stored() const {
  return state_->outcome && state_->outcome->already_stored;
}

namespace {

using State = PutWriter::State;
using Writers = std::vector<Result<PutWriter>>;

// ---- begin
// ---------------------------------------------------------------------------------------

// Makes a writer of an answer to its PutStart.
Result<PutWriter> take_grant(std::unique_ptr<State> state, MasterSession::Answered& answered) {
  if (!answered.answer) {
    Error& error = answered.answer.error();
    state->stage = State::Stage::dead;
    if (error.code() != ErrorCode::object_already_exists) {
      return std::unexpected(state->explain(std::move(error)));
    }
    state->stage = State::Stage::ended;
    state->outcome = PutOutcome{.already_stored = true};
    return PutWriter(std::move(state));
  }
  auto* grant = std::get_if<PutGrant>(&*answered.answer);
  if (!grant || grant->replicas.empty() || grant->replicas.size() > replicas_max) {
    state->stage = State::Stage::dead;
    return std::unexpected(
        state->explain(Error(ErrorCode::rpc_fail, "the master's answer is no grant of a put")));
  }
  state->grant = std::move(*grant);
  state->allowed = later(answered.asked, state->grant.time_allowed);
  return PutWriter(std::move(state));
}

void find_places(State& state, const Status& learnt) {
  for (std::size_t i = 0; i < state.grant.replicas.size(); ++i) {
    const SegmentId segment = state.grant.replicas[i].segment;
    state.places.push_back(state.client.segments.use(segment));
    if (state.places.back()) {
      state.whole |= 1u << i;
    } else {
      state.cause = learnt ? Error(ErrorCode::segment_not_found,
                                   "the master does not know segment " + to_string(segment))
                           : learnt.error();
    }
  }
}

// ---- write: one transfer for each node
// -----------------------------------------------------------

struct PartWrite {
  State* state = nullptr;
  Part part;
  std::span<const ConstSlice> from;
  Status result;
};

struct PartFill {
  PartWrite* write = nullptr;
  std::size_t replica = 0;
  Part part;                                          // of the payload
  std::vector<ConstSlice> from;                       // of it
  Status result = failed(ErrorCode::internal_error);  // the transport sets it
};
struct NodeFill {
  const SegmentDescription* segment = nullptr;
  std::vector<PartFill> fills;
  Bytes bytes;
  Time allowed = time_never;
};

Status check(const PutPart& part) {
  State& state = part.writer->state();
  LARDER_CHECK(state.usable());
  const Bytes length = total_bytes(part.bytes);
  if (length == 0_B) return failed(ErrorCode::invalid_params, "the part has no bytes");
  if (length > state.size - state.written) {
    return failed(ErrorCode::invalid_params, std::to_string(length.value) + " bytes after " +
                                                 std::to_string(state.written.value) +
                                                 " are more than the put's " +
                                                 std::to_string(state.size.value));
  }
  return {};
}

std::vector<NodeFill> group_by_node(ClientState& client, std::span<PartWrite* const> writes) {
  const Bytes part_bytes_max = client.ports.transport.traits().transfer_bytes_max;
  std::vector<NodeFill> nodes;
  std::map<std::string_view, std::size_t> index;
  for (PartWrite* write : writes) {
    State& state = *write->state;
    for (std::size_t i = 0; i < state.places.size(); ++i) {
      if (!(state.whole >> i & 1)) continue;
      const auto [place, is_new] = index.try_emplace(state.places[i]->endpoint, nodes.size());
      if (is_new) nodes.push_back({.segment = &*state.places[i]});
      NodeFill& node = nodes[place->second];
      for (Bytes done; done < write->part.length;) {
        const Part piece{.offset = done,
                         .length = std::min(part_bytes_max, write->part.length - done)};
        node.fills.push_back({.write = write,
                              .replica = i,
                              .part = {write->part.offset + done, piece.length},
                              .from = part_of(write->from, piece)});
        done += piece.length;
      }
      node.bytes += write->part.length;
      node.allowed = std::min(node.allowed, state.allowed);
    }
  }
  return nodes;
}

Fill fill_of(ClientState& client, NodeFill& node) {
  Fill fill{.segment = node.segment};
  for (PartFill& part : node.fills) {
    const State& state = *part.write->state;
    const bool last = part.part.offset + part.part.length == state.size;
    fill.ranges.push_back(
        {.item = {.put_id = state.grant.put_id,
                  .location = state.grant.replicas[part.replica],
                  .record = record_of(client, state.item, state.size),
                  .part_offset = part.part.offset,
                  .part_length = part.part.length,
                  .checksum = last && client.config.checksum ? std::optional(state.hash.value())
                                                             : std::nullopt,
                  .last_part = last},
         .from = part.from,
         .result = &part.result});
  }
  return fill;
}

Task<Done> fill_node(ClientState& client, NodeFill& node, Time deadline) {
  const Time now = client.now();
  if (!client.endpoints.may_try(node.segment->endpoint, now)) {
    for (PartFill& part : node.fills) {
      part.result = failed(ErrorCode::transfer_fail, "the node did not answer a moment ago");
    }
    co_return Done{};
  }
  const Time until = transfer_deadline({.bytes = node.bytes,
                                        .now = now,
                                        .deadline = deadline,
                                        .patience = client.config.timing.fill_stalled});
  co_return co_await move_bytes(client, fill_of(client, node), node.segment->endpoint,
                                {.told = now, .deadline = std::min(until, node.allowed)});
}

void take_fills(NodeFill& node) {
  for (PartFill& part : node.fills) {
    State& state = *part.write->state;
    if (part.result || !(state.whole >> part.replica & 1)) continue;
    state.whole &= ~(1u << part.replica);
    state.cause = std::move(part.result).error().with_endpoint(node.segment->endpoint);
  }
}

void take_write(PartWrite& write) {
  State& state = *write.state;
  if (state.whole == 0) {
    state.stage = State::Stage::open;  // so that it is given up here
    state.give_up();
    write.result = std::unexpected(state.explain(state.cause.value_or(
        Error(ErrorCode::segment_not_found, "no node is known that takes it"))));
    return;
  }
  state.written += write.part.length;
  state.stage = State::Stage::open;
}

// ---- end
// -----------------------------------------------------------------------------------------

Status check_end(State& state) {
  LARDER_CHECK(state.usable());
  if (state.written == state.size) return {};
  return failed(ErrorCode::invalid_params, std::to_string(state.written.value) + " of " +
                                               std::to_string(state.size.value) +
                                               " bytes were written");
}

}  // namespace

Task<Writers> run_begin_put(ClientState& client, std::span<const PutInParts> items,
                            PutOptions options, Time deadline) {
  Writers writers;
  std::vector<std::unique_ptr<State>> starting;
  std::vector<std::size_t> positions;
  PutStart request{.upsert = options.upsert};
  request.preferred.assign(options.preferred.begin(), options.preferred.end());
  const Status count = check_count(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto state = std::make_unique<State>(client, items[i].item, items[i].size);
    Status good =
        count ? check_put(items[i].item, items[i].size, client.session.object_bytes_max()) : count;
    if (good && !items[i].item.value.empty()) {
      good = failed(ErrorCode::invalid_params, "a value that comes in parts is given at once");
    }
    // Unknown so far, and nothing to be revoked.
    state->stage = State::Stage::dead;
    writers.push_back(std::unexpected(good ? Error(ErrorCode::internal_error)
                                           : state->explain(Error(good.error()))));
    if (!good) continue;
    request.items.push_back(start_item(state->item, state->size));
    starting.push_back(std::move(state));
    positions.push_back(i);
  }
  auto answers = co_await look_up(client, std::move(request), deadline);
  std::vector<SegmentId> segments;
  for (std::size_t i = 0; i < starting.size(); ++i) {
    starting[i]->stage = State::Stage::open;
    Result<PutWriter>& writer = writers[positions[i]];
    writer = take_grant(std::move(starting[i]), answers[i]);
    if (!writer) continue;
    for (const ReplicaLocation& at : writer->state().grant.replicas) segments.push_back(at.segment);
  }
  const Status learnt = co_await learn_segments(client, std::move(segments), deadline);
  for (Result<PutWriter>& writer : writers) {
    if (!writer || writer->already_stored()) continue;
    State& state = writer->state();
    find_places(state, learnt);
    if (state.whole == 0) writer = std::unexpected(state.explain(*state.cause));
  }
  co_return writers;
}

Task<std::vector<Status>> run_write_parts(ClientState& client, std::span<const PutPart> parts,
                                          Time deadline) {
  std::vector<PartWrite> all(parts.size());
  std::vector<PartWrite*> writes;
  const Status count = check_count(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    PartWrite& write = all[i];
    write.state = &parts[i].writer->state();
    write.result = count ? check(parts[i]) : count;
    if (!write.result) {
      write.result = std::unexpected(write.state->explain(std::move(write.result).error()));
      continue;
    }
    write.from = parts[i].bytes;
    write.part = {.offset = write.state->written, .length = total_bytes(write.from)};
    write.state->stage = State::Stage::at_work;
    if (client.config.checksum) {
      for (const ConstSlice slice : write.from) write.state->hash.update(slice);
    }
    writes.push_back(&write);
  }
  std::vector<NodeFill> nodes = group_by_node(client, writes);
  std::vector<Task<Done>> transfers;
  for (NodeFill& node : nodes) transfers.push_back(fill_node(client, node, deadline));
  co_await JoinAll(std::move(transfers));
  for (NodeFill& node : nodes) take_fills(node);
  for (PartWrite* write : writes) take_write(*write);
  std::vector<Status> results;
  for (PartWrite& write : all) results.push_back(std::move(write.result));
  co_return results;
}

Task<std::vector<Result<PutOutcome>>> run_end_put(ClientState& client,
                                                  std::span<PutWriter* const> writers,
                                                  Time deadline) {
  std::vector<Result<PutOutcome>> results(writers.size());
  std::vector<std::size_t> ending;
  PutEnd request;
  for (std::size_t i = 0; i < writers.size(); ++i) {
    State& state = writers[i]->state();
    if (state.outcome) {
      results[i] = *state.outcome;
      continue;
    }
    if (Status good = check_end(state); !good) {
      results[i] = std::unexpected(state.explain(std::move(good).error()));
      continue;
    }
    state.stage = State::Stage::at_work;
    if (client.config.checksum) ++client.counters.checksum_passes;
    request.items.push_back(
        {.key = state.key,
         .put_id = state.grant.put_id,
         .sealed = state.whole,
         .checksum = client.config.checksum ? std::optional(state.hash.value()) : std::nullopt});
    ending.push_back(i);
  }
  auto answers = co_await client.session.call(std::move(request), deadline);
  for (std::size_t i = 0; i < ending.size(); ++i) {
    State& state = writers[ending[i]]->state();
    Answer& answer = answers[i].answer;
    if (answer) {
      state.stage = State::Stage::ended;
      state.outcome =
          PutOutcome{.put_id = state.grant.put_id,
                     .replicas = static_cast<std::uint32_t>(std::popcount(state.whole))};
      results[ending[i]] = *state.outcome;
    } else {
      // Whether it was published is not known where the answer got lost: a revoke would be too late
      // then, and does no harm.
      state.stage = State::Stage::open;
      state.give_up();
      results[ending[i]] = std::unexpected(state.explain(std::move(answer).error()));
    }
  }
  co_return results;
}

}  // namespace larder
