#include "core/catalog/lease.h"

#include <algorithm>

namespace larder {

Duration Lease::left(Time now) const {
  const Time until = std::max(held(now) ? end : Time::min(), exists_end);
  return until > now ? until - now : Duration(0);
}

void Lease::grant(Time now, Time until, std::uint32_t& rounds) {
  if (count == 0 || now >= end) {
    count = 0;
    round = ++rounds;
  }
  ++count;
  end = std::max(end, until);
}

void Lease::give_back(std::uint32_t of_round) {
  if (of_round == round && count > 0) --count;
}

}  // namespace larder
