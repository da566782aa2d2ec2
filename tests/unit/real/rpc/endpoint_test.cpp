#include "real/rpc/endpoint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace larder::real {
namespace {

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
  const char* bad[] = {"",
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
                       "http://a:80",
                       "\"host\":80"};
  for (const char* text : bad) {
    const auto parsed = parse_endpoint(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::invalid_params);
    EXPECT_NE(parsed.error().message().find(text), std::string::npos);
  }
}

RC_GTEST_PROP(ParseEndpoint, WhatItReadsFromAnyTextItReadsAgainFromItsOwn,
              (const std::string& text)) {
  if (const auto parsed = parse_endpoint(text, std::uint16_t{1})) {
    RC_ASSERT(*parse_endpoint(to_string(*parsed)) == *parsed);
  }
}

}  // namespace
}  // namespace larder::real
