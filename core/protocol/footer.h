#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/base/id.h"

namespace larder {

// The 64 bytes behind a sealed payload (design: §5.4): they exist exactly as long as the node holds
// the extent as sealed, and name the put whose bytes stand before them. Little endian.
//   0 magic 4 | version 2 | flags 2 | fingerprint 16 | epoch 8 | counter 8 | length 8 | checksum 8
//   | 56: own checksum 8
struct Footer {
  Fingerprint name;  // of (tenant, key)
  PutId put_id;
  Bytes length;                           // of the payload
  std::optional<std::uint64_t> checksum;  // of the payload
  bool operator==(const Footer&) const = default;
};

inline constexpr Bytes footer_size = 64_B;
using FooterBytes = std::array<std::byte, 64>;

FooterBytes encode(const Footer& footer);
// Nothing unless magic, version and the footer's own checksum are right.
std::optional<Footer> decode_footer(const FooterBytes& bytes);

// Where the footer of a payload stands, from the extent's begin.
constexpr Bytes footer_offset(Bytes payload) { return payload.rounded_up(64); }

}  // namespace larder
