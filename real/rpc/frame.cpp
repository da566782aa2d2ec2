#include "real/rpc/frame.h"

#include <bit>
#include <cstring>

namespace larder::real {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are little endian");

struct Layout {
  std::uint32_t length;
  std::uint8_t kind;
  std::array<std::uint8_t, 3> zero;
  std::uint64_t ticket;
};
static_assert(sizeof(Layout) == frame_header_size);

bool known(std::uint8_t kind) { return (kind >= 1 && kind <= 4) || (kind >= 10 && kind <= 13); }

}  // namespace

Result<FrameHeader> decode_frame_header(std::span<const std::byte, frame_header_size> bytes) {
  Layout layout{};
  std::memcpy(&layout, bytes.data(), sizeof(layout));
  if (!known(layout.kind) || layout.zero != std::array<std::uint8_t, 3>{}) {
    return failed(ErrorCode::invalid_params,
                  "not a frame (kind " + std::to_string(layout.kind) + ")");
  }
  if (layout.length > frame_body_max) {
    return failed(ErrorCode::invalid_params, "a frame of " + std::to_string(layout.length) +
                                                 " bytes, more than " +
                                                 std::to_string(frame_body_max));
  }
  return FrameHeader{.length = layout.length,
                     .kind = static_cast<FrameKind>(layout.kind),
                     .ticket = layout.ticket};
}

void open_frame(std::string& out) { out.append(frame_header_size, '\0'); }

std::string open_frame() { return std::string(frame_header_size, '\0'); }

Status close_frame(FrameKind kind, std::uint64_t ticket, std::string& out, std::size_t at) {
  const std::size_t length = out.size() - at - frame_header_size;
  if (length > frame_body_max) {
    return failed(ErrorCode::invalid_params,
                  "a message of " + std::to_string(length) + " bytes, more than the " +
                      std::to_string(frame_body_max) + " of one frame: divide the call");
  }
  const Layout layout{.length = static_cast<std::uint32_t>(length),
                      .kind = static_cast<std::uint8_t>(kind),
                      .zero = {},
                      .ticket = ticket};
  std::memcpy(out.data() + at, &layout, sizeof(layout));
  return {};
}

}  // namespace larder::real
