#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "real/rpc/asio.h"
#include "real/rpc/frame.h"
#include "real/rpc/socket.h"
#include "real/transport/cursor.h"
#include "real/transport/tcp_options.h"

namespace larder::real {

// A data connection: frames, and payloads straight between the socket and memory. At most one read
// and one write at a time. After close() returns nothing touches memory that was handed in, and no
// handler is called any more. Only for sources of this folder.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(asio::io_context& context, Socket socket, const TcpOptions& options);

  // Each reports what it has moved to `moved(bytes)` as it goes on, and ends with done(error).
  template <class Moved, class Done>
  void read(Cursor<std::byte>& into, Moved moved, Done done);
  template <class Done>
  void write(Cursor<const std::byte>& from, Done done);
  // A frame whose body is at most `body_max` long: calls holds(0) when its first bytes are there,
  // holds(bytes) each time before it takes so much memory for the body, which may close the stream,
  // then done(error, header, body). The memory is as much as has come, at most twice.
  template <class Holds, class Done>
  void read_frame(std::size_t body_max, Holds holds, Done done);

  // Whether the peer has neither closed its side nor vanished, as far as the kernel knows.
  bool peer_is_there() const;
  // For a connection that waits in a pool: the peer is there and has sent nothing unasked.
  bool is_quiet() const;
  void close();
  // The same, and the peer learns of it before anything else that may be on its way.
  void reset();

 private:
  template <class Holds, class Done>
  void read_header(std::size_t received, std::size_t body_max, Holds holds, Done done);
  template <class Holds, class Done>
  void read_body(std::size_t received, Holds holds, Done done);

  // Wakes us only when so many bytes are there. Not more than will come.
  void wake_at(std::size_t bytes);

  static constexpr std::size_t window_bytes = std::size_t{256} << 10;  // hashed while in the cache
  static constexpr std::size_t window_buffers = 64;                    // of one system call
  static constexpr std::size_t body_first = std::size_t{16} << 10;     // room before any has come

  Tcp::socket socket_;
  bool closed_ = false;
  std::size_t wakes_at_ = 1;
  std::vector<asio::mutable_buffer> read_window_;
  std::vector<asio::const_buffer> write_window_;
  std::array<std::byte, frame_header_size> head_{};
  FrameHeader header_;
  std::string body_;
};

template <class Moved, class Done>
void Stream::read(Cursor<std::byte>& into, Moved moved, Done done) {
  // A wake-up for each packet would cost the sender more than the packet. (A peer that sends less
  // than this in Timing::fill_stalled looks stalled.)
  wake_at(into.left() >= window_bytes ? window_bytes : 1);
  into.next({window_bytes, window_buffers}, read_window_);
  socket_.async_read_some(read_window_,
                          [self = shared_from_this(), &into, moved = std::move(moved),
                           done = std::move(done)](SystemError error, std::size_t n) mutable {
                            if (self->closed_) return;
                            if (error) return done(error);
                            into.advance(n, moved);
                            if (into.done()) return done(error);
                            self->read(into, std::move(moved), std::move(done));
                          });
}

template <class Done>
void Stream::write(Cursor<const std::byte>& from, Done done) {
  from.next({4 * window_bytes, window_buffers}, write_window_);
  socket_.async_write_some(write_window_,
                           [self = shared_from_this(), &from, done = std::move(done)](
                               SystemError error, std::size_t n) mutable {
                             if (self->closed_) return;
                             if (error) return done(error);
                             from.advance(n);
                             if (from.done()) return done(error);
                             self->write(from, std::move(done));
                           });
}

template <class Holds, class Done>
void Stream::read_frame(std::size_t body_max, Holds holds, Done done) {
  wake_at(1);
  socket_.async_read_some(asio::buffer(head_),
                          [self = shared_from_this(), body_max, holds = std::move(holds),
                           done = std::move(done)](SystemError error, std::size_t n) mutable {
                            if (self->closed_) return;
                            if (error) return done(error, FrameHeader{}, self->body_);
                            holds(0);
                            self->read_header(n, body_max, std::move(holds), std::move(done));
                          });
}

template <class Holds, class Done>
void Stream::read_header(std::size_t received, std::size_t body_max, Holds holds, Done done) {
  auto whole = [self = shared_from_this(), body_max, holds = std::move(holds),
                done = std::move(done)](SystemError error, std::size_t) mutable {
    if (self->closed_) return;
    const auto header = decode_frame_header(self->head_);
    if (!error && (!header || header->length > body_max)) error = asio::error::invalid_argument;
    if (error) return done(error, FrameHeader{}, self->body_);
    self->header_ = *header;
    self->body_.clear();
    self->read_body(0, std::move(holds), std::move(done));
  };
  if (received == head_.size()) return std::move(whole)({}, received);
  asio::async_read(socket_, asio::buffer(head_) + received, std::move(whole));
}

// In steps, each as long as what has come, so that a header's claim allocates nothing.
template <class Holds, class Done>
void Stream::read_body(std::size_t received, Holds holds, Done done) {
  const std::size_t step =
      std::min<std::size_t>(header_.length - received, std::max(received, body_first));
  holds(received + step);
  if (closed_) return;
  body_.resize(received + step);
  asio::async_read(socket_, asio::buffer(body_.data() + received, step),
                   [self = shared_from_this(), holds = std::move(holds), done = std::move(done)](
                       SystemError error, std::size_t) mutable {
                     if (self->closed_) return;
                     if (!error && self->body_.size() < self->header_.length) {
                       return self->read_body(self->body_.size(), std::move(holds),
                                              std::move(done));
                     }
                     const std::string body = std::exchange(self->body_, {});
                     done(error, self->header_, body);
                   });
}

}  // namespace larder::real
