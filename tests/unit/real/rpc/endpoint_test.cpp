#include "real/rpc/endpoint.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "core/base/printable.h"

namespace larder::real {
namespace {

using namespace std::string_view_literals;

TEST(ParseEndpoint, ReadsNamesAndAddressesOfBothFamilies) {
  const struct {
    const char* text;
    Endpoint endpoint;
  } good[] = {
      {"127.0.0.1:7700", {"127.0.0.1", 7700}},
      {"node-1.example.org:0", {"node-1.example.org", 0}},
      {"localhost:65535", {"localhost", 65535}},
      {"[::1]:80", {"::1", 80}},
      {"[fe80::1%eth0]:7700", {"fe80::1%eth0", 7700}},
      {"[::ffff:10.0.0.1]:1", {"::ffff:10.0.0.1", 1}},
  };
  for (const auto& [text, endpoint] : good) {
    const auto parsed = parse_endpoint(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, endpoint) << text;
    EXPECT_EQ(to_string(*parsed), text);
  }
}

TEST(ParseEndpoint, ADefaultPortMayBeLeftOut) {
  EXPECT_EQ(parse_endpoint("host", 7700), (Endpoint{"host", 7700}));
  EXPECT_EQ(parse_endpoint("host:1", 7700), (Endpoint{"host", 1}));
  EXPECT_EQ(parse_endpoint("::1", 7700), (Endpoint{"::1", 7700}));
  EXPECT_EQ(parse_endpoint("[fe80::2%1]", 7700), (Endpoint{"fe80::2%1", 7700}));
}

TEST(ParseEndpoint, WhatIsNoEndpointIsRefusedWithItsText) {
  const std::string_view bad[] = {"",
                                  ":",
                                  ":80",
                                  "host",
                                  "host:",
                                  "host:65536",
                                  "host:-1",
                                  "host:+1",
                                  "host:8o",
                                  "host: 80",
                                  "host:80 ",
                                  "::1",
                                  "::1:80",
                                  "[::1]",
                                  "[::1]80",
                                  "[::1]:",
                                  "[::1:80",
                                  "[]:80",
                                  "[host]:80",
                                  "[1.2.3.4]:80",
                                  "256.1.1.1:80",
                                  "1.2.3:80",
                                  "ho st:80",
                                  "a/b:80",
                                  "[fe80::1%]:80",
                                  "[fe80::1%a b]:80",
                                  "[fe80::1%eth0%eth0]:80",
                                  "[fe80::1%an-interface-of-more]:80",
                                  "[::1%eth0\n]:80",
                                  "[::1]]:80",
                                  "[[::1]:80",
                                  "[::1]:80:80",
                                  "[12345::]:80",
                                  "[:::1]:80",
                                  "1.2.3.4.5:80",
                                  "01.2.3.256:80",
                                  ".host:80",
                                  "a..b:80",
                                  "host:0x50",
                                  "host:80 80",
                                  "host:99999999999999999999",
                                  "'host:80'",
                                  "user@host:80",
                                  "host\t:80",
                                  "http://a:80",
                                  "\"host\":80",
                                  "::1\0:80"sv,
                                  "[::1\0]:80"sv,
                                  "[::1\0%eth0]:80"sv,
                                  "1.2.3.4\0:80"sv,
                                  "host:80\0"sv};
  for (const std::string_view text : bad) {
    const auto parsed = parse_endpoint(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::invalid_params);
    EXPECT_NE(parsed.error().message().find(printable(text)), std::string::npos);
  }
}

TEST(ParseEndpoint, AZeroByteEndsNoAddress) {
  for (const std::string_view text :
       {"::1\0"sv, "::1\0:80"sv, "[::1\0]"sv, "[::1\0%eth0]"sv, "h\0"sv}) {
    EXPECT_FALSE(parse_endpoint(text, 7700)) << printable(text);
  }
}

rc::Gen<std::string> any_of(const std::string& letters, int length_max) {
  return rc::gen::mapcat(rc::gen::inRange(1, length_max + 1), [letters](int length) {
    return rc::gen::container<std::string>(static_cast<std::size_t>(length),
                                           rc::gen::elementOf(letters));
  });
}

std::string any_host() {
  const std::string letters = "abcxyzABC0123456789-_";
  switch (*rc::gen::inRange(0, 4)) {
    case 0: {
      std::array<std::uint8_t, 4> address = *rc::gen::arbitrary<std::array<std::uint8_t, 4>>();
      std::array<char, INET_ADDRSTRLEN> text{};
      return ::inet_ntop(AF_INET, address.data(), text.data(), text.size());
    }
    case 1: {
      std::array<std::uint8_t, 16> address = *rc::gen::arbitrary<std::array<std::uint8_t, 16>>();
      std::array<char, INET6_ADDRSTRLEN> text{};
      const std::string host = ::inet_ntop(AF_INET6, address.data(), text.data(), text.size());
      return *rc::gen::arbitrary<bool>() ? host : host + "%" + *any_of(letters, 15);
    }
    case 2:  // a letter in front, since digits and dots alone are an address
      return "h" + *any_of(letters, 60);
    default:
      return "h" + *any_of(letters, 60) + "." + *any_of(letters, 60);
  }
}

RC_GTEST_PROP(ParseEndpoint, ReadsBackWhatItWrites, ()) {
  const Endpoint endpoint{.host = any_host(), .port = *rc::gen::arbitrary<std::uint16_t>()};
  RC_ASSERT(parse_endpoint(to_string(endpoint)).value() == endpoint);
  RC_ASSERT(parse_endpoint(to_string(endpoint), std::uint16_t{1}).value() == endpoint);
}

RC_GTEST_PROP(ParseEndpoint, AHostAloneGetsTheDefaultPort, (std::uint16_t port)) {
  const std::string host = any_host();
  RC_ASSERT(parse_endpoint(host, port).value() == (Endpoint{.host = host, .port = port}));
  RC_ASSERT(!parse_endpoint(host));
}

RC_GTEST_PROP(ParseEndpoint, WhatItReadsFromAnyTextItReadsAgainFromItsOwn,
              (const std::string& text)) {
  if (const auto parsed = parse_endpoint(text, std::uint16_t{1})) {
    RC_ASSERT(*parse_endpoint(to_string(*parsed)) == *parsed);
  }
}

}  // namespace
}  // namespace larder::real
