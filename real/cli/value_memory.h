#pragma once

#include <string>

#include "core/base/error.h"
#include "core/base/size_text.h"
#include "core/protocol/limits.h"
#include "real/system/mapped_memory.h"

namespace larder::real {

// A command holds a whole value in memory. To be asked before `size` bytes of `what` (a file, a
// key) are read: what cannot be a value, or would drive this machine out of memory, is refused.
// Errors: invalid_params, buffer_overflow.
inline Status check_value_memory(const std::string& what, Bytes size) {
  if (size > object_bytes_max_default) {
    return failed(ErrorCode::invalid_params, what + " has more than " +
                                                 size_text(object_bytes_max_default) +
                                                 ", which is the most that a value can have");
  }
  if (const Bytes available = available_memory(); size > available) {
    return failed(ErrorCode::buffer_overflow, what + " does not fit into the " +
                                                  size_text(available) +
                                                  " of memory that are available here");
  }
  return {};
}

}  // namespace larder::real
