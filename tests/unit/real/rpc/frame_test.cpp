#include "real/rpc/frame.h"

#include <gtest/gtest.h>

#include "real/rpc/handshake.h"

namespace larder::real {
namespace {

template <std::size_t N>
std::span<const std::byte, N> head(const std::string& text) {
  return std::as_bytes(std::span(text)).template first<N>();
}

TEST(Frame, AHeaderArrivesAsItWasWritten) {
  std::string frame = open_frame() + "body";
  ASSERT_TRUE(close_frame(FrameKind::read_answer, 0x1122334455667788, frame));
  const auto header = decode_frame_header(head<frame_header_size>(frame));
  ASSERT_TRUE(header);
  EXPECT_EQ(*header, (FrameHeader{4, FrameKind::read_answer, 0x1122334455667788}));
}

TEST(Frame, TextAndUnknownKindsAndTooLongOnesAreRefused) {
  EXPECT_FALSE(decode_frame_header(head<frame_header_size>("GET / HTTP/1.1\r\nHost: x")));
  std::string frame = open_frame();
  ASSERT_TRUE(close_frame(static_cast<FrameKind>(9), 1, frame));
  EXPECT_FALSE(decode_frame_header(head<frame_header_size>(frame)));
  ASSERT_TRUE(close_frame(FrameKind::request, 1, frame));
  frame[3] = '\x7f';  // two gigabytes
  const auto header = decode_frame_header(head<frame_header_size>(frame));
  ASSERT_FALSE(header);
  EXPECT_NE(header.error().message().find("more than"), std::string::npos);
}

TEST(Frame, ABodyTooLongForAFrameIsRefusedBeforeItIsSent) {
  std::string frame(frame_header_size + frame_body_max + 1, 'x');
  EXPECT_EQ(close_frame(FrameKind::request, 1, frame).error().code(), ErrorCode::invalid_params);
}

TEST(Handshake, ArrivesAsItWasWritten) {
  const std::string bytes =
      encode(Hello{.version = {3, 7}, .code = static_cast<std::uint8_t>(Role::data), .text = "me"});
  const auto decoded = decode_hello(head<hello_size>(bytes));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->hello.version, (ProtocolVersion{3, 7}));
  EXPECT_EQ(decoded->hello.code, static_cast<std::uint8_t>(Role::data));
  EXPECT_EQ(bytes.substr(hello_size), "me");
  EXPECT_EQ(decoded->text_length, 2u);
}

TEST(Handshake, OnlyTheSameMajorAndANeighbouringMinorVersionAgree) {
  const auto [major, minor] = protocol_version;
  EXPECT_TRUE(check_version(protocol_version, "x"));
  EXPECT_TRUE(check_version({major, static_cast<std::uint16_t>(minor + 1)}, "x"));
  EXPECT_FALSE(check_version({major, static_cast<std::uint16_t>(minor + 2)}, "x"));
  const Status refused = check_version({9, 3}, "the master");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_version);
  EXPECT_NE(refused.error().message().find("9.3"), std::string::npos);
  EXPECT_NE(refused.error().message().find(to_string(protocol_version)), std::string::npos);
}

}  // namespace
}  // namespace larder::real
