#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace larder::real {

inline Error transfer_too_late(std::string_view peer, Duration elapsed) {
  return Error(ErrorCode::transfer_fail, "the transfer did not end within its deadline")
      .with_endpoint(peer)
      .with_elapsed(elapsed);
}

inline Error wrong_size(Bytes stored, Bytes asked) {
  return Error(ErrorCode::invalid_params, "the object has " + std::to_string(stored.value) +
                                              " bytes, not " + std::to_string(asked.value));
}

}  // namespace larder::real
