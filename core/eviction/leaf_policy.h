#pragma once

#include "core/eviction/families.h"
#include "core/eviction/policy.h"
#include "core/eviction/unit_tree.h"

namespace larder {

// What the policies of prefixes share: ends of prefixes go first. A page whose successors are
// cached is worth more than they are, since it can be used without them but not they without it. So
// the line are the units without children here, the *leaves*, by rank. A unit is ranked when it
// comes and at each use; one that becomes a leaf again takes the place of its last rank. O(log
// leaves).
class LeafPolicy : public EvictionPolicy {
 public:
  explicit LeafPolicy(const UnitNames& names) : EvictionPolicy(names), families_(names) {}
  Evictable* parent(const Evictable& unit) const final { return families_.parent(unit); }

 protected:
  void admit(Evictable& unit, const Evictable* parent) override;
  Evictable* front() const final { return leaves_.front(); }
  void left(Evictable& unit, bool was_front) override;
  void archive_rest(Archive& archive) override { archive(families_); }

 private:
  void used(Evictable& unit) final { move(unit); }
  void link(Evictable& unit) final {
    if (Families::is_leaf(unit)) leaves_.insert(unit);
  }
  void unlink(Evictable& unit) final {
    if (Families::is_leaf(unit)) leaves_.remove(unit);
  }
  void append_line(std::vector<Evictable*>& units) const final;
  bool restore(std::span<Evictable* const> units) final { return families_.restore(units); }
  void check_line() const final;

  UnitTree leaves_;
  Families families_;
};

}  // namespace larder
