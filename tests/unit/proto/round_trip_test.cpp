#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/proto/arbitrary.h"

namespace larder {
namespace {

using test::Arbitrary;
using test::bytes_of;
using test::encoded;
using test::same;

// `check(index)` for each kind of a variant, a hundred times each by default.
RC_GTEST_PROP(RoundTrip, EveryRequestArrivesAsItWasSent, (std::uint64_t seed)) {
  for (std::size_t kind = 0; kind < std::variant_size_v<RequestBody>; ++kind) {
    Arbitrary arbitrary(seed);
    Request request{.header = arbitrary.make<RequestHeader>()};
    arbitrary.fill_variant(request.body, kind);
    const auto decoded = decode_request(bytes_of(encoded(request)));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(same(decoded->request, request));
  }
}

RC_GTEST_PROP(RoundTrip, EveryAnswerArrivesAsItWasSent, (std::uint64_t seed)) {
  for (std::size_t kind = 0; kind < std::variant_size_v<AnswerValue>; ++kind) {
    Arbitrary arbitrary(seed);
    const bool many = kind != AnswerValue(SessionOpened{}).index() &&
                      kind < AnswerValue(NodeRegistered{}).index();
    ReplyPart part{.epoch = arbitrary.make<Epoch>()};
    const bool in_order = arbitrary.below(2) == 0;
    for (std::uint32_t i = 0; i < (many ? arbitrary.below(6) : 1); ++i) {
      part.indices.push_back(in_order ? i : 1000 - i);
      Answer& answer = part.answers.emplace_back();
      if (arbitrary.below(4) == 0) {
        answer = std::unexpected(arbitrary.error());
      } else {
        arbitrary.fill_variant(*answer, kind);
      }
    }
    const auto decoded = decode_reply(bytes_of(encoded(part)));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(same(*decoded, part));
  }
}

RC_GTEST_PROP(RoundTrip, EveryCommandArrivesAsItWasSent, (std::uint64_t seed)) {
  for (std::size_t kind = 0; kind < std::variant_size_v<CommandBody>; ++kind) {
    Arbitrary arbitrary(seed);
    Command command = arbitrary.make<Command>();
    arbitrary.fill_variant(command.body, kind);
    const auto decoded = decode_command(bytes_of(encoded(command)));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(same(*decoded, command));
  }
}

RC_GTEST_PROP(RoundTrip, OutcomesKeepEveryFact, (std::uint64_t seed)) {
  Arbitrary arbitrary(seed);
  std::vector<Status> outcomes(arbitrary.below(6));
  for (Status& outcome : outcomes) {
    if (arbitrary.below(2) == 0) outcome = std::unexpected(arbitrary.error());
  }
  std::string frame;
  encode(outcomes, frame);
  const auto decoded = decode_outcomes(bytes_of(frame));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(same(*decoded, outcomes));
}

RC_GTEST_PROP(RoundTrip, AFillArrivesAsItWasSent, (std::uint64_t seed)) {
  Arbitrary arbitrary(seed);
  std::vector<FillRange> ranges(arbitrary.below(6));
  for (FillRange& range : ranges) {
    arbitrary.fill(range.item);
    const std::uint64_t size = range.item.record.size.value;
    range.item.part_offset = {size == 0 ? 0 : arbitrary.below(size)};
    range.item.part_length = Bytes{size} - range.item.part_offset;
  }
  std::string frame;
  encode(ranges, frame);
  const auto decoded = decode_fill(bytes_of(frame));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(decoded->items.size() == ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    FillItem expected = ranges[i].item;
    RC_ASSERT(decoded->checksummed[i] == expected.checksum.has_value());
    expected.checksum.reset();  // it comes behind the payload
    RC_ASSERT(same(decoded->items[i], expected));
  }
}

RC_GTEST_PROP(RoundTrip, AReadAndItsAnswerArriveAsTheyWereSent, (std::uint64_t seed)) {
  Arbitrary arbitrary(seed);
  auto items = arbitrary.make<std::vector<ReadPart>>();
  for (ReadPart& item : items) {
    item.payload_size.value >>= 2;
    item.length.value = item.payload_size.value / 2;
    item.offset.value = item.payload_size.value / 3;
  }
  std::string frame;
  encode(items, frame);
  const auto decoded = decode_read(bytes_of(frame));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == items);

  ReadAnswer answer{.checksum = arbitrary.make<std::optional<std::uint64_t>>()};
  if (arbitrary.below(2) == 0) answer.status = std::unexpected(arbitrary.error());
  const auto got = decode_read_answer(bytes_of(encoded(answer)));
  RC_ASSERT(got.has_value());
  RC_ASSERT(same(*got, answer));
}

TEST(RoundTrip, KeysOfEveryKindAndTheMaximumLengthArrive) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte.push_back(static_cast<char>(i));
  const std::string longest(key_bytes_max, 'x');
  const Request request{
      .body =
          GetReplicaList{.items = {{"a/b@c%d e"}, {every_byte}, {longest}, {"\xf0\x9f\x98\x80"}}}};
  const auto decoded = decode_request(bytes_of(encoded(request)));
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(same(decoded->request, request));
}

TEST(RoundTrip, TheTextsOutliveTheFrameAndAMove) {
  std::string frame =
      encoded(Request{.body = OpenSession{.tenant = "t", .client = "c", .host = "h"}});
  auto decoded = decode_request(bytes_of(frame));
  frame.assign(frame.size(), '#');
  ASSERT_TRUE(decoded);
  const DecodedRequest moved = std::move(*decoded);
  EXPECT_EQ(std::get<OpenSession>(moved.request.body).client, "c");
}

TEST(RoundTrip, ABatchCostsFewBytesBesideItsKeys) {
  std::vector<std::string> keys(128, std::string(64, 'k'));
  GetReplicaList body;
  for (const std::string& key : keys) body.items.push_back({key});
  EXPECT_LE(encoded(Request{.body = body}).size(), 128 * 64 + 128 + 64);
}

TEST(RoundTrip, AnErrorNumberOfALaterVersionIsAnErrorThatNamesIt) {
  std::string frame;
  encode(std::vector<Status>{failed(static_cast<ErrorCode>(-4321), "a new thing")}, frame);
  const auto decoded = decode_outcomes(bytes_of(frame));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->at(0).error().code(), ErrorCode::internal_error);
  EXPECT_NE(decoded->at(0).error().message().find("-4321"), std::string::npos);
}

TEST(RoundTrip, EachRequestKnowsItsKindOfAnswer) {
  EXPECT_TRUE(answers(PutStart{}, PutGrant{}));
  EXPECT_TRUE(answers(Exists{}, Existence{}));
  EXPECT_TRUE(answers(Heartbeat{}, Done{}));
  EXPECT_FALSE(answers(GetReplicaList{}, Done{}));
}

}  // namespace
}  // namespace larder
