#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/error.h"

namespace larder::real {

// A connection carries a handshake in each direction (handshake.h), then frames: a header of 16
// bytes, little endian, and a body of `length` bytes.
//   0: length 4 | 4: kind 1, zero 3 | 8: ticket 8
enum class FrameKind : std::uint8_t {
  request = 1,  // wire::Request; client or node to master
  reply = 2,    // wire::Reply: some or all answers to the request of that ticket
  refusal = 3,  // wire::Outcomes, one: all items of the request get this error
  command = 4,  // wire::Command; master to node, ticket 0

  fill = 10,         // wire::Fill, then the payloads
  fill_answer = 11,  // wire::Outcomes, one for each item
  read = 12,         // wire::Read
  read_answer = 13,  // wire::ReadAnswer, then the range's bytes; one frame for each range
};

struct FrameHeader {
  std::uint32_t length = 0;  // of the body
  FrameKind kind = FrameKind::request;
  std::uint64_t ticket = 0;  // the sender's number for a request, repeated in what answers it
  bool operator==(const FrameHeader&) const = default;
};

inline constexpr std::size_t frame_header_size = 16;
// A longer body is refused before anything is allocated for it. A caller with more divides its
// call.
inline constexpr std::size_t frame_body_max = std::size_t{32} << 20;

// Errors: invalid_params if this cannot be a header of ours (or its body would be too long).
Result<FrameHeader> decode_frame_header(std::span<const std::byte, frame_header_size> bytes);

// A frame under construction, at the end of `out`: encode the body behind it, then close it.
void open_frame(std::string& out);
std::string open_frame();
// Fills the header in, of the frame that begins at `at` and goes to the end. Errors: invalid_params
// if the body is too long.
Status close_frame(FrameKind kind, std::uint64_t ticket, std::string& out, std::size_t at = 0);

}  // namespace larder::real
