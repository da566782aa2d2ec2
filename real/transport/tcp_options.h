#pragma once

#include <string>

#include "core/base/error.h"

namespace larder::real {

// What data connections ask of the kernel.
struct TcpOptions {
  // The algorithm that decides how fast a connection sends: a name that the kernel knows, or
  // - "system": what the machine is set up for;
  // - "auto": that too, but cubic between two processes of one machine. There nothing is lost or
  //   delayed, and an algorithm that models the way (bbr) only holds the bytes back: it moves less
  //   than half as many in a second.
  std::string congestion = "auto";
};

// Errors: invalid_params, with what exists on this machine.
Status check(const TcpOptions& options);
// Sets a connected socket up, as far as the kernel lets us.
void apply(const TcpOptions& options, int socket);

}  // namespace larder::real
