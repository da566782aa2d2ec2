#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/archive.h"
#include "core/base/error.h"
#include "core/eviction/evictable.h"

namespace larder {

// How a state that is archived names its units. An unknown number is nullptr.
class UnitNames {
 public:
  static constexpr std::uint32_t none = 0xffffffff;
  virtual std::uint32_t name(const Evictable& unit) const = 0;
  virtual Evictable* find(std::uint32_t name) const = 0;

 protected:
  ~UnitNames() = default;
};

// An order in which units leave the cache. It decides what goes next and nothing else: whether a
// unit may go now (leases, tasks) is the caller's knowledge, which it tells by defer().
//
// Confined to one thread. It owns no unit: each must be erased before it is destroyed or moved,
// except that a policy may be destroyed with units still in it (it touches none then). It is a
// function of the calls alone, so the same calls give the same victims on every machine. No call
// fails; a unit that is in a policy already, or not in it, where the opposite is asked for is a
// broken invariant of the caller. Costs: O(1), leaf-first O(log n); nothing is allocated per call
// (leaf-first: 16 bytes for each unit that has children, amortized).
class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;

  // From now on `unit` can be evicted; it counts as the most recently used one.
  // `parent` is the unit that this one extends, if that is in this policy now, else nullptr.
  // Policies without prefixes ignore it. Rules for those with: a child inserted without a parent is
  // a root; a parent that is erased leaves its children behind as roots, and no link to it stays;
  // inserted again, it does not adopt them.
  virtual void insert(Evictable& unit, const Evictable* parent) = 0;
  // It was looked up to be read. (Not for existence checks: polling must not become the policy.)
  virtual void access(Evictable& unit) = 0;
  // It can no longer be evicted: it was evicted, removed, pinned, or is no longer complete.
  virtual void erase(Evictable& unit) = 0;

  // The unit to evict next, nullptr if there is none. It stays until it is erased.
  virtual Evictable* victim() const = 0;
  // `unit` may not go now: to the back of the order, with a new stamp, as if used now. While a unit
  // with a stamp of at most S can be a victim, victim() answers none that was deferred later than
  // S; so one walk sees no unit twice and knows when it has seen all.
  virtual void defer(Evictable& unit) = 0;
  // The newest stamp given so far.
  virtual std::uint64_t newest_stamp() const = 0;

  // The parent that a unit which is in this policy has here, if it has one.
  virtual const Evictable* parent(const Evictable&) const { return nullptr; }

  // Without its units: those are archived by their owner, with what stands in Evictable.
  virtual void archive(Archive& archive, const UnitNames& names) = 0;
  // The last step of loading: all units that were in it, in the order of their stamps.
  virtual void restore(std::span<Evictable* const> units) = 0;

  virtual std::size_t size() const = 0;
  // Walks everything; for tests and debugging.
  virtual void check_invariants() const = 0;
};

// The names that make_policy knows, in the order in which they are shown to people.
std::span<const std::string_view> policy_names();

// INVALID_PARAMS, with the known names, for any other name.
Result<std::unique_ptr<EvictionPolicy>> make_policy(std::string_view name);

}  // namespace larder
