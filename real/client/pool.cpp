#include "real/client/pool.h"

#include <unistd.h>

#include "real/client/pool_plans.h"
#include "real/client/pool_state.h"
#include "real/client/pool_task.h"

namespace larder {
namespace {

using real::CallPlan;

// The same error for each item, with its key.
template <class T>
std::vector<Result<T>> each_failed(std::span<const std::string_view> keys, const Error& error) {
  std::vector<Result<T>> results;
  for (const std::string_view key : keys) {
    results.push_back(std::unexpected(Error(error).with_key(key)));
  }
  return results;
}
template <class T, class Item>
std::vector<Result<T>> each_failed(std::span<const Item> items, const Error& error) {
  std::vector<Result<T>> results;
  for (const Item& item : items) {
    results.push_back(std::unexpected(Error(error).with_key(item.key)));
  }
  return results;
}

CallPlan<Pool::PutResults> plan_put(const Pool::State& state, std::span<const PutItem> items,
                                    PutOptions options, Duration timeout) {
  Bytes size;
  for (const PutItem& item : items) {
    for (const ConstSlice slice : item.value) size += {slice.size()};
  }
  return {.run = [=, until = state.deadline(timeout, size)](
                     Client& client) { return client.put(items, options, until); },
          .all_failed = [=](const Error& error) { return each_failed<PutOutcome>(items, error); },
          .changes_the_pool = true};
}

CallPlan<Pool::GetResults> plan_get(const Pool::State& state, std::span<const GetItem> items,
                                    Duration timeout, GetOptions options) {
  Bytes size;
  for (const GetItem& item : items) {
    for (const Slice slice : item.into) size += {slice.size()};
  }
  return {.run = [=, until = state.deadline(timeout, size)](
                     Client& client) { return client.get(items, until, options); },
          .all_failed = [=](const Error& error) { return each_failed<GetOutcome>(items, error); }};
}

CallPlan<Pool::ExistsResults> plan_exists(const Pool::State& state,
                                          std::span<const std::string_view> keys,
                                          Duration timeout) {
  return {.run = [=, until = state.deadline(timeout, std::nullopt)](
                     Client& client) { return client.exists(keys, until); },
          .all_failed = [=](const Error& error) { return each_failed<Existence>(keys, error); }};
}

CallPlan<Pool::LookupResults> plan_lookup(const Pool::State& state,
                                          std::span<const std::string_view> keys,
                                          Duration timeout) {
  return {
      .run = [=, until = state.deadline(timeout, std::nullopt)](
                 Client& client) { return client.lookup(keys, until); },
      .all_failed = [=](const Error& error) { return each_failed<ObjectSummary>(keys, error); }};
}

CallPlan<Pool::RemoveResults> plan_remove(const Pool::State& state,
                                          std::span<const std::string_view> keys,
                                          RemoveOptions options, Duration timeout) {
  return {.run = [=, until = state.deadline(timeout, std::nullopt)](
                     Client& client) { return client.remove(keys, options, until); },
          .all_failed = [=](const Error& error) { return each_failed<void>(keys, error); },
          .changes_the_pool = true};
}

CallPlan<Pool::DescribeResults> plan_describe(const Pool::State& state,
                                              std::span<const std::string_view> keys,
                                              Duration timeout) {
  return {
      .run = [=, until = state.deadline(timeout, std::nullopt)](
                 Client& client) { return client.describe(keys, until); },
      .all_failed = [=](const Error& error) { return each_failed<ObjectDetails>(keys, error); }};
}

CallPlan<Result<ObjectPage>> plan_list(const Pool::State& state, ListQuery query, ListCursor cursor,
                                       std::uint32_t limit, Duration timeout) {
  return {.run = [=, until = state.deadline(timeout, std::nullopt)](
                     Client& client) { return client.list(query, cursor, limit, until); },
          .all_failed = [](const Error& error) -> Result<ObjectPage> {
            return std::unexpected(error);
          }};
}

CallPlan<Pool::StatusResult> plan_status(const Pool::State& state, Duration timeout) {
  return {.run = [until = state.deadline(timeout, std::nullopt)](
                     Client& client) { return client.status(until); },
          .all_failed = [](const Error& error) -> Pool::StatusResult {
            return std::unexpected(error);
          }};
}

}  // namespace

Pool& Pool::operator=(Pool&& other) noexcept {
  if (this != &other) {
    if (state_) state_->close();
    state_ = std::move(other.state_);
  }
  return *this;
}

Pool::~Pool() {
  if (!state_) return;
  // What a child of fork() has of it belongs to the parent: its sockets, and its thread, which is
  // not here. Destroying it would disturb the parent, so it stays.
  if (state_->process != ::getpid()) {
    static_cast<void>(new Shared(std::move(state_)));
    return;
  }
  state_->close();
}

void Pool::close() {
  if (state_->process == ::getpid()) state_->close();
}

// ---- synchronous: the asynchronous call, waited for --------------------------------------------

Pool::PutResults Pool::put(std::span<const PutItem> items, PutOptions options, Duration timeout) {
  return state_->wait(plan_put(*state_, items, options, timeout));
}

Pool::BeginResults Pool::begin_put(std::span<const PutInParts> items, PutOptions options,
                                   Duration timeout) {
  return state_->wait(real::plan_begin_put(*state_, items, options, timeout));
}

Pool::WriteResults Pool::write_parts(std::span<const PutBytes> parts, Duration timeout) {
  return state_->wait(real::plan_write_parts(*state_, parts, timeout));
}

Pool::PutResults Pool::end_put(std::span<const PartedPut* const> puts, Duration timeout) {
  return state_->wait(real::plan_end_put(*state_, puts, timeout));
}

Pool::GetResults Pool::get(std::span<const GetItem> items, Duration timeout, GetOptions options) {
  return state_->wait(plan_get(*state_, items, timeout, options));
}

Pool::ExistsResults Pool::exists(std::span<const std::string_view> keys, Duration timeout) {
  return state_->wait(plan_exists(*state_, keys, timeout));
}

Pool::LookupResults Pool::lookup(std::span<const std::string_view> keys, Duration timeout) {
  return state_->wait(plan_lookup(*state_, keys, timeout));
}

Pool::RemoveResults Pool::remove(std::span<const std::string_view> keys, RemoveOptions options,
                                 Duration timeout) {
  return state_->wait(plan_remove(*state_, keys, options, timeout));
}

Pool::DescribeResults Pool::describe(std::span<const std::string_view> keys, Duration timeout) {
  return state_->wait(plan_describe(*state_, keys, timeout));
}

Result<ObjectPage> Pool::list(ListQuery query, ListCursor cursor, std::uint32_t limit,
                              Duration timeout) {
  return state_->wait(plan_list(*state_, query, cursor, limit, timeout));
}

Pool::StatusResult Pool::status(Duration timeout) {
  return state_->wait(plan_status(*state_, timeout));
}

Result<PutOutcome> Pool::put(std::string_view key, ConstSlice value, PutOptions options) {
  const PutItem item{.key = key, .value = {&value, 1}};
  return put({&item, 1}, options).front();
}

// The size first, then the bytes; again if the value was replaced by a larger one in between.
Result<std::vector<std::byte>> Pool::get(std::string_view key) {
  constexpr int tries_max = 4;
  for (int tries = 1;; ++tries) {
    const LookupResults found = lookup({&key, 1});
    LARDER_TRY(const ObjectSummary summary, found.front());
    std::vector<std::byte> value(summary.size.value);
    const Slice slice(value);
    const GetItem item{.key = key, .into = {&slice, 1}};
    const GetResults read = get({&item, 1}, {}, {.looked_up = true});
    if (read.front()) {
      value.resize(read.front()->size.value);
      return value;
    }
    if (read.front().error().code() != ErrorCode::buffer_overflow || tries == tries_max) {
      return std::unexpected(read.front().error());
    }
  }
}

// ---- asynchronous -------------------------------------------------------------------------------

void Pool::start_put(const Shared& state, Handler<PutResults> handler,
                     std::span<const PutItem> items, PutOptions options, Duration timeout) {
  state->start(std::move(handler), plan_put(*state, items, options, timeout));
}

void Pool::start_begin_put(const Shared& state, Handler<BeginResults> handler,
                           std::span<const PutInParts> items, PutOptions options,
                           Duration timeout) {
  state->start(std::move(handler), real::plan_begin_put(*state, items, options, timeout));
}

void Pool::start_write_parts(const Shared& state, Handler<WriteResults> handler,
                             std::span<const PutBytes> parts, Duration timeout) {
  state->start(std::move(handler), real::plan_write_parts(*state, parts, timeout));
}

void Pool::start_end_put(const Shared& state, Handler<PutResults> handler,
                         std::span<const PartedPut* const> puts, Duration timeout) {
  state->start(std::move(handler), real::plan_end_put(*state, puts, timeout));
}

void Pool::start_get(const Shared& state, Handler<GetResults> handler,
                     std::span<const GetItem> items, Duration timeout, GetOptions options) {
  state->start(std::move(handler), plan_get(*state, items, timeout, options));
}

void Pool::start_exists(const Shared& state, Handler<ExistsResults> handler,
                        std::span<const std::string_view> keys, Duration timeout) {
  state->start(std::move(handler), plan_exists(*state, keys, timeout));
}

void Pool::start_lookup(const Shared& state, Handler<LookupResults> handler,
                        std::span<const std::string_view> keys, Duration timeout) {
  state->start(std::move(handler), plan_lookup(*state, keys, timeout));
}

void Pool::start_remove(const Shared& state, Handler<RemoveResults> handler,
                        std::span<const std::string_view> keys, RemoveOptions options,
                        Duration timeout) {
  state->start(std::move(handler), plan_remove(*state, keys, options, timeout));
}

void Pool::start_describe(const Shared& state, Handler<DescribeResults> handler,
                          std::span<const std::string_view> keys, Duration timeout) {
  state->start(std::move(handler), plan_describe(*state, keys, timeout));
}

void Pool::start_list(const Shared& state, Handler<Result<ObjectPage>> handler, ListQuery query,
                      ListCursor cursor, std::uint32_t limit, Duration timeout) {
  state->start(std::move(handler), plan_list(*state, query, cursor, limit, timeout));
}

void Pool::start_status(const Shared& state, Handler<StatusResult> handler, Duration timeout) {
  state->start(std::move(handler), plan_status(*state, timeout));
}

namespace real {

Status run_on(Pool& pool, std::move_only_function<Task<Status>(Client&, const Clock&)> task) {
  Pool::State& state = *pool.state();
  return state.wait<Status>(
      {.run = [&](Client& client) { return task(client, state.loop.clock()); },
       .all_failed = [](const Error& error) -> Status { return std::unexpected(error); }});
}

}  // namespace real
}  // namespace larder
