#include <unistd.h>

#include "real/client/pool_plans.h"
#include "real/client/pool_state.h"

namespace larder {

PartedPut::PartedPut(std::unique_ptr<Held> held) : held_(std::move(held)) {}
PartedPut::PartedPut(PartedPut&&) noexcept = default;

PartedPut& PartedPut::operator=(PartedPut&& other) noexcept {
  std::swap(held_, other.held_);
  return *this;
}

PartedPut::~PartedPut() {
  if (!held_) return;
  // In a child of fork() it is the parent's, as the pool is.
  if (held_->pool->process != ::getpid()) {
    static_cast<void>(held_.release());
    return;
  }
  // The loop of a closed pool does not run this; then its writers are gone with it.
  held_->pool->loop.post(
      [state = held_->pool.get(), writer = held_->writer] { state->writers.erase(writer); });
}

bool PartedPut::already_stored() const { return held_->already_stored; }

namespace {

Task<Pool::BeginResults> begin(Pool::State& state, std::span<const PutInParts> items,
                               PutOptions options, Time until) {
  auto begun = co_await state.client->begin_put(items, options, until);
  Pool::BeginResults results;
  for (Result<PutWriter>& writer : begun) {
    if (!writer) {
      results.push_back(std::unexpected(std::move(writer).error()));
      continue;
    }
    const std::uint64_t number = ++state.last_writer;
    auto held = std::make_unique<PartedPut::Held>(state.shared_from_this(), number,
                                                  writer->already_stored());
    state.writers.emplace(number, *std::move(writer));
    results.push_back(PartedPut(std::move(held)));
  }
  co_return results;
}

// Null: of another pool.
PutWriter* writer_of(Pool::State& state, const PartedPut* put) {
  if (put == nullptr || put->held().pool.get() != &state) return nullptr;
  const auto found = state.writers.find(put->held().writer);
  return found == state.writers.end() ? nullptr : &found->second;
}

std::unexpected<Error> of_another_pool() {
  return failed(ErrorCode::invalid_params, "the put was not begun in this pool");
}

Task<Pool::WriteResults> write(Pool::State& state, std::span<const PutBytes> parts, Time until) {
  Pool::WriteResults results(parts.size());
  std::vector<PutPart> writes;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    PutWriter* const writer = writer_of(state, parts[i].put);
    if (writer == nullptr) {
      results[i] = of_another_pool();
      continue;
    }
    writes.push_back({.writer = writer, .bytes = parts[i].bytes});
    positions.push_back(i);
  }
  auto written = co_await state.client->write_parts(writes, until);
  for (std::size_t i = 0; i < positions.size(); ++i) results[positions[i]] = std::move(written[i]);
  co_return results;
}

Task<Pool::PutResults> end(Pool::State& state, std::span<const PartedPut* const> puts, Time until) {
  Pool::PutResults results(puts.size());
  std::vector<PutWriter*> ending;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < puts.size(); ++i) {
    PutWriter* const writer = writer_of(state, puts[i]);
    if (writer == nullptr) {
      results[i] = of_another_pool();
      continue;
    }
    ending.push_back(writer);
    positions.push_back(i);
  }
  auto ended = co_await state.client->end_put(ending, until);
  for (std::size_t i = 0; i < positions.size(); ++i) results[positions[i]] = std::move(ended[i]);
  co_return results;
}

}  // namespace

namespace real {

CallPlan<Pool::BeginResults> plan_begin_put(Pool::State& state, std::span<const PutInParts> items,
                                            PutOptions options, Duration timeout) {
  return {.run = [=, &state, until = state.deadline(timeout, std::nullopt)](
                     Client&) { return begin(state, items, options, until); },
          .all_failed =
              [=](const Error& error) {
                Pool::BeginResults results;
                for (const PutInParts& put : items) {
                  results.push_back(std::unexpected(Error(error).with_key(put.item.key)));
                }
                return results;
              },
          .changes_the_pool = true};
}

CallPlan<Pool::WriteResults> plan_write_parts(Pool::State& state, std::span<const PutBytes> parts,
                                              Duration timeout) {
  Bytes size;
  for (const PutBytes& part : parts) {
    for (const ConstSlice slice : part.bytes) size += {slice.size()};
  }
  return {.run = [=, &state, until = state.deadline(timeout, size)](
                     Client&) { return write(state, parts, until); },
          .all_failed =
              [=](const Error& error) {
                return Pool::WriteResults(parts.size(), std::unexpected(error));
              },
          .changes_the_pool = true};
}

CallPlan<Pool::PutResults> plan_end_put(Pool::State& state, std::span<const PartedPut* const> puts,
                                        Duration timeout) {
  return {
      .run = [=, &state, until = state.deadline(timeout, std::nullopt)](
                 Client&) { return end(state, puts, until); },
      .all_failed =
          [=](const Error& error) { return Pool::PutResults(puts.size(), std::unexpected(error)); },
      .changes_the_pool = true};
}

}  // namespace real
}  // namespace larder
