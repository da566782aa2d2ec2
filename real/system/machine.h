#pragma once

#include <string>

#include "core/base/id.h"
#include "core/base/random.h"

namespace larder::real {

// A stream seeded by the operating system.
Random system_random();

template <class AnyId>
AnyId draw_id(Random& random) {
  return AnyId{.high = random.next(), .low = random.next()};
}

// This machine's name, "localhost" if it has none.
std::string machine_name();

}  // namespace larder::real
