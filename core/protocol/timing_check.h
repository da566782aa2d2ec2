#pragma once

#include "core/base/error.h"
#include "core/protocol/limits.h"

namespace larder {

// That no two of these times contradict each other. Errors: invalid_params with both values.
Status check(const Timing& timing);

}  // namespace larder
