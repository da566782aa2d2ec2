#pragma once

#include <string>

#include "core/base/error.h"
#include "real/rpc/endpoint.h"

namespace larder::real {

// Whether every address of the host is this machine's own, seen by nobody else. Asks the resolver
// for a name; one that is not known is none.
bool is_loopback(const std::string& host);

// A daemon without a token must not be reached from elsewhere by accident. Errors: invalid_params,
// saying what to set.
Status check_exposure(const Endpoint& listen, bool insecure);

// Where a node tells others to ask for its bytes. `host` is what the operator says, or empty: then
// the address on which it listens. Errors: invalid_params, saying what to set (an address that
// stands for all of a machine's; a loopback address, told to a master elsewhere).
struct Advertising {
  Endpoint listening;  // with the port that was bound
  std::string host;
  Endpoint master;
};
Result<Endpoint> advertised(const Advertising& advertising);

}  // namespace larder::real
