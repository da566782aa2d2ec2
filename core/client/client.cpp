#include "core/client/client.h"

#include "core/client/client_state.h"
#include "core/client/rules.h"

namespace larder {

namespace {

constexpr std::size_t unwaited_max = 256;

template <class T>
Result<T> value_of(Answer& answer) {
  if (!answer) return std::unexpected(std::move(answer).error());
  if (T* value = std::get_if<T>(&*answer)) return std::move(*value);
  return failed(ErrorCode::rpc_fail, "the master's answer is of another kind than was asked for");
}

Task<Done> revoke(ClientState& client, OwnedRequest request, Time deadline) {
  co_await client.session.call(request.get().body, deadline);
  co_return Done{};
}

// One question to the master for each good key; `take` makes the caller's result of an answer.
template <class Body, class T, class Take>
Task<std::vector<Result<T>>> ask_of_keys(ClientState& client, Body body,
                                         std::span<const std::string_view> keys, Time deadline,
                                         Take take) {
  const Time began = client.now();
  const Status count = check_count(keys.size());
  std::vector<Result<T>> results(keys.size());
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Status good = count ? check_key(keys[i]) : count;
    if (!good) {
      results[i] = std::unexpected(explained(std::move(good).error(), keys[i], Duration(0)));
      continue;
    }
    asked.push_back(i);
    body.items.push_back({.key = keys[i]});
  }
  auto answers = co_await client.session.call(std::move(body), deadline);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Result<T> result = take(answers[i]);
    if (!result) {
      result = std::unexpected(
          explained(std::move(result).error(), keys[asked[i]], client.now() - began));
    }
    results[asked[i]] = std::move(result);
  }
  co_return results;
}

template <class T>
Task<Result<T>> ask_one(ClientState& client, RequestBody body, Time deadline) {
  auto answers = co_await client.session.call(std::move(body), deadline);
  co_return value_of<T>(answers.front().answer);
}

}  // namespace

ClientState::ClientState(ClientPorts the_ports, ClientConfig the_config)
    : ports(the_ports),
      config(std::move(the_config)),
      session(ports, config, counters),
      endpoints(config.timing.endpoint_retry) {}

Task<Status> learn_segments(ClientState& client, std::vector<SegmentId> ids, Time deadline) {
  std::erase_if(ids, [&](SegmentId id) { return client.segments.knows(id); });
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  if (ids.empty()) co_return Status();
  auto answers = co_await client.session.call(DescribeSegments{.items = std::move(ids)}, deadline);
  Status status;
  for (auto& [answer, asked, epoch] : answers) {
    Result<SegmentDescription> description = value_of<SegmentDescription>(answer);
    if (description) {
      client.segments.add(*std::move(description));
    } else if (status && description.error().code() != ErrorCode::segment_not_found) {
      status = std::unexpected(std::move(description).error());
    }
  }
  co_return status;
}

Task<std::vector<MasterSession::Answered>> look_up(ClientState& client, RequestBody body,
                                                   Time deadline) {
  const Time began = client.now();
  auto answers = co_await client.session.call(std::move(body), deadline);
  client.stages.add(ClientStage::lookup, client.now() - began);
  co_return answers;
}

Task<Done> move_bytes(ClientState& client, Transfer transfer, std::string_view endpoint,
                      MoveTimes times) {
  const Time began = client.now();
  client.endpoints.trying(endpoint, began);
  ++client.counters.transfers;
  client.stages.add(ClientStage::queue, began - times.told);
  const Status whole = co_await Moved(client.ports.transport, std::move(transfer), times.deadline);
  client.stages.add(ClientStage::transfer, client.now() - began);
  if (whole) {
    client.endpoints.succeeded(endpoint);
  } else {
    client.endpoints.failed(endpoint, client.now());
  }
  co_return Done{};
}

void revoke_unwaited(ClientState& client, PutRevoke body) {
  std::erase_if(client.unwaited, [](const Task<Done>& task) { return task.done(); });
  // Beyond the bound the put is dead anyway, once its time allowed has passed.
  if (client.unwaited.size() >= unwaited_max) return;
  OwnedRequest request(Request{.body = std::move(body)});
  client.unwaited.push_back(
      revoke(client, std::move(request), client.now() + client.config.timing.control_deadline));
  client.unwaited.back().start();
}

Status check_key(std::string_view key) {
  if (key.empty()) return failed(ErrorCode::invalid_key, "the key is empty");
  if (key.size() > key_bytes_max) {
    return failed(ErrorCode::invalid_key, "the key has " + std::to_string(key.size()) +
                                              " bytes; at most " + std::to_string(key_bytes_max));
  }
  return {};
}

Status check_count(std::size_t items) {
  if (items <= items_per_call_max) return {};
  return failed(ErrorCode::invalid_params, "the call has " + std::to_string(items) +
                                               " items; at most " +
                                               std::to_string(items_per_call_max));
}

Error explained(Error error, std::string_view key, Duration elapsed) {
  // Of a key that is too long, its begin is enough to find it.
  return std::move(error).with_key(key.substr(0, key_bytes_max)).with_elapsed(elapsed);
}

Client::Client(ClientPorts ports, ClientConfig config)
    : state_(std::make_unique<ClientState>(ports, std::move(config))) {}
Client::~Client() = default;

Task<std::vector<Result<PutOutcome>>> Client::put(std::span<const PutItem> items,
                                                  PutOptions options, Time deadline) {
  return run_put(*state_, items, options, deadline);
}

Task<std::vector<Result<PutWriter>>> Client::begin_put(std::span<const PutInParts> items,
                                                       PutOptions options, Time deadline) {
  return run_begin_put(*state_, items, options, deadline);
}

Task<std::vector<Status>> Client::write_parts(std::span<const PutPart> parts, Time deadline) {
  return run_write_parts(*state_, parts, deadline);
}

Task<std::vector<Result<PutOutcome>>> Client::end_put(std::span<PutWriter* const> writers,
                                                      Time deadline) {
  return run_end_put(*state_, writers, deadline);
}

Task<std::vector<Result<GetOutcome>>> Client::get(std::span<const GetItem> items, Time deadline,
                                                  GetOptions options) {
  return run_get(*state_, items, options, deadline);
}

Task<std::vector<Result<Existence>>> Client::exists(std::span<const std::string_view> keys,
                                                    Time deadline) {
  return ask_of_keys<Exists, Existence>(
      *state_, {}, keys, deadline, [&client = *state_](MasterSession::Answered& answered) {
        Result<Existence> existence = value_of<Existence>(answered.answer);
        if (existence) {
          const Time until = lease_deadline(answered.asked, existence->lease);
          existence->lease = std::max(until - client.now(), Duration(0));
        }
        return existence;
      });
}

Task<std::vector<Result<ObjectSummary>>> Client::lookup(std::span<const std::string_view> keys,
                                                        Time deadline) {
  return ask_of_keys<GetReplicaList, ObjectSummary>(
      *state_, {}, keys, deadline,
      [&client = *state_](MasterSession::Answered& answered) -> Result<ObjectSummary> {
        LARDER_TRY(const ReplicaList list, value_of<ReplicaList>(answered.answer));
        client.session.return_lease(
            answered.epoch,
            {.slot = list.lease.slot, .round = list.lease.round, .put_id = list.put_id});
        return ObjectSummary{.put_id = list.put_id,
                             .size = list.size,
                             .replicas = static_cast<std::uint32_t>(list.replicas.size())};
      });
}

Task<std::vector<Status>> Client::remove(std::span<const std::string_view> keys,
                                         RemoveOptions options, Time deadline) {
  return ask_of_keys<Remove, void>(*state_, {.force = options.force}, keys, deadline,
                                   [](MasterSession::Answered& answered) -> Status {
                                     LARDER_TRY(const Done done, value_of<Done>(answered.answer));
                                     static_cast<void>(done);
                                     return {};
                                   });
}

Task<Result<ObjectPage>> Client::list(ListQuery query, ListCursor cursor, std::uint32_t limit,
                                      Time deadline) {
  return ask_one<ObjectPage>(
      *state_,
      ListObjects{
          .prefix = query.prefix, .pattern = query.pattern, .cursor = cursor, .limit = limit},
      deadline);
}

Task<std::vector<Result<ObjectDetails>>> Client::describe(std::span<const std::string_view> keys,
                                                          Time deadline) {
  return ask_of_keys<DescribeObjects, ObjectDetails>(
      *state_, {}, keys, deadline,
      [](MasterSession::Answered& answered) { return value_of<ObjectDetails>(answered.answer); });
}

Task<Result<StatusReport>> Client::status(Time deadline) {
  return ask_one<StatusReport>(*state_, GetStatus{}, deadline);
}

Task<Result<QuiesceReport>> Client::quiesce(Time deadline) {
  return ask_one<QuiesceReport>(*state_, Quiesce{}, deadline);
}

Time Client::next_keep_alive() const { return state_->session.next_keep_alive(); }

Task<Status> Client::keep_alive(Time deadline) {
  auto answers =
      co_await state_->session.call(KeepAlive{.stages = state_->stages.take_unsent()}, deadline);
  Answer& answer = answers.front().answer;
  if (!answer) co_return std::unexpected(std::move(answer).error());
  co_return Status();
}

Task<Status> Client::close(Time deadline) { return state_->session.close(deadline); }

Time Client::operation_deadline(Bytes bytes) const {
  return state_->now() + Timing::allowed(bytes);
}

Time Client::control_deadline() const {
  return state_->now() + state_->config.timing.control_deadline;
}

const StageTimes& Client::stages() const { return state_->stages; }

const ClientCounters& Client::counters() const { return state_->counters; }

}  // namespace larder
