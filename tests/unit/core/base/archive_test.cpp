#include "core/base/archive.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace larder {
namespace {

template <class T>
std::string saved(T value) {
  std::string bytes;
  Archive archive([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  archive(value);
  archive.finish();
  return bytes;
}

template <class T>
Result<T> loaded(const std::string& bytes) {
  T value{};
  Archive archive(std::as_bytes(std::span(bytes)));
  archive(value);
  archive.finish();
  if (!archive.good()) return std::unexpected(archive.status().error());
  return value;
}

TEST(Archive, YesAndNoAreTheOnlyBytesOfAFlag) {
  EXPECT_EQ(loaded<bool>(saved(true)), true);
  EXPECT_EQ(loaded<bool>(saved(false)), false);
  for (int byte = 2; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    ASSERT_FALSE(loaded<bool>(bytes)) << byte;
    EXPECT_EQ(loaded<bool>(bytes).error().code(), ErrorCode::bad_file);
    EXPECT_FALSE(loaded<std::optional<std::uint8_t>>(bytes + "x")) << byte;
    EXPECT_FALSE(loaded<std::unique_ptr<std::uint8_t>>(bytes + "x")) << byte;
  }
}

TEST(Archive, NothingIsReadBehindTheEndNorLeftBeforeIt) {
  const std::string whole = saved(std::optional<std::string>("a text"));
  EXPECT_EQ(loaded<std::optional<std::string>>(whole), "a text");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(loaded<std::optional<std::string>>(whole.substr(0, length))) << length;
  }
  EXPECT_FALSE(loaded<std::optional<std::string>>(whole + "x"));
}

}  // namespace
}  // namespace larder
