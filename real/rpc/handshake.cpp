#include "real/rpc/handshake.h"

#include <cstring>

namespace larder::real {
namespace {

constexpr std::array<char, 8> magic{'L', 'A', 'R', 'D', 'E', 'R', '\r', '\n'};

struct Layout {
  std::array<char, 8> magic;
  std::uint16_t major;
  std::uint16_t minor;
  std::uint8_t code;
  std::uint8_t zero;
  std::uint16_t text_length;
};
static_assert(sizeof(Layout) == hello_size);

}  // namespace

std::string to_string(ProtocolVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::string encode(const Hello& hello) {
  const std::string_view text = std::string_view(hello.text).substr(0, hello_text_max);
  const Layout layout{.magic = magic,
                      .major = hello.version.major,
                      .minor = hello.version.minor,
                      .code = hello.code,
                      .zero = 0,
                      .text_length = static_cast<std::uint16_t>(text.size())};
  std::string out(hello_size, '\0');
  std::memcpy(out.data(), &layout, sizeof(layout));
  out.append(text);
  return out;
}

std::optional<HelloHead> decode_hello(std::span<const std::byte, hello_size> bytes) {
  Layout layout{};
  std::memcpy(&layout, bytes.data(), sizeof(layout));
  if (layout.magic != magic || layout.text_length > hello_text_max) return std::nullopt;
  return HelloHead{.hello = {.version = {layout.major, layout.minor}, .code = layout.code},
                   .text_length = layout.text_length};
}

Status check_version(ProtocolVersion peer, std::string_view peer_name) {
  const int apart = int{peer.minor} - int{protocol_version.minor};
  if (peer.major == protocol_version.major && apart >= -1 && apart <= 1) return {};
  return failed(ErrorCode::invalid_version, std::string(peer_name) + " speaks version " +
                                                to_string(peer) + " of the protocol, this side " +
                                                to_string(protocol_version) +
                                                ": update the older of the two");
}

}  // namespace larder::real
