#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/archive.h"
#include "core/base/error.h"
#include "core/base/identity.h"
#include "core/eviction/evictable.h"
#include "core/eviction/unit_list.h"
#include "core/eviction/unit_names.h"

namespace larder {

// An order in which units leave the cache. It decides what goes next and nothing else: whether a
// unit may go now (leases, tasks) is the caller's knowledge, which it tells by defer().
//
// Victims are asked for in *rounds*, since a unit that may not go now must not be offered again at
// once: a round offers each unit at most once, and knows when it has offered all. Between its calls
// anything may change; what comes in during a round may be offered in it.
//
// Confined to one thread. It owns no unit: each must be erased before it is destroyed or moved,
// except that a policy may be destroyed with units still in it (it touches none then). It is a
// function of the calls alone, so the same calls give the same victims on every machine. No call
// fails; a unit that is in a policy already, or not in it, where the opposite is asked for is a
// broken invariant of the caller. Costs: O(1), or O(log n) where a policy says so; nothing is
// allocated per call, but for what a policy says that it keeps besides.
class EvictionPolicy {
 public:
  // `names` must know each unit as long as it is in the policy, and outlive it.
  explicit EvictionPolicy(const UnitNames& names) : names_(names) {}
  virtual ~EvictionPolicy() = default;

  // From now on `unit` can be evicted.
  // `parent` is the unit that this one extends, if that is in this policy now, else nullptr.
  // Policies without prefixes ignore it. Rules for those with: a child inserted without a parent is
  // a root; a parent that is erased leaves its children behind as roots, and no link to it stays;
  // inserted again, it does not adopt them, nor does another unit that gets its name; of more than
  // Evictable::children_max children the last are roots.
  void insert(Evictable& unit, const Evictable* parent);
  // It was looked up to be read. (Not for existence checks: polling must not become the policy.)
  void access(Evictable& unit);
  // It can no longer be evicted: it was evicted, removed, pinned, or is no longer complete.
  void erase(Evictable& unit);

  // Begins a round, and ends the one before: what that passed over comes back, as if used now.
  void begin_round() { returning_.take_all(deferred_); }
  // The unit to evict next. It stays so until it is erased, deferred or used. Each unit that it
  // looks at besides costs one of `looks`. nullptr with looks left: this round has offered all;
  // with none left: it looks on at the next call.
  Evictable* victim(std::uint32_t& looks);
  // `unit`, a victim, may not go in this round.
  void defer(Evictable& unit);

  // The parent that a unit which is in this policy has here, if it has one.
  virtual Evictable* parent(const Evictable&) const { return nullptr; }

  std::size_t size() const { return size_; }
  // All of them, those that this round may offer in about the order in which it would.
  std::vector<Evictable*> units() const;
  // With the order of its units, but without what stands in each Evictable: their owner archives
  // that, and has loaded it before.
  void archive(Archive& archive);
  // What it is, apart from how it came about (core/base/identity.h), and from units() and the line
  // in which each is.
  void add_identity(Identity& identity) const;
  // Walks everything; for tests and debugging.
  void check_invariants() const;

 protected:
  // What makes a policy: a line, ordered by the stamps that rank() gives its units.

  // A new unit, before it is ranked and linked.
  virtual void admit(Evictable&, const Evictable* /*parent*/) {}
  // The unit's stamp, when it joins the line: the time, where a policy has no other order.
  virtual std::uint64_t rank(const Evictable&) { return ++clock_; }
  // Puts the unit into the line where its stamp says, or takes it out.
  virtual void link(Evictable& unit) = 0;
  virtual void unlink(Evictable& unit) = 0;
  // A unit in the line was used, and Evictable::uses has counted it.
  virtual void used(Evictable&) {}
  // Its first unit.
  virtual Evictable* front() const = 0;
  // The one that is to go next; not the front where that has earned another turn. `looks` as for
  // victim().
  virtual Evictable* next(std::uint32_t& /*looks*/) { return front(); }
  // The unit has left for good. By eviction, if it was the front.
  virtual void left(Evictable&, bool /*was_front*/) {}
  // Appends what is in the line, in its order.
  virtual void append_line(std::vector<Evictable*>& units) const = 0;
  // Appends what is in no line: what rounds have passed over.
  void append_deferred(std::vector<Evictable*>& units) const;
  // What there is besides units: comes before they are linked again.
  virtual void archive_rest(Archive&) {}
  // All units that were loaded, before they are linked: false if what they name is not there.
  virtual bool restore(std::span<Evictable* const>) { return true; }
  // As add_identity, beyond which units are in which line, in their order.
  virtual void add_rest(Identity&) const {}
  virtual void check_line() const = 0;

  const UnitNames& names() const { return names_; }
  static void count_use(Evictable& unit, std::uint8_t uses = 1) {
    constexpr std::uint8_t most = std::numeric_limits<std::uint8_t>::max();
    unit.uses = static_cast<std::uint8_t>(std::min(unit.uses + uses, int{most}));
  }
  void add_uses(Identity& identity) const {
    for (const Evictable* unit : units()) identity.add(unit->uses);
  }
  // Ranks it anew, and moves it there.
  void move(Evictable& unit) {
    unlink(unit);
    join(unit);
  }
  void join(Evictable& unit) {
    unit.stamp = rank(unit);
    link(unit);
  }

 private:
  const UnitNames& names_;
  UnitList deferred_;   // in this round
  UnitList returning_;  // deferred in earlier ones
  std::uint64_t clock_ = 0;
  std::size_t size_ = 0;
};

// The names that make_policy knows, in the order in which they are shown to people.
std::span<const std::string_view> policy_names();

// INVALID_PARAMS, with the known names, for any other name.
Status check_policy(std::string_view name);
Result<std::unique_ptr<EvictionPolicy>> make_policy(std::string_view name, const UnitNames& names);

}  // namespace larder
