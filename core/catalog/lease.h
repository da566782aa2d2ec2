#pragma once

#include <cstdint>

#include "core/base/time.h"

namespace larder {

// How long readers may rely on replica lists that they were given (design: §4, Lease). One record
// serves all readers of a unit. A round begins with the first grant after all earlier ones were
// given back or ran out. Rounds are never reused within a catalog, and those of two masters begin
// far apart, so that a late or doubled give-back meets no lease of another round.
struct Lease {
  std::uint32_t count = 0;  // grants of this round that were not given back
  std::uint32_t round = 0;
  Time end = Time::min();
  Time exists_end = Time::min();  // the short lease of Exists

  bool held(Time now) const { return count > 0 && now < end; }
  bool leased(Time now) const { return held(now) || now < exists_end; }
  // Zero if it is not leased.
  Duration left(Time now) const;

  // A full lease until `until`; `rounds` counts the catalog's rounds.
  void grant(Time now, Time until, std::uint32_t& rounds);
  // Ignored unless `of_round` is the round that stands.
  void give_back(std::uint32_t of_round);
};

}  // namespace larder
