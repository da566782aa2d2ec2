#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/protocol/footer.h"
#include "core/protocol/object.h"

namespace larder {

// The place that a payload takes in a segment. Master and node must agree on it.
struct ExtentShape {
  Bytes length;
  std::uint64_t alignment = 0;
};

inline constexpr std::uint64_t extent_granule = 64;  // of offsets and lengths; a cache line
inline constexpr std::uint64_t page_alignment = 4096;
inline constexpr Bytes page_aligned_from = 256_KiB;  // of payload

// The payload rounded up to 64 bytes, then the footer (not in FILE segments, which only their node
// reads); at least 64 bytes. Aligned to 64 bytes, from 256 KiB of payload on to 4 KiB, so that a
// large value can be moved by O_DIRECT and by whole pages, at a loss of at most 1.6 % between two
// of them. Total: a payload too large for 64 bits gets the largest length, which no segment holds.
constexpr ExtentShape extent_shape(Bytes payload, SegmentKind kind = SegmentKind::memory) {
  constexpr Bytes longest = {~std::uint64_t{0} & ~(extent_granule - 1)};
  const std::uint64_t alignment = payload < page_aligned_from ? extent_granule : page_alignment;
  if (payload > longest - footer_size) return {.length = longest, .alignment = alignment};
  Bytes length = payload.rounded_up(extent_granule);
  if (kind == SegmentKind::memory) length += footer_size;
  if (length == 0_B) length = {extent_granule};
  return {.length = length, .alignment = alignment};
}

}  // namespace larder
