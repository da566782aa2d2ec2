#include "core/eviction/departed.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace larder {
namespace {

constexpr int splits_max = 2;  // in one call

}  // namespace

void Departed::Bucket::push(Entry entry) {
  if (size == entries_max) erase(0);
  names[size] = entry.name;
  uses[size] = entry.uses;
  ++size;
}

void Departed::Bucket::erase(std::size_t index) {
  std::shift_left(names.begin() + static_cast<std::ptrdiff_t>(index), names.end(), 1);
  std::shift_left(uses.begin() + static_cast<std::ptrdiff_t>(index), uses.end(), 1);
  --size;
}

void Departed::remember(std::uint64_t name, std::uint8_t uses, std::size_t units) {
  for (int i = 0; i < splits_max && buckets_.size() * entries_max < units; ++i) split();
  const auto cut = static_cast<std::uint32_t>(name);
  buckets_[bucket_of(cut)].push({.name = cut, .uses = uses});
}

std::optional<std::uint8_t> Departed::take(std::uint64_t name) {
  const auto cut = static_cast<std::uint32_t>(name);
  Bucket& bucket = buckets_[bucket_of(cut)];
  for (std::size_t i = 0; i < bucket.size; ++i) {
    if (bucket.names[i] != cut) continue;
    const std::uint8_t uses = bucket.uses[i];
    bucket.erase(i);
    return uses;
  }
  return std::nullopt;
}

// The buckets behind the largest power of two are the upper halves of the first ones.
std::size_t Departed::bucket_of(std::uint32_t name) const {
  const std::size_t half = std::bit_floor(buckets_.size());
  const std::size_t bucket = name & (2 * half - 1);
  return bucket < buckets_.size() ? bucket : bucket - half;
}

void Departed::split() {
  Bucket& divided = buckets_[buckets_.size() - std::bit_floor(buckets_.size())];
  const Bucket before = std::exchange(divided, {});
  buckets_.emplace_back();
  for (std::size_t i = 0; i < before.size; ++i) {
    buckets_[bucket_of(before.names[i])].push(before.at(i));
  }
}

void Departed::add_identity(Identity& identity) const {
  for (const Bucket& bucket : buckets_) {
    identity.add(bucket.size);
    for (std::size_t i = 0; i < bucket.size; ++i) {
      identity.add(bucket.names[i]).add(bucket.uses[i]);
    }
  }
}

}  // namespace larder
