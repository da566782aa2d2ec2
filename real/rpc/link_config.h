#pragma once

#include <cstddef>
#include <string>

#include "core/base/time.h"
#include "real/rpc/endpoint.h"

namespace larder::real {

struct PipeLimits {
  // Bytes that wait to be written or served beyond which nothing is read.
  std::size_t pause_at = std::size_t{4} << 20;
  std::size_t close_at = std::size_t{64} << 20;    // the peer does not read what it asked for
  Duration half_frame = std::chrono::seconds(10);  // a frame that was begun; a second more per MiB
};

// How a client or a node keeps its connection to the master.
struct LinkConfig {
  Endpoint master;
  std::string who;                                         // for the master's logs
  Duration dial_deadline = std::chrono::seconds(2);        // of one attempt
  Duration backoff_first = std::chrono::milliseconds(50);  // doubled with each failure
  Duration backoff_last = std::chrono::seconds(1);
  PipeLimits limits;
};

}  // namespace larder::real
