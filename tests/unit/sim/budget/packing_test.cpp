#include "sim/budget/packing.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace larder::sim {
namespace {

using workloads::BlockId;
using workloads::Request;

double sum_of(const PackingShares& shares) {
  return shares.payload + shares.tails + shares.footers + shares.rounding + shares.alignment +
         shares.unused;
}

// Requests of one prompt each, with ids that nobody has used before.
class Prompts {
 public:
  explicit Prompts(std::uint32_t block_tokens) : block_tokens_(block_tokens) {}
  Status add(PackingMeter& meter, std::uint64_t tokens) {
    const std::uint64_t blocks = (tokens + block_tokens_ - 1) / block_tokens_;
    ids_.clear();
    for (std::uint64_t i = 0; i < blocks; ++i) ids_.push_back({next_++});
    return meter.add({.input_tokens = tokens, .block_tokens = block_tokens_, .blocks = ids_});
  }

 private:
  std::uint32_t block_tokens_;
  std::uint64_t next_ = 0;
  std::vector<BlockId> ids_;
};

// 512 tokens of 960 bytes are 480 KiB, so 491,520 + 64 bytes at multiples of 4 KiB: 495,616 from
// one to the next. 16 of them and 8 KiB are the segment.
TEST(Packing, OfOneSizeLosesWhatCanBeComputedByHand) {
  const PageShape shape{.token = {960}, .tokens = 512};
  constexpr std::uint64_t segment = 16 * 495'616 + 8'192;
  const PackingShares shares = whole_pages_packed(shape, {segment}).value();
  const auto share = [&](double bytes) { return bytes / segment; };
  EXPECT_DOUBLE_EQ(shares.payload, share(16 * 491'520));
  EXPECT_DOUBLE_EQ(shares.tails, 0);
  EXPECT_DOUBLE_EQ(shares.footers, share(16 * 64));
  EXPECT_DOUBLE_EQ(shares.rounding, 0);
  EXPECT_DOUBLE_EQ(shares.alignment, share(16 * 4'032));
  EXPECT_DOUBLE_EQ(shares.unused, share(8'192));
}

// 10 tokens of 99 bytes are 990, rounded up to 1,024 with 34, and a footer.
TEST(Packing, SmallObjectsAreRoundedTo64Bytes) {
  const PackingShares shares =
      whole_pages_packed({.token = {99}, .tokens = 10}, {100 * 1'088}).value();
  EXPECT_NEAR(shares.payload, 990.0 / 1'088, 1e-12);
  EXPECT_NEAR(shares.rounding, 34.0 / 1'088, 1e-12);
  EXPECT_NEAR(shares.footers, 64.0 / 1'088, 1e-12);
  EXPECT_DOUBLE_EQ(shares.alignment + shares.unused, 0);
}

// A prompt of 3 blocks of 512 and one of 256 in place of 512.
TEST(Packing, ThePageInWhichAPromptEndsHasATailUnlessItIsCut) {
  PageShape shape{.token = {128}, .tokens = 512, .objects = 2};
  PackingMeter whole = PackingMeter::make(shape, 16_MiB).value();
  shape.cut = true;
  PackingMeter cut = PackingMeter::make(shape, 16_MiB).value();
  Prompts prompts(512);
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(prompts.add(whole, 3 * 512 + 256));
    ASSERT_TRUE(prompts.add(cut, 3 * 512 + 256));
  }
  const PackingShares with_tails = whole.shares().value();
  EXPECT_NEAR(with_tails.tails / (with_tails.payload + with_tails.tails), 256.0 / 2048, 0.002);
  EXPECT_DOUBLE_EQ(cut.shares()->tails, 0);
  EXPECT_GT(cut.shares()->payload, with_tails.payload);
}

TEST(Packing, SharesSumToOneWhateverTheLengths) {
  PackingMeter meter =
      PackingMeter::make({.token = {1'234}, .tokens = 512, .objects = 2, .cut = true}, 50_MiB)
          .value();
  Prompts prompts(512);
  for (std::uint64_t i = 0; i < 2'000; ++i) ASSERT_TRUE(prompts.add(meter, 1 + i * 7'919 % 5'000));
  EXPECT_GT(meter.refusals(), 100u);
  const PackingShares shares = meter.shares().value();
  EXPECT_NEAR(sum_of(shares), 1, 1e-12);
  for (const double share : {shares.payload, shares.footers, shares.rounding, shares.alignment}) {
    EXPECT_GT(share, 0);
  }
  EXPECT_GE(shares.unused, 0);
  EXPECT_LT(shares.unused, 0.2);
}

TEST(Packing, APageOfSeveralBlocksIsPutOnce) {
  PackingMeter meter = PackingMeter::make({.token = {64}, .tokens = 1024}, 16_MiB).value();
  const std::vector<BlockId> blocks{{1}, {2}, {3}, {4}, {5}};
  const Request request{.input_tokens = 2'400, .block_tokens = 512, .blocks = blocks};
  ASSERT_TRUE(meter.add(request));
  ASSERT_TRUE(meter.add(request));
  EXPECT_EQ(meter.pages(), 2u);  // what is left over is in no page
  EXPECT_FALSE(meter.add({.input_tokens = 100, .block_tokens = 768, .blocks = blocks}));
}

TEST(Packing, E1IdsThatDifferOnlyInTheirUpperHalfAreDifferentPages) {
  PackingMeter meter = PackingMeter::make({.token = {64}, .tokens = 16}, 1_MiB).value();
  const std::vector<BlockId> blocks{{1}, {1ULL << 63 | 1}, {1ULL << 32 | 1}};
  ASSERT_TRUE(meter.add({.input_tokens = 48, .block_tokens = 16, .blocks = blocks}));
  EXPECT_EQ(meter.pages(), 3u);
}

TEST(Packing, E7ATraceThatDoesNotFillTheSegmentHasNoShares) {
  PackingMeter meter = PackingMeter::make({.token = {64}, .tokens = 16}, 1_MiB).value();
  EXPECT_EQ(meter.shares(), std::nullopt);
  Prompts prompts(16);
  ASSERT_TRUE(prompts.add(meter, 160));
  EXPECT_EQ(meter.pages(), 10u);
  EXPECT_EQ(meter.shares(), std::nullopt);
}

TEST(Packing, E10APageLargerThanTheSegmentIsAnError) {
  const auto none = PackingMeter::make({.token = {327'680}, .tokens = 512}, 100_MiB);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("100.00 MiB has no room for one page, of 1 x 160.00 MiB"),
            std::string::npos)
      << none.error().message();
  EXPECT_FALSE(PackingMeter::make({.token = {0}}, 1_GiB));
  EXPECT_FALSE(PackingMeter::make({.token = {64}, .tokens = 0}, 1_GiB));
  EXPECT_FALSE(PackingMeter::make({.token = {64}}, 0_B));
}

TEST(Packing, E13WhatIsKeptDoesNotGrowWithTheRowsOfATrace) {
  PackingMeter meter = PackingMeter::make({.token = {1'024}, .tokens = 16}, 1_MiB).value();
  Prompts prompts(16);
  for (int row = 0; row < 20'000; ++row) {
    ASSERT_TRUE(prompts.add(meter, 48));
    ASSERT_LE(meter.kept(), 64u);
  }
  EXPECT_EQ(meter.pages(), 60'000u);
}

}  // namespace
}  // namespace larder::sim
