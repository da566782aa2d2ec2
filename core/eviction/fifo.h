#pragma once

#include "core/eviction/list_policy.h"

namespace larder {

// First in, first out: use changes nothing.
class FifoPolicy final : public ListPolicy {
 public:
  using ListPolicy::ListPolicy;
};

}  // namespace larder
