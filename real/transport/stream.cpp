#include "real/transport/stream.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

namespace larder::real {

Stream::Stream(asio::io_context& context, Socket socket) : socket_(context) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  SystemError error;
  socket_.assign(address.ss_family == AF_INET6 ? Tcp::v6() : Tcp::v4(), socket.get(), error);
  if (!error) socket.release();
}

bool Stream::peer_is_there() const {
  tcp_info info{};
  socklen_t length = sizeof(info);
  const int fd = const_cast<Tcp::socket&>(socket_).native_handle();
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         info.tcpi_state == TCP_ESTABLISHED;
}

bool Stream::is_quiet() const {
  char byte = 0;
  const int fd = const_cast<Tcp::socket&>(socket_).native_handle();
  const ssize_t n = ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && peer_is_there();
}

void Stream::close() {
  closed_ = true;
  SystemError ignored;
  socket_.close(ignored);
}

void Stream::reset() {
  SystemError ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

}  // namespace larder::real
