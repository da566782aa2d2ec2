#include "real/rpc/socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include "real/rpc/asio.h"

namespace larder::real {

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Tcp::socket connected(asio::io_context& context, Socket socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  Tcp::socket taken(context);
  SystemError error;
  taken.assign(address.ss_family == AF_INET6 ? Tcp::v6() : Tcp::v4(), socket.get(), error);
  if (!error) socket.release();
  return taken;
}

}  // namespace larder::real
