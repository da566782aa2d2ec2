#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "proto/codec.h"
#include "real/rpc/asio.h"
#include "real/rpc/frame.h"
#include "real/rpc/link_config.h"
#include "real/rpc/loop.h"
#include "real/rpc/socket.h"

namespace larder::real {

// Frames over one connection, both ways, pipelined. While more than pause_at bytes wait to be
// written, no request is taken in. Only for sources of this folder (it needs Asio).
class FramePipe : public std::enable_shared_from_this<FramePipe> {
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

  FramePipe(Loop& loop, Socket socket, PipeLimits limits, Events& events);

  void start() { read(); }
  // A whole frame (frame.h). Dropped if the connection is broken.
  void send(std::string frame);
  // Ends it; no more events.
  void close();
  // The peer has sent what no peer of ours sends: reports `error` as broken, from the loop.
  void refuse(Error error);

 private:
  void read();
  void take_frames();
  void make_room(std::size_t wanted);
  void watch_half_frame(std::size_t length);
  void write();
  void break_off(Error error);

  Loop& loop_;
  Tcp::socket socket_;
  PipeLimits limits_;
  Events* events_;  // null once closed or broken

  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  // of what has been read and not taken
  std::size_t end_ = 0;
  bool reading_ = false;
  bool taking_ = false;
  asio::steady_timer half_frame_;
  bool half_frame_watched_ = false;

  std::vector<std::string> queue_;
  std::vector<std::string> writing_;
  std::vector<asio::const_buffer> buffers_;  // of `writing_`
  std::size_t queued_bytes_ = 0;             // of both
};

}  // namespace larder::real
