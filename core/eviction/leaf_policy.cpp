#include "core/eviction/leaf_policy.h"

#include <map>

namespace larder {

void LeafPolicy::admit(Evictable& unit, const Evictable* parent) {
  if (parent == nullptr) return;
  // Every unit in the policy came in by a mutable reference.
  auto& above = const_cast<Evictable&>(*parent);
  if (above.in_line()) unlink(above);
  families_.join(unit, above);
}

void LeafPolicy::left(Evictable& unit, bool) {
  Evictable* const parent = families_.leave(unit);
  if (parent != nullptr && parent->in_line()) link(*parent);
}

// Inner units stand where they would as leaves, behind those of the same rank.
void LeafPolicy::append_line(std::vector<Evictable*>& units) const {
  std::vector<Evictable*> all;
  leaves_.append_to(all);
  families_.append_parents_to(all);
  std::multimap<std::uint64_t, Evictable*>
      line;  // keeps equal ones in the order in which they came
  for (Evictable* unit : all) {
    if (unit->in_line()) line.emplace(unit->stamp, unit);
  }
  for (const auto& [stamp, unit] : line) units.push_back(unit);
}

void LeafPolicy::check_line() const {
  leaves_.check_order();
  families_.check_invariants();
}

}  // namespace larder
