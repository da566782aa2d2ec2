#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "core/base/assert.h"
#include "real/rpc/frame.h"
#include "real/rpc/handshake.h"

// The fixed parts of the wire: the hello of a handshake, and the header of a frame. The first byte
// chooses. What is accepted is written the same again, but for the byte that is ignored; what is
// refused claims more than it may, or does not begin as ours.

namespace larder::real {
namespace {

template <std::size_t size>
std::array<std::byte, size> first(std::span<const std::byte> bytes) {
  std::array<std::byte, size> begin{};
  std::memcpy(begin.data(), bytes.data(), std::min(size, bytes.size()));
  return begin;
}

void check_hello(std::span<const std::byte> bytes) {
  const auto head = decode_hello(first<hello_size>(bytes));
  if (!head) return;
  LARDER_ASSERT(head->text_length <= hello_text_max, "no more is waited for");
  Hello hello = head->hello;
  hello.text.assign(head->text_length, 'x');
  const std::string sent = encode(hello);
  LARDER_ASSERT(sent.size() == hello_size + head->text_length);
  const auto again = decode_hello(first<hello_size>(std::as_bytes(std::span(sent))));
  LARDER_ASSERT(again && again->text_length == head->text_length);
  LARDER_ASSERT(again->hello.version == hello.version && again->hello.code == hello.code);
  const bool same_major = hello.version.major == protocol_version.major;
  LARDER_ASSERT(same_major || !check_version(hello.version, "the peer"));
}

void check_frame(std::span<const std::byte> bytes) {
  const auto raw = first<frame_header_size>(bytes);
  const auto header = decode_frame_header(raw);
  if (!header) {
    LARDER_ASSERT(header.error().code() == ErrorCode::invalid_params);
    return;
  }
  LARDER_ASSERT(header->length <= frame_body_max, "no more is waited for");
  if (header->length > 4096) return;  // a body of that size is not worth its time
  std::string frame = open_frame();
  frame.resize(frame.size() + header->length);
  LARDER_ASSERT(close_frame(header->kind, header->ticket, frame).has_value());
  LARDER_ASSERT(std::memcmp(frame.data(), raw.data(), raw.size()) == 0);
}

}  // namespace
}  // namespace larder::real

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  if (data[0] % 2 == 0) {
    larder::real::check_hello(bytes);
  } else {
    larder::real::check_frame(bytes);
  }
  return 0;
}
