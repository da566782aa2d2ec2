#include "real/daemon/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <memory>

namespace larder::real {
namespace {

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

bool is_wildcard(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return v4.s_addr == INADDR_ANY;
  return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

}  // namespace

bool is_loopback(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (!is_loopback(*each->ai_addr)) return false;
  }
  return found != nullptr;
}

Status check_exposure(const Endpoint& listen, bool insecure) {
  if (insecure || is_loopback(listen.host)) return {};
  return failed(ErrorCode::invalid_params,
                fmt::format("listening on {} would let anyone who reaches that port read and write "
                            "everything: listen on 127.0.0.1, or say --insecure in a network that "
                            "you trust",
                            to_string(listen)));
}

Result<Endpoint> advertised(const Advertising& advertising) {
  const Endpoint& listening = advertising.listening;
  const Endpoint told{.host = advertising.host.empty() ? listening.host : advertising.host,
                      .port = listening.port};
  if (!parse_endpoint(to_string(told), std::nullopt)) {
    return failed(
        ErrorCode::invalid_params,
        fmt::format("--advertise takes a host name or an address, without a port, not '{}'",
                    told.host));
  }
  if (is_wildcard(told.host)) {
    return failed(ErrorCode::invalid_params,
                  fmt::format("{} stands for every address of this machine, but clients need one: "
                              "set --advertise to the name or address under which they reach it",
                              told.host));
  }
  if (is_loopback(told.host) && !is_loopback(advertising.master.host)) {
    return failed(
        ErrorCode::invalid_params,
        fmt::format("a master at {} would tell clients on other machines to ask for this node's "
                    "bytes at {}: set --listen (with --insecure), and --advertise if its address "
                    "is not the one under which they reach this machine",
                    to_string(advertising.master), to_string(told)));
  }
  return told;
}

}  // namespace larder::real
