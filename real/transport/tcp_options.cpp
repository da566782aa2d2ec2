#include "real/transport/tcp_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "core/base/printable.h"
#include "real/rpc/socket.h"

namespace larder::real {
namespace {

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof(value));
}

bool set_congestion(int socket, std::string_view algorithm) {
  return ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, algorithm.data(),
                      static_cast<socklen_t>(algorithm.size())) == 0;
}

// Whether both ends have one address: then they are on this machine.
bool is_local(int socket) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_size = sizeof(here);
  socklen_t there_size = sizeof(there);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_size) != 0 ||
      ::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_size) != 0 ||
      here.ss_family != there.ss_family) {
    return false;
  }
  if (here.ss_family == AF_INET) {
    return reinterpret_cast<sockaddr_in&>(here).sin_addr.s_addr ==
           reinterpret_cast<sockaddr_in&>(there).sin_addr.s_addr;
  }
  return std::memcmp(&reinterpret_cast<sockaddr_in6&>(here).sin6_addr,
                     &reinterpret_cast<sockaddr_in6&>(there).sin6_addr, sizeof(in6_addr)) == 0;
}

}  // namespace

Status check(const TcpOptions& options) {
  if (options.congestion == "auto" || options.congestion == "system") return {};
  const Socket trial(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (trial.get() >= 0 && set_congestion(trial.get(), options.congestion)) return {};
  const std::string why = std::strerror(errno);
  // What others than root may choose stands in a second list.
  std::ifstream list(::geteuid() == 0 ? "/proc/sys/net/ipv4/tcp_available_congestion_control"
                                      : "/proc/sys/net/ipv4/tcp_allowed_congestion_control");
  std::string exist;
  std::getline(list, exist);
  return failed(ErrorCode::invalid_params,
                "no TCP congestion control " + in_quotes(options.congestion) + " (" + why +
                    "); there are auto, system, and of this machine: " + exist);
}

void apply(const TcpOptions& options, int socket) {
  // A peer whose machine is gone is noticed although nothing is asked of it.
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  if (options.congestion == "system") return;
  if (options.congestion != "auto") {
    set_congestion(socket, options.congestion);
  } else if (is_local(socket)) {
    set_congestion(socket, "cubic");
  }
}

}  // namespace larder::real
