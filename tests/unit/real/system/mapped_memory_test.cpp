#include "real/system/mapped_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace larder::real {
namespace {

TEST(MappedMemory, IsZeroedAndOfTheSizeThatWasAskedFor) {
  Bytes last;
  auto memory = MappedMemory::make(65_MiB, [&](Bytes done) {
    last = done;
    return true;
  });
  ASSERT_TRUE(memory) << memory.error().message();
  ASSERT_EQ(memory->bytes().size(), (65_MiB).value);
  EXPECT_TRUE(std::ranges::all_of(memory->bytes(), [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_LE(last, 65_MiB);
  memory->bytes().back() = std::byte{1};
}

TEST(MappedMemory, MoreThanThereIsIsAnErrorWithBothNumbers) {
  const auto memory = MappedMemory::make(1024_TiB, {});
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code(), ErrorCode::no_available_handle);
  EXPECT_NE(memory.error().message().find("1.00 PiB"), std::string::npos);
  EXPECT_NE(memory.error().message().find("available here"), std::string::npos);
}

TEST(MappedMemory, CanBeGivenUpHalfWay) {
  const auto memory = MappedMemory::make(256_MiB, [](Bytes) { return false; });
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code(), ErrorCode::cancelled);
}

TEST(MappedMemory, NothingIsMappedForNothing) {
  const auto memory = MappedMemory::make(0_B, {});
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memory->bytes().empty());
}

}  // namespace
}  // namespace larder::real
