#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/assert.h"
#include "proto/codec.h"

// The first byte chooses the decoder, the rest is what a peer sent. What a decoder accepts must be
// something that can be sent again, and is then read as the same: the second encoding is equal to
// the first, byte by byte.

namespace larder {
namespace {

template <class Decode, class Encode>
void check(FrameBytes bytes, Decode decode, Encode encode) {
  const auto first = decode(bytes);
  if (!first) return;
  std::string sent;
  encode(*first, sent);
  const auto second = decode(std::as_bytes(std::span(sent)));
  LARDER_ASSERT(second.has_value(), "what was accepted is accepted again");
  std::string again;
  encode(*second, again);
  LARDER_ASSERT(sent == again, "and means the same");
}

void encode_fill(const DecodedFill& fill, std::string& frame) {
  std::vector<FillRange> ranges;
  for (std::size_t i = 0; i < fill.items.size(); ++i) {
    FillRange& range = ranges.emplace_back(FillRange{.item = fill.items[i]});
    // The checksum itself follows the payload; the message says only that it does.
    if (fill.checksummed[i]) range.item.checksum = 0;
  }
  encode(std::span<const FillRange>(ranges), frame);
}

void check_any(std::uint8_t kind, FrameBytes bytes) {
  const auto plain = [](const auto& value, std::string& frame) { encode(value, frame); };
  switch (kind % 7) {
    case 0:
      check(bytes, decode_request,
            [](const DecodedRequest& value, std::string& frame) { encode(value.request, frame); });
      break;
    case 1:
      check(bytes, decode_reply, plain);
      break;
    case 2:
      check(bytes, decode_command, plain);
      break;
    case 3:
      check(bytes, decode_outcomes, [](const std::vector<Status>& value, std::string& frame) {
        encode(std::span<const Status>(value), frame);
      });
      break;
    case 4:
      check(bytes, decode_read_answer, plain);
      break;
    case 5:
      check(bytes, decode_read, [](const std::vector<ReadPart>& value, std::string& frame) {
        encode(std::span<const ReadPart>(value), frame);
      });
      break;
    default:
      check(bytes, decode_fill, encode_fill);
      break;
  }
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  larder::check_any(data[0], std::as_bytes(std::span(data + 1, size - 1)));
  return 0;
}
