#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace larder {

// 128 bits that name one thing for ever. `Tag` keeps ids of different things apart; all zero means
// "none". Who makes an id draws it from a seeded source of its driver, never core itself.
template <class Tag>
struct Id {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  constexpr auto operator<=>(const Id&) const = default;
  constexpr explicit operator bool() const { return (high | low) != 0; }
};

struct SegmentTag {};
struct IncarnationTag {};
struct SessionTag {};
struct InstanceTag {};

using SegmentId = Id<SegmentTag>;  // one contribution of memory by one incarnation of a node
using IncarnationId = Id<IncarnationTag>;  // one life of a node
using SessionId = Id<SessionTag>;          // one client, across its connections
using InstanceId = Id<InstanceTag>;  // one start of a master: tells two masters of one epoch apart

// Orders masters: the later one has the higher epoch. Zero means "no master yet".
struct Epoch {
  std::uint64_t value = 0;
  constexpr auto operator<=>(const Epoch&) const = default;
};

// Names one put for ever; ids order the puts of a key, across masters too. Zero means "none".
struct PutId {
  Epoch epoch;
  std::uint64_t counter = 0;
  constexpr auto operator<=>(const PutId&) const = default;
  constexpr explicit operator bool() const { return epoch.value != 0 || counter != 0; }
  // The id `index` places after this one, in the list of one PutStart call.
  constexpr PutId plus(std::uint64_t index) const { return {epoch, counter + index}; }
};

// For people: 32 hexadecimal digits, and "epoch-counter".
std::string id_text(std::uint64_t high, std::uint64_t low);
template <class Tag>
std::string to_string(const Id<Tag>& id) {
  return id_text(id.high, id.low);
}
std::string to_string(PutId id);

// For hash tables; ids are random enough to be their own hash.
struct IdHash {
  using is_avalanching = void;
  template <class Tag>
  std::size_t operator()(const Id<Tag>& id) const {
    return id.high ^ (id.low * 0x9e3779b97f4a7c15u);
  }
  std::size_t operator()(PutId id) const {
    std::uint64_t x = (id.epoch.value ^ (id.counter * 0x9e3779b97f4a7c15u));
    x ^= x >> 32;
    return x * 0xd6e8feb86659fd93u;
  }
};

}  // namespace larder
