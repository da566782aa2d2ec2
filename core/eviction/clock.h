#pragma once

#include "core/eviction/list_policy.h"

namespace larder {

// First in, first out, but what was used since it came, or since its last turn, has another turn
// (Corbato, A paging experiment with the Multics system, 1968: a hand that goes round, as which the
// front of the line moves here). A use costs no more than a note.
class ClockPolicy final : public ListPolicy {
 public:
  using ListPolicy::ListPolicy;

 private:
  Evictable* next(std::uint32_t& looks) override {
    while (front() != nullptr && front()->uses > 0) {
      if (looks == 0) return nullptr;
      --looks;
      front()->uses = 0;
      move(*front());
    }
    return front();
  }
  void add_rest(Identity& identity) const override { add_uses(identity); }
};

}  // namespace larder
