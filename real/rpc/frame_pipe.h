#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/assert.h"
#include "proto/codec.h"
#include "real/rpc/asio.h"
#include "real/rpc/frame.h"
#include "real/rpc/link_config.h"
#include "real/rpc/loop.h"
#include "real/rpc/socket.h"
#include "real/rpc/unfinished_frames.h"

namespace larder::real {

// Frames over one connection, both ways, pipelined. What is sent while frames are taken in, or in
// one turn of the loop, goes out in one write. While more than pause_at bytes wait to be written or
// served, no request is taken in. Of a frame that is coming in there is as much memory as has come,
// at most twice; what is beyond a small frame counts in `unfinished`, where there is one. Only for
// sources of this folder (it needs Asio).
class FramePipe final : public std::enable_shared_from_this<FramePipe>,
                        UnfinishedFrames::Connection {
 public:
  class Events {
   public:
    // The body is valid during the call. May close or drop the pipe.
    virtual void frame(const FrameHeader& header, FrameBytes body) = 0;
    // Once, from the loop, never from inside send(). Not after close().
    virtual void broken(Error error) = 0;

   protected:
    ~Events() = default;
  };

  FramePipe(Loop& loop, Socket socket, PipeLimits limits, Events& events,
            UnfinishedFrames* unfinished = nullptr);

  void start() { read(); }
  // A frame, whose body `encode(std::string&)` appends. Dropped if the connection is broken.
  // Errors: invalid_params if it is too long; nothing is sent then.
  template <class Encode>
  Status send(FrameKind kind, std::uint64_t ticket, Encode encode) {
    if (events_ == nullptr) return {};
    const std::size_t at = queue_.size();
    open_frame(queue_);
    encode(queue_);
    const Status closed = close_frame(kind, ticket, queue_, at);
    if (!closed) queue_.resize(at);
    queued();
    return closed;
  }
  // Requests whose bytes are kept, and that they are served.
  void hold(std::size_t bytes) { held_bytes_ += bytes; }
  void release(std::size_t bytes);
  // Ends it; no more events.
  void close();
  // The peer has sent what no peer of ours sends: reports `error` as broken, from the loop, when
  // what was sent before is on its way.
  void refuse(Error error);

 private:
  bool paused() const { return queue_.size() + writing_.size() + held_bytes_ > limits_.pause_at; }
  void read();
  void take_frames();
  void go_on();
  void make_room(std::size_t wanted);
  void count_unfinished();
  void give_up(Error why) override;
  void watch_half_frame(std::size_t length);
  void wait_for_half_frame();
  void queued();
  void write();
  void break_off(Error error);

  Loop& loop_;
  Tcp::socket socket_;
  PipeLimits limits_;
  Events* events_;  // null once closed or broken
  UnfinishedFrames* unfinished_;

  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  // of what has been read and not taken
  std::size_t end_ = 0;
  bool read_filled_ = false;  // the last read took all the room there was
  bool reading_ = false;
  bool taking_ = false;
  std::size_t held_bytes_ = 0;

  // The alarm is armed now and then, not for each frame.
  Time half_frame_since_ = time_never;  // never: there is none
  Time half_frame_until_ = time_never;
  Alarm half_frame_;
  bool half_frame_armed_ = false;

  std::string queue_;
  std::string writing_;
  bool write_posted_ = false;
};

}  // namespace larder::real
