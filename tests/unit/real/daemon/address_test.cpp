#include "real/daemon/address.h"

#include <gtest/gtest.h>

namespace larder::real {
namespace {

TEST(Loopback, IsKnownByAddressAndName) {
  for (const char* host : {"127.0.0.1", "127.255.0.9", "::1", "localhost"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host :
       {"0.0.0.0", "::", "10.1.2.3", "128.0.0.1", "fe80::1", "no.such.invalid"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(Exposure, OtherThanLoopbackNeedsTheOperatorsWord) {
  EXPECT_TRUE(check_exposure({.host = "127.0.0.1", .port = 1}, false));
  EXPECT_TRUE(check_exposure({.host = "10.0.0.1", .port = 1}, true));
  const Status refused = check_exposure({.host = "0.0.0.0", .port = 1}, false);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("--insecure"), std::string::npos);
}

TEST(Advertised, IsTheAddressOfListeningUnlessTheOperatorSaysAnother) {
  const Endpoint here{.host = "127.0.0.1", .port = 7000};
  EXPECT_EQ(advertised({.listening = here, .host = "", .master = here}).value(), here);
  const Endpoint all{.host = "0.0.0.0", .port = 7000};
  const Endpoint master{.host = "10.0.0.1", .port = 7700};
  EXPECT_EQ(advertised({.listening = all, .host = "10.0.0.2", .master = master}).value(),
            (Endpoint{.host = "10.0.0.2", .port = 7000}));
}

// The node knows where it serves and where its master is; a master on a loopback address is on this
// machine, and so are all its clients.
TEST(StatementD3, ALoopbackAddressToldToAMasterElsewhereIsRefusedWithWhatToSet) {
  const Endpoint master{.host = "10.0.0.1", .port = 7700};
  for (const char* loopback : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    const Endpoint here{.host = loopback, .port = 7000};
    const Endpoint outside{.host = "10.0.0.2", .port = 7000};
    for (const Advertising& bad :
         {Advertising{.listening = here, .host = "", .master = master},
          Advertising{.listening = outside, .host = loopback, .master = master}}) {
      const auto told = advertised(bad);
      ASSERT_FALSE(told) << loopback;
      EXPECT_EQ(told.error().code(), ErrorCode::invalid_params);
      for (const char* fact : {"10.0.0.1:7700", "--listen", "--insecure", "--advertise"}) {
        EXPECT_NE(told.error().message().find(fact), std::string::npos) << told.error().message();
      }
    }
    EXPECT_TRUE(advertised({.listening = here, .host = "", .master = here}));
  }
}

TEST(Advertised, WhatNobodyElseCouldReachIsRefusedWithWhatToSet) {
  const Endpoint here{.host = "127.0.0.1", .port = 7000};
  const Endpoint master{.host = "10.0.0.1", .port = 7700};
  for (const Advertising& bad :
       {Advertising{.listening = here, .host = "", .master = master},
        Advertising{.listening = here, .host = "x:7000", .master = here},
        Advertising{.listening = here, .host = "a b", .master = here},
        Advertising{.listening = {.host = "10.0.0.2", .port = 1}, .host = "::1", .master = master},
        Advertising{.listening = {.host = "::", .port = 1}, .host = "", .master = here}}) {
    const auto told = advertised(bad);
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code(), ErrorCode::invalid_params);
    EXPECT_NE(told.error().message().find("--advertise"), std::string::npos);
  }
}

}  // namespace
}  // namespace larder::real
