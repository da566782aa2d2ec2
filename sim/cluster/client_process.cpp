#include "sim/cluster/client_process.h"

#include <utility>

#include "core/base/assert.h"
#include "sim/cluster/labels.h"

namespace larder::sim {

ClientProcess::ClientProcess(Kernel& kernel, Host& host, MasterProcess& master,
                             const ClientSettings& settings, const ClientSurroundings& surroundings,
                             Random random)
    : Process(kernel, host, surroundings.observer),
      settings_(settings),
      surroundings_(surroundings),
      master_(&master),
      random_(random),
      buffers_(settings.transport.content),
      keep_alive_(*this, keep_alive_label, [this] { keep_session_alive(); }) {}

ClientProcess::~ClientProcess() { crash(); }

void ClientProcess::start() {
  begin_life();
  ClientConfig config = settings_.config;
  config.session = {.high = random_.next(), .low = random_.next()};
  config.seed = random_.next();
  machine_ = std::make_unique<Client>(
      ClientPorts{.clock = *this, .timers = *this, .master = *this, .transport = *this},
      std::move(config));
}

void ClientProcess::crash() {
  if (!alive()) return;
  end_life();
  keep_alive_.disarm();
  keeping_alive_ = {};
  for (auto& [id, task] : std::exchange(operations_, {})) {
    // One that has ended, and only waits to be cleared away, is not lost.
    if (!task.done()) surroundings_.observer.operation_lost(id);
  }
  machine_.reset();
  LARDER_ASSERT(exchanges_.empty() && timers_.empty() && calls_.empty(),
                "a coroutine left something behind");
}

// ---- the application ----------------------------------------------------------------------------

OperationId ClientProcess::put(std::vector<PutWanted> items, bool upsert, Duration time,
                               std::uint32_t parts) {
  Bytes bytes;
  for (const PutWanted& item : items) bytes += item.size * item.replicas;
  const OperationId id = next_operation();
  return begin(id, run_put(id, std::move(items), upsert, parts, deadline_of(time, bytes)));
}

OperationId ClientProcess::get(std::vector<GetWanted> items, Duration time) {
  Bytes bytes;
  for (const GetWanted& item : items) bytes += item.room;
  const OperationId id = next_operation();
  return begin(id, run_get(id, std::move(items), deadline_of(time, bytes)));
}

OperationId ClientProcess::exists(std::vector<std::string> keys, Duration time) {
  const OperationId id = next_operation();
  return begin(id, run_exists(id, std::move(keys), deadline_of(time, {})));
}

OperationId ClientProcess::remove(std::vector<std::string> keys, bool force, Duration time) {
  const OperationId id = next_operation();
  return begin(id, run_remove(id, std::move(keys), force, deadline_of(time, {})));
}

OperationId ClientProcess::run(Task<Done> task) {
  LARDER_ASSERT(alive());
  const OperationId id = next_operation();
  return begin(id, run_to_end(id, std::move(task)));
}

Time ClientProcess::deadline_of(Duration time, Bytes bytes) const {
  LARDER_ASSERT(alive());
  return time > Duration(0) ? now() + time : machine_->operation_deadline(bytes);
}

OperationId ClientProcess::begin(OperationId id, Task<Done> task) {
  operations_.emplace(id, std::move(task));
  // Not from inside this call, so that nobody hears of an operation whose id he does not know yet.
  kernel().post(kernel().now(), begin_label, [this, id] {
    enter([this, id] {
      const auto operation = operations_.find(id);
      if (operation != operations_.end()) operation->second.start();
    });
  });
  return id;
}

void ClientProcess::ended(OperationId id) {
  check_buffers();
  if (!keep_alive_.armed()) keep_alive_.arm_in(settings_.config.timing.heartbeat);
  // The coroutine is running, so it is cleared away later.
  kernel().post(kernel().now(), reap_label, [this, id] { operations_.erase(id); });
}

void ClientProcess::check_buffers() {
  if (buffers_.late_writes() == late_writes_told_) return;
  late_writes_told_ = buffers_.late_writes();
  surroundings_.observer.violation("a buffer changed after its call had returned");
}

Task<Done> ClientProcess::run_to_end(OperationId id, Task<Done> task) {
  (void)co_await std::move(task);
  ended(id);
  co_return Done{};
}

// Each part of all values in one call; the results of those that fell out on the way are kept.
Task<std::vector<Result<PutOutcome>>> ClientProcess::put_in_parts(
    std::span<const PutItem> items, std::span<const ConstSlice> values, bool upsert,
    std::uint32_t parts, Time deadline) {
  std::vector<PutInParts> wanted;
  for (std::size_t i = 0; i < items.size(); ++i) {
    wanted.push_back({.item = items[i], .size = {values[i].size()}});
    wanted.back().item.value = {};
  }
  auto writers = co_await machine_->begin_put(wanted, {.upsert = upsert}, deadline);
  std::vector<Result<PutOutcome>> results(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!writers[i]) results[i] = std::unexpected(writers[i].error());
  }
  for (std::uint32_t part = 0; part < parts; ++part) {
    std::vector<ConstSlice> slices(items.size());
    std::vector<PutPart> writes;
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!results[i] || writers[i]->already_stored()) continue;
      const std::size_t begin = values[i].size() * part / parts;
      const std::size_t end = values[i].size() * (part + 1) / parts;
      if (begin == end) continue;
      slices[i] = values[i].subspan(begin, end - begin);
      writes.push_back({.writer = &*writers[i], .bytes = {&slices[i], 1}});
      positions.push_back(i);
    }
    const auto written = co_await machine_->write_parts(writes, deadline);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (!written[i]) results[positions[i]] = std::unexpected(written[i].error());
    }
  }
  std::vector<PutWriter*> ending;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!results[i]) continue;
    ending.push_back(&*writers[i]);
    positions.push_back(i);
  }
  auto outcomes = co_await machine_->end_put(ending, deadline);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    results[positions[i]] = std::move(outcomes[i]);
  }
  co_return results;
}

Task<Done> ClientProcess::run_put(OperationId id, std::vector<PutWanted> items, bool upsert,
                                  std::uint32_t parts, Time deadline) {
  const std::uint64_t first_write = surroundings_.last_write + 1;
  surroundings_.last_write += items.size();
  surroundings_.observer.put_began(id, items, WriteId{first_write});
  std::vector<BufferPool::Buffer> buffers;
  std::vector<std::vector<ConstSlice>> slices(items.size());
  std::vector<PutItem> wanted;
  for (std::size_t i = 0; i < items.size(); ++i) {
    buffers.emplace_back(buffers_, items[i].size);
    if (settings_.transport.content) {
      write_content(buffers[i].bytes(), WriteId{first_write + i});
    }
    for (const Slice slice : buffers[i].slices(random_)) slices[i].push_back(slice);
    wanted.push_back({.key = items[i].key,
                      .value = slices[i],
                      .replicas = items[i].replicas,
                      .group = items[i].group,
                      .parent = items[i].parent,
                      .soft_pin = items[i].soft_pin,
                      .time_to_live = items[i].time_to_live,
                      .hard_pin = items[i].hard_pin});
  }
  std::vector<Result<PutOutcome>> results;
  if (parts > 1) {
    std::vector<ConstSlice> values;
    for (BufferPool::Buffer& buffer : buffers) values.push_back(buffer.bytes());
    results = co_await put_in_parts(wanted, values, upsert, parts, deadline);
  } else {
    results = co_await machine_->put(wanted, {.upsert = upsert}, deadline);
  }
  std::vector<PutSeen> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    seen.push_back({.key = items[i].key,
                    .write = WriteId{first_write + i},
                    .size = items[i].size,
                    .result = results[i]});
    kernel().note(results[i] ? results[i]->put_id.counter : 0);
  }
  surroundings_.observer.put_ended(id, seen);
  ended(id);
  co_return Done{};
}

Task<Done> ClientProcess::run_get(OperationId id, std::vector<GetWanted> items, Time deadline) {
  std::vector<BufferPool::Buffer> buffers;
  std::vector<std::vector<Slice>> slices;
  std::vector<GetItem> wanted;
  for (const GetWanted& item : items) {
    buffers.emplace_back(buffers_, item.room);
    slices.push_back(buffers.back().slices(random_));
    wanted.push_back({.key = item.key, .into = slices.back(), .range_offset = item.range_offset});
  }
  const auto results = co_await machine_->get(wanted, deadline);
  std::vector<GetSeen> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    seen.push_back({.key = items[i].key,
                    .ranged = items[i].range_offset.has_value(),
                    .range_offset = items[i].range_offset.value_or(0_B),
                    .result = results[i]});
    if (results[i] && settings_.transport.content) {
      seen.back().bytes = buffers[i].bytes().first(results[i]->size.value);
    }
    kernel().note(results[i] ? results[i]->put_id.counter : 0);
  }
  surroundings_.observer.get_ended(id, seen);
  ended(id);
  co_return Done{};
}

Task<Done> ClientProcess::run_exists(OperationId id, std::vector<std::string> keys, Time deadline) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto results = co_await machine_->exists(views, deadline);
  for (const Result<Existence>& result : results) kernel().note(result && result->exists);
  surroundings_.observer.exists_ended(id, views, results);
  ended(id);
  co_return Done{};
}

Task<Done> ClientProcess::run_remove(OperationId id, std::vector<std::string> keys, bool force,
                                     Time deadline) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto results = co_await machine_->remove(views, {.force = force}, deadline);
  for (const Status& result : results) kernel().note(result.has_value());
  surroundings_.observer.remove_ended(id, views, results);
  ended(id);
  co_return Done{};
}

// ---- the session --------------------------------------------------------------------------------

void ClientProcess::keep_session_alive() {
  const Time due = machine_->next_keep_alive();
  if (keeping_alive_ && !keeping_alive_.done()) {
    keep_alive_.arm_in(settings_.config.timing.heartbeat);
  } else if (now() < due) {
    keep_alive_.arm(due);
  } else {
    keeping_alive_ = run_keep_alive();
    keeping_alive_.start();
    keep_alive_.arm_in(settings_.config.timing.heartbeat);
  }
}

Task<Done> ClientProcess::run_keep_alive() {
  (void)co_await machine_->keep_alive(machine_->control_deadline());
  co_return Done{};
}

}  // namespace larder::sim
