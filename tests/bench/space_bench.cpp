// What the space of a segment costs: an allocation in a full pool, and the restoring of extents.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/protocol/extent_shape.h"
#include "core/space/space.h"
#include "tests/bench/report.h"

namespace larder {
namespace {

// What one would write without much thought, as a reference: best fit by two ordered trees.
class Trees {
 public:
  explicit Trees(Bytes capacity) { add({.offset = 0_B, .length = capacity}); }

  using Handle = Range;
  std::optional<Handle> allocate(const ExtentShape& shape) {
    for (auto at = by_length_.lower_bound({shape.length, 0_B}); at != by_length_.end(); ++at) {
      const Range range = {.offset = at->second, .length = at->first};
      const Bytes start = range.offset.rounded_up(shape.alignment);
      const Bytes end = range.offset + range.length;
      if (start + shape.length > end) continue;
      by_length_.erase(at);
      by_offset_.erase(range.offset);
      add({.offset = range.offset, .length = start - range.offset});
      add({.offset = start + shape.length, .length = end - start - shape.length});
      return Range{.offset = start, .length = shape.length};
    }
    return std::nullopt;
  }

  Bytes largest_free() const { return by_length_.empty() ? 0_B : by_length_.rbegin()->first; }

  void free(Range range) {
    auto after = by_offset_.lower_bound(range.offset);
    if (after != by_offset_.end() && range.offset + range.length == after->first) {
      range.length += after->second;
      after = remove(after);
    }
    if (after != by_offset_.begin()) {
      if (const auto before = std::prev(after); before->first + before->second == range.offset) {
        range = {.offset = before->first, .length = before->second + range.length};
        remove(before);
      }
    }
    add(range);
  }

 private:
  using ByOffset = std::map<Bytes, Bytes>;

  void add(Range range) {
    if (range.length == 0_B) return;
    by_offset_.emplace(range.offset, range.length);
    by_length_.emplace(range.length, range.offset);
  }
  ByOffset::iterator remove(ByOffset::iterator at) {
    by_length_.erase({at->second, at->first});
    return by_offset_.erase(at);
  }

  ByOffset by_offset_;
  std::set<std::pair<Bytes, Bytes>> by_length_;
};

constexpr Bytes random_sizes = 0_B;

struct Payloads {
  explicit Payloads(Bytes size) : size_(size) {}

  ExtentShape next() {
    return extent_shape(size_ == random_sizes ? Bytes{256 + random_.below(1 << 20)} : size_);
  }
  // How much space one needs, on the average.
  Bytes mean() const {
    if (size_ == random_sizes) return 512_KiB;
    const ExtentShape shape = extent_shape(size_);
    return shape.length.rounded_up(shape.alignment);
  }

 private:
  Bytes size_;
  Random random_{1};
};

template <class T>
void shuffle(std::vector<T>& items) {
  Random random(2);
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

// `Space` behind the same face.
class Extents {
 public:
  using Handle = ExtentId;
  explicit Extents(Bytes capacity) : space(capacity) {}
  std::optional<Handle> allocate(const ExtentShape& shape) {
    const auto id = space.allocate(shape.length, shape.alignment);
    return id ? std::optional(*id) : std::nullopt;
  }
  Bytes largest_free() const { return space.largest_free(); }
  void free(Handle id) {
    if (!space.free(id)) std::abort();
  }

  Space space;
};

template <class Allocator>
std::vector<typename Allocator::Handle> fill(Allocator& allocator, Payloads& payloads) {
  std::vector<typename Allocator::Handle> held;
  while (const auto handle = allocator.allocate(payloads.next())) held.push_back(*handle);
  shuffle(held);
  return held;
}

// A full pool. One iteration frees extents, drawn at random, until the next one fits, and allocates
// it.
template <class Allocator>
void churn_in(benchmark::State& state, Allocator& allocator, Payloads& payloads,
              const bench::Reference& reference) {
  auto held = fill(allocator, payloads);
  Random random(3);
  for (auto _ : state) {
    const ExtentShape shape = payloads.next();
    while (allocator.largest_free() < shape.length + Bytes{shape.alignment - 64}) {
      std::swap(held[random.below(held.size())], held.back());
      allocator.free(held.back());
      held.pop_back();
    }
    held.push_back(allocator.allocate(shape).value());
  }
  bench::report_time_of_each(state, static_cast<double>(state.iterations()), reference);
}

Bytes payload_of(const benchmark::State& state) {
  return {static_cast<std::uint64_t>(state.range(1))};
}
Bytes capacity_of(const benchmark::State& state, const Payloads& payloads) {
  return payloads.mean() * static_cast<std::uint64_t>(state.range(0));
}

void churn(benchmark::State& state) {
  Payloads payloads(payload_of(state));
  Extents extents(capacity_of(state, payloads));
  churn_in(state, extents, payloads, {.name = "churn_of_trees"});
}
void churn_of_trees(benchmark::State& state) {
  Payloads payloads(payload_of(state));
  Trees trees(capacity_of(state, payloads));
  churn_in(state, trees, payloads, {});
}
// Extents, and the payload of each; 0 means random sizes up to 1 MiB.
void churn_arguments(benchmark::internal::Benchmark* churned) {
  churned->ArgNames({"extents", "payload"})
      ->ArgsProduct({{1'000, 1'000'000}, {4 << 10, 1 << 20, 0}});
}
BENCHMARK(churn)->Apply(churn_arguments);
BENCHMARK(churn_of_trees)->Apply(churn_arguments);

void metadata_of_an_extent(benchmark::State& state) {
  Payloads payloads(payload_of(state));
  Extents extents(capacity_of(state, payloads));
  for (auto _ : state) benchmark::DoNotOptimize(fill(extents, payloads));
  const auto bytes = static_cast<double>(extents.space.metadata().value);
  bench::report_value(state, "bytes", bytes / static_cast<double>(extents.space.extents()),
                      {.name = "the budget of all metadata of an object", .value = 256});
}
BENCHMARK(metadata_of_an_extent)
    ->ArgNames({"extents", "payload"})
    ->ArgsProduct({{1'000'000}, {4 << 10, 1 << 20, 0}})
    ->Iterations(1);

// A million extents, as a node reports them after a master's restart: nanoseconds for each.
void take(benchmark::State& state) {
  Payloads payloads(payload_of(state));
  Extents before(capacity_of(state, payloads));
  std::vector<Range> ranges;
  for (const ExtentId id : fill(before, payloads)) ranges.push_back(before.space.range(id));
  if (state.range(2) == 0) std::ranges::sort(ranges);
  for (auto _ : state) {
    Space space(before.space.capacity());
    for (const Range range : ranges) benchmark::DoNotOptimize(space.take(range));
    if (space.used() != before.space.used()) state.SkipWithError("not all were taken");
  }
  bench::report_time_of_each(
      state, static_cast<double>(state.iterations()) * static_cast<double>(ranges.size()),
      {.name = "a million in a second", .value = 1000});
}
BENCHMARK(take)
    ->ArgNames({"extents", "payload", "shuffled"})
    ->ArgsProduct({{1'000'000}, {4 << 10, 0}, {0, 1}});

}  // namespace
}  // namespace larder
