#include "real/system/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace larder::real {
namespace {

// The stacks of new threads, until the end of the test.
class StackSize {
 public:
  explicit StackSize(std::size_t bytes) {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t attributes{};
    ::pthread_getattr_default_np(&attributes);
    EXPECT_EQ(::pthread_attr_setstacksize(&attributes, bytes), 0);
    EXPECT_EQ(::pthread_setattr_default_np(&attributes), 0);
    ::pthread_attr_destroy(&attributes);
  }
  StackSize(const StackSize&) = delete;
  StackSize& operator=(const StackSize&) = delete;
  ~StackSize() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_{};
};

TEST(StartThread, OneThatCannotBeStartedIsNamedWithTheLimits) {
  const StackSize beyond_the_address_space(std::size_t{1} << 50);
  try {
    start_thread("master", [] {}).join();
    FAIL() << "it was started";
  } catch (const std::runtime_error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("thread \"master\""), std::string::npos) << said;
    EXPECT_NE(said.find("ulimit -u"), std::string::npos) << said;
  }
}

TEST(StartThread, RunsItsBody) {
  bool ran = false;
  start_thread("one", [&] { ran = true; }).join();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace larder::real
