#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "real/rpc/asio.h"
#include "real/rpc/frame.h"
#include "real/rpc/socket.h"
#include "real/transport/cursor.h"

namespace larder::real {

// A data connection: frames, and payloads straight between the socket and memory. At most one read
// and one write at a time. After close() returns nothing touches memory that was handed in, and no
// handler is called any more. Only for sources of this folder.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(asio::io_context& context, Socket socket);

  // Each reports what it has moved to `moved(bytes)` as it goes on, and ends with done(error).
  template <class Moved, class Done>
  void read(Cursor<std::byte>& into, Moved moved, Done done);
  template <class Done>
  void write(Cursor<const std::byte>& from, Done done);
  // done(header, body): a frame whose body is at most `body_max` long.
  template <class Done>
  void read_frame(std::size_t body_max, Done done);

  // Whether the peer has neither closed its side nor vanished, as far as the kernel knows.
  bool peer_is_there() const;
  // For a connection that waits in a pool: the peer is there and has sent nothing unasked.
  bool is_quiet() const;
  void close();
  // The same, and the peer learns of it before anything else that may be on its way.
  void reset();

 private:
  template <class Done>
  void read_body(std::size_t received, Done done);

  static constexpr std::size_t window_bytes = std::size_t{256} << 10;  // hashed while in the cache
  static constexpr std::size_t window_buffers = 64;                    // of one system call

  Tcp::socket socket_;
  bool closed_ = false;
  std::vector<asio::mutable_buffer> read_window_;
  std::vector<asio::const_buffer> write_window_;
  std::array<std::byte, frame_header_size> head_{};
  FrameHeader header_;
  std::string body_;
};

template <class Moved, class Done>
void Stream::read(Cursor<std::byte>& into, Moved moved, Done done) {
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

template <class Done>
void Stream::read_frame(std::size_t body_max, Done done) {
  asio::async_read(socket_, asio::buffer(head_),
                   [self = shared_from_this(), body_max, done = std::move(done)](
                       SystemError error, std::size_t) mutable {
                     if (self->closed_) return;
                     const auto header = decode_frame_header(self->head_);
                     if (!error && (!header || header->length > body_max)) {
                       error = asio::error::invalid_argument;
                     }
                     if (error) return done(error, FrameHeader{}, self->body_);
                     self->header_ = *header;
                     self->body_.clear();
                     self->read_body(0, std::move(done));
                   });
}

// In steps, so that a header's claim allocates nothing.
template <class Done>
void Stream::read_body(std::size_t received, Done done) {
  const std::size_t step = std::min<std::size_t>(header_.length - received, std::size_t{1} << 20);
  body_.resize(received + step);
  asio::async_read(
      socket_, asio::buffer(body_.data() + received, step),
      [self = shared_from_this(), done = std::move(done)](SystemError error, std::size_t) mutable {
        if (self->closed_) return;
        if (!error && self->body_.size() < self->header_.length) {
          return self->read_body(self->body_.size(), std::move(done));
        }
        done(error, self->header_, self->body_);
      });
}

}  // namespace larder::real
