#include "core/protocol/footer.h"

#include <gtest/gtest.h>

namespace larder {
namespace {

Footer sample() {
  return {.name = fingerprint("tenant", "key"),
          .put_id = {.epoch = {7}, .counter = 9},
          .length = 4097_B,
          .checksum = 0x1122334455667788u};
}

TEST(Footer, RoundTrips) {
  EXPECT_EQ(decode_footer(encode(sample())), sample());
  Footer without = sample();
  without.checksum.reset();
  EXPECT_EQ(decode_footer(encode(without)), without);
}

TEST(Footer, OneFlippedBitAnywhereMakesItInvalid) {
  const FooterBytes good = encode(sample());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    FooterBytes bad = good;
    bad[bit / 8] ^= std::byte(1u << (bit % 8));
    EXPECT_EQ(decode_footer(bad), std::nullopt) << "bit " << bit;
  }
}

TEST(Footer, AnOverwrittenFooterIsInvalid) {
  EXPECT_EQ(decode_footer(FooterBytes{}), std::nullopt);
}

}  // namespace
}  // namespace larder
