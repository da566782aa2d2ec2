#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/eviction/evictable.h"
#include "core/eviction/policy.h"
#include "core/eviction/unit_list.h"

namespace larder {

// Everything that can be evicted: the normal units in one policy, the soft-pinned ones in another
// of the same kind (they go when nothing normal can), and those *wanted*: chosen by eviction while
// a short lease of Exists held them. Hard-pinned, leased-for-ever and unfinished ones are in none.
//
// A wanted unit waits at the front: rounds try it before all others, and take it when its short
// lease is over. Whoever grants short leases must refuse one to a wanted unit (see
// is_wanted()); then it waits for at most one. A full lease, told by access(), puts it back
// into its policy.
//
// The same contract as EvictionPolicy: one thread, owns no unit, O(1) or the policy's cost.
class EvictionOrder {
 public:
  using Place = Evictable::Place;

  // As make_policy.
  static Result<EvictionOrder> make(std::string_view policy, const UnitNames& names);
  EvictionOrder(EvictionOrder&&) noexcept = default;
  EvictionOrder& operator=(EvictionOrder&&) noexcept = default;

  struct Insertion {
    bool soft_pinned = false;
    const Evictable* parent =
        nullptr;  // must be a live unit; counts only if it stands in the same policy
  };
  void insert(Evictable& unit, Insertion how);
  void access(Evictable& unit);
  void erase(Evictable& unit);
  // It may not go in this round. A wanted unit goes back into its policy.
  void defer(Evictable& unit);
  // Eviction would take it but for a short lease.
  void want(Evictable& unit);
  // Counts as most recently used among its new peers, as a root. Nothing happens if it is so
  // already.
  void set_soft_pinned(Evictable& unit, bool soft_pinned);
  // What its eviction frees has changed (a group grew or shrank).
  void resize(Evictable& unit, Bytes bytes);

  static bool contains(const Evictable& unit) { return unit.place != Place::none; }
  static bool is_wanted(const Evictable& unit) { return unit.line == Evictable::Line::wanted; }

  // What it stands under; nullptr for a root, and where the policy does not order by that.
  Evictable* parent(const Evictable& unit) const;

  // The one wanted for the longest time, or nullptr.
  Evictable* first_wanted() const { return wanted_->front(); }
  EvictionPolicy& normal() { return *normal_; }
  EvictionPolicy& soft_pinned() { return *soft_pinned_; }
  // All units: those of the two policies, then the wanted ones. O(n).
  std::vector<Evictable*> units() const;

  // Of all units, and of the wanted ones among them.
  std::size_t size() const { return normal_->size() + soft_pinned_->size() + wanted_size_; }
  Bytes bytes() const { return bytes_; }
  Bytes wanted_bytes() const { return wanted_bytes_; }
  // As EvictionPolicy::archive and add_identity.
  void archive(Archive& archive);
  void add_identity(Identity& identity) const;
  void check_invariants() const;

 private:
  EvictionOrder(std::unique_ptr<EvictionPolicy> normal, std::unique_ptr<EvictionPolicy> soft_pinned,
                const UnitNames& names);
  EvictionPolicy& policy_of(const Evictable& unit) const;
  void enter(Evictable& unit, const Evictable* parent);
  void leave(Evictable& unit);

  std::unique_ptr<EvictionPolicy> normal_;
  std::unique_ptr<EvictionPolicy> soft_pinned_;
  const UnitNames* names_;
  std::unique_ptr<UnitList> wanted_;  // on the heap, since units point to it
  std::size_t wanted_size_ = 0;
  Bytes wanted_bytes_;
  Bytes bytes_;
};

}  // namespace larder
