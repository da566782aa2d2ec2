#pragma once

#include "core/eviction/departed.h"
#include "core/eviction/leaf_policy.h"

namespace larder {

// A leaf's rank is what it is worth, by its uses, over a floor that rises to the rank of each unit
// that is evicted: so what is no longer used sinks below all that comes and is used (Cherkasova,
// Improving WWW proxies performance with Greedy-Dual-Size-Frequency caching policy, 1998). Uses
// outlive an eviction: a unit that comes back, while its name is remembered, goes on counting where
// it left, and its return is a use. So a cache that is too small to hold a session from one turn to
// the next finds out all the same what comes back.
class AgedPolicy : public LeafPolicy {
 protected:
  using LeafPolicy::LeafPolicy;
  // `times`: how often it was asked for, at least 1.
  virtual std::uint64_t worth(const Evictable& unit, std::uint64_t times) const = 0;

 private:
  std::uint64_t rank(const Evictable& unit) final {
    return floor_ + worth(unit, std::uint64_t{unit.uses} + 1);
  }
  void admit(Evictable& unit, const Evictable* parent) final;
  void left(Evictable& unit, bool was_front) final;
  void archive_rest(Archive& archive) final;
  void add_rest(Identity& identity) const final;

  Departed departed_;
  std::uint64_t floor_ = 0;
};

}  // namespace larder
