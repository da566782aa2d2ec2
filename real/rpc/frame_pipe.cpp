#include "real/rpc/frame_pipe.h"

#include <algorithm>
#include <cstring>

namespace larder::real {
namespace {

constexpr std::size_t buffer_min = std::size_t{64} << 10;
constexpr std::size_t buffer_kept = std::size_t{1} << 20;

}  // namespace

FramePipe::FramePipe(Loop& loop, Socket socket, PipeLimits limits, Events& events)
    : loop_(loop),
      socket_(loop.context()),
      limits_(limits),
      events_(&events),
      buffer_(buffer_min),
      half_frame_(loop.context()) {
  SystemError error;
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  socket_.assign(address.ss_family == AF_INET6 ? Tcp::v6() : Tcp::v4(), socket.get(), error);
  if (!error) socket.release();
}

void FramePipe::read() {
  if (events_ == nullptr || reading_ || queued_bytes_ > limits_.pause_at) return;
  reading_ = true;
  socket_.async_read_some(asio::buffer(buffer_.data() + end_, buffer_.size() - end_),
                          [self = shared_from_this()](SystemError error, std::size_t n) {
                            self->reading_ = false;
                            if (self->events_ == nullptr) return;
                            if (error) {
                              return self->break_off(Error(
                                  ErrorCode::rpc_fail, "the connection broke: " + error.message()));
                            }
                            self->end_ += n;
                            self->take_frames();
                            self->read();
                          });
}

void FramePipe::take_frames() {
  if (taking_) return;  // a frame's handler has sent something
  taking_ = true;
  std::size_t wanted = frame_header_size;
  bool any = false;
  while (events_ != nullptr && queued_bytes_ <= limits_.pause_at &&
         end_ - begin_ >= frame_header_size) {
    const auto header = decode_frame_header(
        std::span<const std::byte, frame_header_size>(buffer_.data() + begin_, frame_header_size));
    if (!header) {
      break_off(header.error());
      break;
    }
    wanted = frame_header_size + header->length;
    if (end_ - begin_ < wanted) break;
    const FrameBytes body(buffer_.data() + begin_ + frame_header_size, header->length);
    begin_ += wanted;
    wanted = frame_header_size;
    any = true;
    events_->frame(*header, body);
  }
  taking_ = false;
  if (events_ == nullptr) return;
  const bool half = begin_ != end_ && queued_bytes_ <= limits_.pause_at;
  if (half_frame_watched_ && (any || !half)) {
    half_frame_watched_ = false;
    half_frame_.cancel();
  }
  if (half) watch_half_frame(wanted);
  make_room(wanted);
}

// The buffer grows with what has come, not with what a header claims.
void FramePipe::make_room(std::size_t wanted) {
  const std::size_t held = end_ - begin_;
  if (begin_ != 0) std::memmove(buffer_.data(), buffer_.data() + begin_, held);
  begin_ = 0;
  end_ = held;
  if (held == 0 && buffer_.size() > buffer_kept) {
    buffer_ = std::vector<std::byte>(buffer_min);
  } else if (held == buffer_.size() && wanted > held) {
    buffer_.resize(std::min(wanted, 2 * held));
  }
}

// A frame that has begun must end: within 10 s, and a second more for each MiB.
void FramePipe::watch_half_frame(std::size_t length) {
  if (half_frame_watched_) return;
  half_frame_watched_ = true;
  half_frame_.expires_after(std::chrono::seconds(10 + (length >> 20)));
  half_frame_.async_wait([self = shared_from_this()](SystemError error) {
    if (error || self->events_ == nullptr) return;
    self->break_off(Error(ErrorCode::rpc_timeout, "a frame was begun and not ended"));
  });
}

void FramePipe::send(std::string frame) {
  if (events_ == nullptr) return;
  queued_bytes_ += frame.size();
  queue_.push_back(std::move(frame));
  if (queued_bytes_ > limits_.close_at) {
    return refuse(Error(ErrorCode::busy, std::to_string(queued_bytes_) +
                                             " bytes wait for the peer, which does not read them"));
  }
  if (writing_.empty()) write();
}

void FramePipe::write() {
  writing_.swap(queue_);
  buffers_.clear();
  for (const std::string& frame : writing_) buffers_.push_back(asio::buffer(frame));
  asio::async_write(socket_, buffers_,
                    [self = shared_from_this()](SystemError error, std::size_t n) {
                      self->writing_.clear();
                      if (self->events_ == nullptr) return;
                      if (error) {
                        return self->break_off(
                            Error(ErrorCode::rpc_fail, "the connection broke: " + error.message()));
                      }
                      self->queued_bytes_ -= n;
                      if (!self->queue_.empty()) self->write();
                      if (self->begin_ != self->end_) self->take_frames();
                      self->read();
                    });
}

void FramePipe::refuse(Error error) {
  loop_.post([self = shared_from_this(), error = std::move(error)]() mutable {
    self->break_off(std::move(error));
  });
}

void FramePipe::break_off(Error error) {
  if (events_ == nullptr) return;
  Events* events = events_;
  const auto self = shared_from_this();
  close();
  events->broken(std::move(error));
}

void FramePipe::close() {
  events_ = nullptr;
  half_frame_.cancel();
  SystemError ignored;
  socket_.close(ignored);
}

}  // namespace larder::real
