#include "real/rpc/loop.h"

#include <gtest/gtest.h>

namespace larder::real {
namespace {

using namespace std::chrono_literals;

TEST(Loop, OneThatHadNothingLeftToDoServesWhatComesLater) {
  Loop loop;
  loop.run_until([] { return false; }, loop.now() + 1ms);
  bool rung = false;
  Alarm alarm(loop, [&] { rung = true; });
  alarm.set(loop.now() + 1ms);
  loop.run_until([&] { return rung; }, loop.now() + 10s);
  EXPECT_TRUE(rung);
}

}  // namespace
}  // namespace larder::real
