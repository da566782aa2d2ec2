#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace larder::real {

// Where a process listens. `host` is a name or an address without brackets, an IPv6 zone included.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

// Reads "host:port", "1.2.3.4:port", "[::1]:port", "[fe80::1%eth0]:port". Where `default_port` is
// given, the port may be left out, and an IPv6 address without a port may stand without brackets.
// Errors: invalid_params, saying what is wrong with which text.
Result<Endpoint> parse_endpoint(std::string_view text,
                                std::optional<std::uint16_t> default_port = std::nullopt);

// What parse_endpoint reads back: brackets where the host has a colon.
std::string to_string(const Endpoint& endpoint);

}  // namespace larder::real
