#include "real/transport/stream.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

namespace larder::real {

Stream::Stream(asio::io_context& context, Socket socket, const TcpOptions& options)
    : socket_(context) {
  apply(options, socket.get());
  socket_ = connected(context, std::move(socket));
}

void Stream::wake_at(std::size_t bytes) {
  if (bytes == wakes_at_) return;
  wakes_at_ = bytes;
  SystemError ignored;
  socket_.set_option(asio::socket_base::receive_low_watermark(static_cast<int>(bytes)), ignored);
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
