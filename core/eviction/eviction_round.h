#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/eviction/eviction_order.h"

namespace larder {

// Why a unit stayed although its turn had come.
enum class SkipReason : std::uint8_t {
  leased,
  exists_lease,  // held by the short lease of Exists alone; it is wanted from then on
  pinned,
  busy,  // being read by a task: a copy, a move, a demotion
  not_complete,
  quarantine,  // too much of its segment awaits retirement, which is expected soon: the round waits
  sick,        // the same, and the node does not answer: others go instead
  last,        // nothing else is left, and nobody waits for its space
};
inline constexpr std::size_t skip_reasons = 8;
std::string_view to_string(SkipReason reason);

struct EvictionCounts {
  std::uint64_t units = 0;
  std::uint64_t objects = 0;
  std::uint64_t groups = 0;
  Bytes bytes;
  std::array<std::uint64_t, skip_reasons> skipped{};

  std::uint64_t& skipped_for(SkipReason reason) { return skipped[std::size_t(reason)]; }
  EvictionCounts& operator+=(const EvictionCounts& other);
  bool operator==(const EvictionCounts&) const = default;
};

// The catalog, as a round sees it.
class Evictor {
 public:
  struct Taken {
    std::uint32_t objects = 1;
    bool group = false;
  };
  virtual ~Evictor() = default;
  // Why the unit may not go now; nothing if it may.
  virtual std::optional<SkipReason> held_by(const Evictable& unit) = 0;
  // Evicts it: must erase it from the order, and may destroy it.
  virtual Taken evict(Evictable& unit) = 0;
};

// One walk over the order, in steps of bounded work. A round looks at each unit at most once, so
// its cost is in proportion to what it frees and what it finds held; never a scan of the catalog.
// Between steps the order may change in any way.
class EvictionRound {
 public:
  enum class Progress {
    enough,     // the goal is met, with wanted units counted: those are free within a short lease
    more,       // the looks are used up: take another step
    blocked,    // the next victim is held by its segment's quarantine: go on when that has shrunk
    exhausted,  // every unit has been seen and too little could go; counts() says why
  };
  struct Step {
    Bytes goal;                     // what is to be freed from now on
    std::uint32_t looks_max = 512;  // units to look at in this step
  };

  // Ends the round before, of which no step may follow.
  explicit EvictionRound(EvictionOrder& order);
  Progress step(EvictionOrder& order, Step step, Evictor& evictor);
  const EvictionCounts& counts() const { return counts_; }

 private:
  // The unit whose turn it is; nullptr if this round has seen all, or has no looks left.
  static Evictable* next(EvictionOrder& order, bool wanted_waits, std::uint32_t& looks);
  void evict(EvictionOrder& order, Evictable& unit, Evictor& evictor);

  EvictionCounts counts_;
};

}  // namespace larder
