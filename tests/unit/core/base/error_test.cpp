#include "core/base/error.h"

#include <gtest/gtest.h>

namespace larder {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return failed(ErrorCode::invalid_params, std::to_string(n) + " is odd");
  return n / 2;
}

Result<int> quarter(int n) {
  LARDER_TRY(const int once, half(n));
  return half(once);
}

TEST(Error, TryPassesTheFirstErrorOn) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().facts().detail, "3 is odd");
  EXPECT_EQ(quarter(6).error().code(), ErrorCode::invalid_params);
}

TEST(Error, MessageHasNameNumberAndEveryFact) {
  const Error error = Error(ErrorCode::transfer_fail, "connection reset")
                          .with_key("k1")
                          .with_size(4096_B)
                          .with_endpoint("127.0.0.1:7701")
                          .with_elapsed(std::chrono::milliseconds(12));
  EXPECT_EQ(error.message(),
            "TRANSFER_FAIL (-800): connection reset; key 'k1'; 4096 bytes; at 127.0.0.1:7701; "
            "after 12 ms");
}

TEST(Error, MessageIsOneLineOfTextWhateverTheKey) {
  const Error error =
      Error(ErrorCode::object_not_found).with_key(std::string_view("a\0\n\x1b[31m\xff", 9));
  EXPECT_EQ(error.message(), "OBJECT_NOT_FOUND (-704); key 'a%00%0A%1B[31m%FF'");
}

TEST(Error, WithoutFactsIsTwoWords) { EXPECT_LE(sizeof(Error), 2 * sizeof(void*)); }

}  // namespace
}  // namespace larder
