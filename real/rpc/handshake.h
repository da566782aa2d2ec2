#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace larder::real {

// The first thing on a connection, in both directions, of the same layout for ever, so that any two
// versions can tell each other who they are: 16 bytes, little endian, then the text.
//   0: magic 8 | 8: major 2 | 10: minor 2 | 12: code 1, zero 1 | 14: length of the text 2
struct ProtocolVersion {
  std::uint16_t major = 1;
  std::uint16_t minor = 0;
  bool operator==(const ProtocolVersion&) const = default;
};
std::string to_string(ProtocolVersion version);
inline constexpr ProtocolVersion protocol_version{};

// What the caller wants the connection for.
enum class Role : std::uint8_t { control = 1, data = 2 };
// What the called one says to it.
enum class Welcome : std::uint8_t { accepted = 1, version_refused = 2, role_refused = 3, busy = 4 };

struct Hello {
  ProtocolVersion version = protocol_version;
  std::uint8_t code = 0;  // a Role or a Welcome
  std::string text;       // who calls; or why it is refused
};

inline constexpr std::size_t hello_size = 16;
inline constexpr std::size_t hello_text_max = 512;

std::string encode(const Hello& hello);
// The fixed part; the text follows. `text_length` is how long it is. Nothing if it is no Hello.
struct HelloHead {
  Hello hello;
  std::size_t text_length = 0;
};
std::optional<HelloHead> decode_hello(std::span<const std::byte, hello_size> bytes);

// Whether we can talk to a peer of that version: the same major one, and minor ones that are at
// most one apart. Errors: invalid_version, naming both.
Status check_version(ProtocolVersion peer, std::string_view peer_name);

}  // namespace larder::real
