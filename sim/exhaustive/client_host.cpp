#include "sim/exhaustive/client_host.h"

#include <algorithm>
#include <coroutine>
#include <utility>

#include "core/base/assert.h"
#include "core/protocol/footer.h"
#include "core/protocol/identity.h"
#include "sim/cluster/buffers.h"
#include "sim/exhaustive/pool.h"
#include "sim/fabric/content.h"

namespace larder::sim {
namespace {

constexpr std::uint64_t operations_max = 256;  // of one client

}  // namespace

ClientHost::ClientHost(Pool& pool, std::uint32_t index) : pool_(pool), index_(index) {}
ClientHost::~ClientHost() { crash(); }

void ClientHost::start() {
  machine_ = std::make_unique<Client>(
      ClientPorts{.clock = *this, .timers = *this, .master = *this, .transport = *this},
      ClientConfig{.session = {.high = index_ + 1u, .low = 1},
                   .tenant = std::string(pool_.tenant()),
                   .name = name(),
                   .host = name(),
                   .timing = pool_.world().scenario.timing,
                   .guards = pool_.guards(),
                   .checksum = pool_.world().scenario.checksum,
                   .seed = index_});
}

void ClientHost::crash() {
  if (!alive()) return;
  const bool lost = busy();
  operation_ = {};
  machine_.reset();
  LARDER_ASSERT(calls_.empty() && timers_.empty(), "a coroutine left something behind");
  if (lost) pool_.history().operation_lost(operation_id_);
}

Time ClientHost::now() const { return pool_.now(); }

void ClientHost::tell(std::string what) const {
  if (pool_.tells()) pool_.tell(name(), std::move(what));
}

// By the number by which violations name it.
void ClientHost::tell_of(OperationId id, const std::string& what) const {
  tell("operation " + std::to_string(id.value) + ": " + what);
}

ClientHost::Given& ClientHost::note(Given::What what, std::uint16_t number) {
  given_.push_back({.what = what, .number = number, .at = now(), .answers = {}, .epoch = {}});
  return given_.back();
}

void ClientHost::turn(std::uint32_t master) {
  master_ = master;
  ask_all_again();
}

// ---- the application ----------------------------------------------------------------------------

void ClientHost::begin() {
  const OperationStep& step = program_[next_];
  operation_id_ = {index_ * operations_max + ++next_};
  note(Given::What::began, static_cast<std::uint16_t>(next_));
  if (step.operation == Operation::upsert) {
    pool_.history().upsert_begins(operation_id_);
  } else {
    pool_.history().begins(operation_id_);
  }
  tell_of(operation_id_, pool_.operation_text(step));
  operation_ = run(step, operation_id_);
  operation_.start();
}

Task<Done> ClientHost::run(const OperationStep& step, OperationId id) {
  const Time deadline = now() + (step.time > Duration(0) ? step.time : SmallWorld::endless);
  const std::string& key = step.items[0].key;
  const std::string_view keys[1]{key};
  if (step.operation == Operation::get) {
    co_await run_get(step, id, deadline);
  } else if (step.operation == Operation::exists) {
    const auto results = co_await machine_->exists(keys, deadline);
    tell_of(id,
            "exists " + key + ": " +
                (results[0] ? (results[0]->exists ? "yes" : "no") : results[0].error().message()));
    pool_.history().exists_ended(id, keys, results);
  } else if (step.operation == Operation::remove) {
    const auto results = co_await machine_->remove(keys, {.force = step.force}, deadline);
    tell_of(id, "removal of " + key + ": " + (results[0] ? "OK" : results[0].error().message()));
    pool_.history().remove_ended(id, keys, results);
  } else {
    co_await run_put(step, id, deadline);
  }
  pool_.touches_history();
  co_return Done{};
}

Task<Done> ClientHost::run_put(const OperationStep& step, OperationId id, Time deadline) {
  const OperationStep::Item& item = step.items[0];
  const WriteId write{id.value + 1};
  const PutWanted wanted{.key = item.key,
                         .size = item.size,
                         .replicas = item.replicas,
                         .group = item.group,
                         .parent = item.parent};
  pool_.history().put_began(id, {&wanted, 1}, write);
  std::vector<std::byte> bytes(item.size.value);
  write_content(bytes, write);
  const ConstSlice slice(bytes);
  const PutItem put{.key = item.key,
                    .value = {&slice, 1},
                    .replicas = item.replicas,
                    .group = item.group,
                    .parent = item.parent,
                    .soft_pin = item.soft_pin,
                    .time_to_live = item.time_to_live,
                    .hard_pin = item.hard_pin};
  const bool upsert = step.operation == Operation::upsert;
  const auto results = co_await machine_->put({&put, 1}, {.upsert = upsert}, deadline);
  if (pool_.tells()) {
    const auto& result = results[0];
    tell_of(id, "put of " + item.key + ": " +
                    (!result                  ? result.error().message()
                     : result->already_stored ? "it is there already"
                                              : "OK, " + pool_.put_name(result->put_id)));
  }
  const PutSeen seen{.key = item.key, .write = write, .size = item.size, .result = results[0]};
  pool_.history().put_ended(id, {&seen, 1});
  co_return Done{};
}

Task<Done> ClientHost::run_get(const OperationStep& step, OperationId id, Time deadline) {
  const OperationStep::Item& item = step.items[0];
  const Bytes room = item.size > 0_B ? item.size : pool_.room_for_a_value();
  std::vector<std::byte> bytes(room.value);
  write_content(bytes, BufferPool::scribble);
  const Slice slice(bytes);
  const GetItem get{.key = item.key, .into = {&slice, 1}, .range_offset = item.range_offset};
  const auto results = co_await machine_->get({&get, 1}, deadline);
  const Result<GetOutcome>& result = results[0];
  if (pool_.tells()) {
    tell_of(id, "get of " + item.key + ": " +
                    (result ? "OK, " + pool_.put_name(result->put_id) : result.error().message()));
  }
  const GetSeen seen{
      .key = item.key,
      .ranged = item.range_offset.has_value(),
      .range_offset = item.range_offset.value_or(0_B),
      .result = result,
      .bytes = result ? std::span(bytes).first(result->size.value) : std::span<std::byte>()};
  pool_.history().get_ended(id, {&seen, 1});
  co_return Done{};
}

// ---- the master ---------------------------------------------------------------------------------

class ClientHost::MasterCall {
 public:
  MasterCall(ClientHost& client, const larder::Request& request, Time until)
      : deadline(until), client_(client), number_(++client.last_call_) {
    client_.calls_[number_] = this;
    client_.requests_[number_] = {
        .request = std::make_shared<const OwnedRequest>(request), .copies = 1, .replies = {}};
  }
  MasterCall(const MasterCall&) = delete;
  MasterCall& operator=(const MasterCall&) = delete;
  ~MasterCall() { leave(); }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) { waiter_ = waiter; }
  Result<Reply> await_resume() { return std::move(*result_); }

  void end(Result<Reply> result) {
    result_ = std::move(result);
    leave();
    waiter_.resume();
  }

  const Time deadline;

 private:
  // What is on its way stays on its way.
  void leave() {
    client_.calls_.erase(number_);
    const auto request = client_.requests_.find(number_);
    if (request == client_.requests_.end()) return;
    request->second.replies.clear();
    if (request->second.copies == 0) client_.requests_.erase(request);
  }

  ClientHost& client_;
  const std::uint16_t number_;
  std::coroutine_handle<> waiter_;
  std::optional<Result<Reply>> result_;
};

Task<Result<Reply>> ClientHost::call(const larder::Request& request, Time deadline) {
  co_return co_await MasterCall(*this, request, deadline);
}

std::optional<Time> ClientHost::deadline_of(std::uint16_t call) const {
  const auto found = calls_.find(call);
  return found == calls_.end() ? std::nullopt : std::optional(found->second->deadline);
}

std::uint32_t ClientHost::take_request(std::uint16_t call, bool leave_it) {
  Request& request = requests_.at(call);
  if (!leave_it) --request.copies;
  const std::uint32_t times = ++request.served;
  if (request.copies == 0 && !waits_for(call)) requests_.erase(call);
  return times;
}

void ClientHost::add_reply(std::uint16_t call, Reply reply) {
  if (waits_for(call)) requests_.at(call).replies.push_back(std::move(reply));
}

void ClientHost::deliver_reply(std::uint16_t call) {
  Request& request = requests_.at(call);
  Reply reply = std::move(request.replies.front());
  request.replies.pop_front();
  Given& given = note(Given::What::reply, call);
  given.answers = reply.answers;
  given.epoch = reply.epoch;
  tell("has the reply to its " + std::string(request_name(request.request->get().body)));
  calls_.at(call)->end(std::move(reply));
}

void ClientHost::call_late(std::uint16_t call) {
  note(Given::What::no_reply, call);
  tell("waits for a reply no longer");
  calls_.at(call)->end(std::unexpected(Error(ErrorCode::rpc_timeout, "no answer in time")));
}

void ClientHost::ask_again(std::uint16_t call) {
  Request& request = requests_.at(call);
  request.replies.clear();
  if (waits_for(call)) {
    request.copies = 1;
  } else {
    requests_.erase(call);
  }
}

void ClientHost::ask_all_again() {
  for (const auto& [number, call] : calls_) {
    Request& request = requests_.at(number);
    if (request.copies == 0 && request.replies.empty()) request.copies = 1;
  }
}

// ---- timers -------------------------------------------------------------------------------------

void ClientHost::arm(Time deadline, Completion& completion) {
  timers_[++last_timer_] = {.completion = &completion, .deadline = deadline};
}

void ClientHost::disarm(Completion& completion) noexcept {
  std::erase_if(timers_, [&](const auto& each) { return each.second.completion == &completion; });
}

void ClientHost::fire(std::uint16_t timer) {
  const Timer fired = timers_.at(timer);
  timers_.erase(timer);
  note(Given::What::timer, timer);
  tell("has waited");
  fired.completion->complete({});
}

// ---- transfers ----------------------------------------------------------------------------------

TransportTraits ClientHost::traits() const {
  return {
      .name = "small", .transfer_bytes_max = 1_GiB, .one_sided = pool_.world().scenario.one_sided};
}

void ClientHost::submit(Transfer transfer, Time deadline, Completion& completion) {
  const SegmentDescription& segment = std::holds_alternative<Fill>(transfer)
                                          ? *std::get<Fill>(transfer).segment
                                          : *std::get<Read>(transfer).ranges.at(0).segment;
  const auto moving = std::make_shared<Moving>(std::move(transfer), deadline, completion);
  transfers_[++last_transfer_] = moving;
  moving->node = pool_.node_at(segment.endpoint);
  moving->node_life = segment.id.low;  // a segment lives as long as its incarnation
  moving->connection = {(std::uint64_t{index_ + 1} << 32) | last_transfer_};
  const Bytes length =
      moving->is_fill() ? moving->item.part_length : Pool::length_of(moving->read_range());
  const std::uint64_t chunk = pool_.world().scenario.chunk.value;
  moving->chunks = static_cast<std::uint32_t>((length.value + chunk - 1) / chunk);
  moving->one_sided = !moving->is_fill() && pool_.world().scenario.one_sided;
  if (moving->one_sided) moving->stage = Moving::Stage::moving;
}

void ClientHost::abandon(Completion& completion, std::shared_ptr<void>) noexcept {
  for (const auto& [number, moving] : transfers_) {
    if (moving->completion == &completion) moving->completion = nullptr;
  }
}

void ClientHost::deliver_answer(std::uint16_t number) {
  Moving& moving = *transfers_.at(number);
  Given& given = note(Given::What::moved, number);
  tell(moving.is_fill() ? "hears how its fill went" : "has what it reads");
  if (moving.is_fill()) {
    given.result = moving.result ? 0 : static_cast<std::uint64_t>(moving.result.error().code());
    *moving.fill_range().result = moving.result;
  } else {
    ReadRange& range = moving.read_range();
    if (moving.one_sided) read_footer(moving, given);
    given.result = moving.result ? checksum(std::as_const(range.into[0]))
                                 : static_cast<std::uint64_t>(moving.result.error().code());
    *range.result = moving.result;
    if (range.checksum) *range.checksum = moving.checksum;
  }
  finish(moving, {});
}

// Behind the payload, as it stands there now.
void ClientHost::read_footer(Moving& moving, Given& given) {
  const ReadRange& range = moving.read_range();
  moving.stage = Moving::Stage::over;
  if (range.footer == nullptr) return;
  std::ranges::copy(
      std::as_const(pool_.node(moving.node).memory())
          .bytes(range.extent_offset + footer_offset(range.payload_size), footer_size),
      range.footer->begin());
  given.footer = *range.footer;
}

void ClientHost::notice_broken(std::uint16_t number) {
  Moving& moving = *transfers_.at(number);
  note(Given::What::not_moved, number);
  tell("notices that the node has closed the connection");
  finish(moving, failed(ErrorCode::transfer_fail, "the node closed the connection"));
}

void ClientHost::transfer_late(std::uint16_t number) {
  Moving& moving = *transfers_.at(number);
  note(Given::What::not_moved, number);
  tell("gives a transfer up that takes too long");
  finish(moving, failed(ErrorCode::transfer_fail, "the transfer's deadline has passed"));
}

void ClientHost::finish(Moving& moving, Status status) {
  if (!status && moving.is_fill()) *moving.fill_range().result = status;
  if (!status && !moving.is_fill()) *moving.read_range().result = status;
  if (moving.one_sided) moving.stage = Moving::Stage::over;
  std::exchange(moving.completion, nullptr)->complete(std::move(status));
}

void ClientHost::forget_ended() {
  std::erase_if(transfers_, [](const auto& entry) {
    const Moving& each = *entry.second;
    const bool over_at_node = each.stage == Moving::Stage::over ||
                              each.stage == Moving::Stage::answered || each.one_sided;
    return !each.waits_at_client() && (over_at_node || each.node_gone);
  });
}

// ---- what it is ---------------------------------------------------------------------------------

void ClientHost::add_identity(Identity& identity) const {
  identity.add(alive()).add(next_).add(master_).add(busy());
  // What a client has seen that does nothing any more counts only for what is still on its way.
  const bool silent = finished() && requests_.empty() && transfers_.empty() && timers_.empty();
  for (const Given& given : silent ? std::vector<Given>() : given_) {
    identity.add(static_cast<std::uint64_t>(given.what)).add(given.number);
    identity.since(given.at, now()).add(given.epoch.value).add(given.result);
    for (const Answer& answer : given.answers) larder::add_identity(answer, identity);
    const auto footer = given.footer ? decode_footer(*given.footer) : std::nullopt;
    identity.add(footer.has_value());
    if (footer) identity.put(footer->put_id).add(footer->name).add(footer->length);
  }
  identity.add(requests_.size());
  for (const auto& [number, request] : requests_) {
    identity.add(number).add(request.copies).add(request.served).add(waits_for(number));
    identity.add(request.replies.size());
    for (const Reply& reply : request.replies) {
      identity.add(reply.epoch.value);
      for (const Answer& answer : reply.answers) larder::add_identity(answer, identity);
    }
  }
  for (const auto& [number, timer] : timers_) identity.add(number).until(timer.deadline, now());
  identity.add(transfers_.size());
  for (const auto& [number, moving] : transfers_) {
    identity.add(number);
    const IncarnationId of{.high = moving->node + 1u, .low = moving->node_life};
    moving->add_identity(identity, now(), IdHash{}(of));
  }
}

}  // namespace larder::sim
