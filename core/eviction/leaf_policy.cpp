#include "core/eviction/leaf_policy.h"

#include <boost/unordered/unordered_flat_set.hpp>
#include <map>

namespace larder {

void LeafPolicy::admit(Evictable& unit, const Evictable* parent) {
  // Every unit in the policy came in by a mutable reference.
  auto* const above = const_cast<Evictable*>(parent);
  if (above != nullptr && above->in_line()) unlink(*above);
  families_.join(unit, above);
}

void LeafPolicy::left(Evictable& unit, bool) {
  Evictable* const parent = families_.leave(unit);
  if (parent != nullptr && parent->in_line()) link(*parent);
}

// Inner units are linked nowhere, but each is above a leaf or above one that was passed over. They
// stand where they would as leaves, behind those of the same rank.
void LeafPolicy::append_line(std::vector<Evictable*>& units) const {
  std::vector<Evictable*> leaves;
  leaves_.append_to(leaves);
  std::multimap<std::uint64_t, Evictable*> line;  // equal ones stay in the order of their coming
  for (Evictable* leaf : leaves) line.emplace(leaf->stamp, leaf);
  append_deferred(leaves);
  boost::unordered_flat_set<const Evictable*> seen(leaves.begin(), leaves.end());
  for (const Evictable* leaf : leaves) {
    Evictable* above = families_.parent(*leaf);
    for (; above != nullptr && seen.insert(above).second; above = families_.parent(*above)) {
      if (above->in_line()) line.emplace(above->stamp, above);
    }
  }
  for (const auto& [stamp, unit] : line) units.push_back(unit);
}

void LeafPolicy::check_line() const {
  leaves_.check_order();
  families_.check_invariants(units());
}

}  // namespace larder
