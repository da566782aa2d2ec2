#include "real/rpc/frame_pipe.h"

#include <algorithm>
#include <cstring>

namespace larder::real {
namespace {

constexpr std::size_t buffer_min = std::size_t{16} << 10;
// What a connection has in any case, and a busy one goes on having.
constexpr std::size_t buffer_kept = std::size_t{128} << 10;
constexpr std::size_t write_buffer_kept = std::size_t{1} << 20;

}  // namespace

FramePipe::FramePipe(Loop& loop, Socket socket, PipeLimits limits, Events& events,
                     UnfinishedFrames* unfinished)
    : loop_(loop),
      socket_(connected(loop.context(), std::move(socket))),
      limits_(limits),
      events_(&events),
      unfinished_(unfinished),
      buffer_(buffer_min),
      half_frame_(loop, [this] { wait_for_half_frame(); }) {}

void FramePipe::read() {
  if (events_ == nullptr || reading_ || paused()) return;
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
                            self->read_filled_ = self->end_ == self->buffer_.size();
                            self->take_frames();
                            self->read();
                          });
}

void FramePipe::take_frames() {
  if (taking_) return;  // a frame's handler has released something
  taking_ = true;
  std::size_t wanted = frame_header_size;
  bool any = false;
  while (events_ != nullptr && !paused() && end_ - begin_ >= frame_header_size) {
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
  const bool half = begin_ != end_ && !paused();
  if (any || !half) half_frame_since_ = time_never;
  if (half) watch_half_frame(wanted);
  make_room(wanted);
  count_unfinished();
  if (events_ == nullptr) return;
  if (writing_.empty() && !queue_.empty()) write();
}

// After a pause.
void FramePipe::go_on() {
  if (events_ == nullptr || paused()) return;
  if (begin_ != end_) take_frames();
  read();
}

void FramePipe::release(std::size_t bytes) {
  const bool was_paused = paused();
  held_bytes_ -= bytes;
  if (was_paused && !paused()) loop_.post([self = shared_from_this()] { self->go_on(); });
}

// The buffer grows with what has come, not with what a header claims.
void FramePipe::make_room(std::size_t wanted) {
  const std::size_t held = end_ - begin_;
  if (begin_ != 0) std::memmove(buffer_.data(), buffer_.data() + begin_, held);
  begin_ = 0;
  end_ = held;
  if (held < buffer_min && buffer_.size() > buffer_kept) {
    buffer_.resize(held);
    std::vector<std::byte> small(buffer_min);
    std::ranges::copy(buffer_, small.begin());
    buffer_ = std::move(small);
  } else if (held == buffer_.size() && wanted > held) {
    buffer_.resize(std::min(wanted, 2 * held));
  } else if (read_filled_ && buffer_.size() < buffer_kept) {
    buffer_.resize(2 * buffer_.size());  // there is more in the socket: fewer, longer reads
  }
}

void FramePipe::count_unfinished() {
  if (unfinished_ == nullptr) return;
  if (buffer_.size() <= buffer_kept) return unfinished_->release(*this);
  const Time now = loop_.now();
  unfinished_->hold(*this, buffer_.size(), std::min(half_frame_since_, now), now);
}

void FramePipe::give_up(Error why) { break_off(std::move(why)); }

// A frame that has begun must end: within the limit, and a second more for each MiB.
void FramePipe::watch_half_frame(std::size_t length) {
  if (half_frame_since_ == time_never) half_frame_since_ = loop_.now();
  half_frame_until_ = half_frame_since_ + limits_.half_frame + std::chrono::seconds(length >> 20);
  if (std::exchange(half_frame_armed_, true)) return;
  half_frame_.set(half_frame_until_);
}

void FramePipe::wait_for_half_frame() {
  half_frame_armed_ = false;
  if (events_ == nullptr || half_frame_since_ == time_never) return;
  if (loop_.now() < half_frame_until_) {
    half_frame_armed_ = true;
    return half_frame_.set(half_frame_until_);
  }
  refuse(Error(ErrorCode::rpc_timeout, "a frame was begun and not ended in time"));
}

// Whoever sends goes on sending, most likely; the write waits for the end of this turn.
void FramePipe::queued() {
  if (queue_.size() + writing_.size() > limits_.close_at) {
    return refuse(Error(ErrorCode::busy, std::to_string(queue_.size() + writing_.size()) +
                                             " bytes wait for the peer, which does not read them"));
  }
  if (taking_ || !writing_.empty() || queue_.empty()) return;
  if (std::exchange(write_posted_, true)) return;
  loop_.post([self = shared_from_this()] {
    self->write_posted_ = false;
    if (self->events_ != nullptr && self->writing_.empty() && !self->queue_.empty()) self->write();
  });
}

void FramePipe::write() {
  writing_.swap(queue_);
  asio::async_write(socket_, asio::buffer(writing_),
                    [self = shared_from_this()](SystemError error, std::size_t) {
                      if (self->events_ == nullptr) return;
                      if (error) {
                        return self->break_off(
                            Error(ErrorCode::rpc_fail, "the connection broke: " + error.message()));
                      }
                      if (self->writing_.capacity() > write_buffer_kept) self->writing_ = {};
                      self->writing_.clear();
                      if (!self->queue_.empty()) self->write();
                      self->go_on();
                    });
}

void FramePipe::refuse(Error error) {
  loop_.post([self = shared_from_this(), error = std::move(error)]() mutable {
    if (self->events_ != nullptr && self->writing_.empty() && !self->queue_.empty()) self->write();
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
  if (unfinished_ != nullptr) std::exchange(unfinished_, nullptr)->release(*this);
  half_frame_.cancel();
  SystemError ignored;
  socket_.close(ignored);
}

}  // namespace larder::real
