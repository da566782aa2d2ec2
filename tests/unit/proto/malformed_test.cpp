#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "proto/larder.pb.h"
#include "tests/unit/proto/arbitrary.h"

namespace larder {
namespace {

using test::Arbitrary;
using test::bytes_of;
using test::encoded;

std::string text_of(const google::protobuf::MessageLite& message) {
  return message.SerializeAsString();
}

// What is expected of the text of an error: the name of the message or column, and a number.
void expect_refused(const wire::Request& request, ErrorCode code, std::string_view says) {
  const auto decoded = decode_request(bytes_of(text_of(request)));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), code);
  EXPECT_NE(decoded.error().message().find(says), std::string::npos) << decoded.error().message();
}

void add_key(wire::Texts& texts, std::string_view key) {
  texts.mutable_joined()->append(key);
  texts.add_lengths(static_cast<std::uint32_t>(key.size()));
}

TEST(Malformed, AKeyOneByteTooLongIsNamedWithItsLength) {
  const std::string key(key_bytes_max + 1, 'k');
  const auto decoded =
      decode_request(bytes_of(encoded(Request{.body = Exists{.items = {{"fine"}, {key}}}})));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), ErrorCode::invalid_key);
  EXPECT_NE(decoded.error().message().find("entry 1 of 'keys' has 1025 bytes, more than 1024"),
            std::string::npos);
}

TEST(Malformed, LengthsThatDoNotAddUpAreRefused) {
  wire::Request request;
  wire::Texts& keys = *request.mutable_exists()->mutable_keys();
  add_key(keys, "abc");
  keys.add_lengths(1);
  expect_refused(request, ErrorCode::invalid_params, "lengths of 'keys'");
  keys.set_joined("abcde");
  expect_refused(request, ErrorCode::invalid_params, "5 bytes");
}

TEST(Malformed, AColumnOfAnotherLengthIsRefused) {
  wire::Request request;
  wire::PutEnd& body = *request.mutable_put_end();
  add_key(*body.mutable_keys(), "a");
  add_key(*body.mutable_keys(), "b");
  for (int i = 0; i < 4; ++i) body.add_put_ids(1);
  body.add_sealed(1);
  expect_refused(request, ErrorCode::invalid_params, "'sealed' has 1 entries, not 2");
  body.clear_sealed();
  body.add_put_ids(1);
  expect_refused(request, ErrorCode::invalid_params, "'put_ids' has 5 entries, not 4");
}

TEST(Malformed, FlagsBeyondTheItemsOrOutOfOrderAreRefused) {
  wire::Request request;
  wire::Objects& objects = *request.mutable_put_start()->mutable_objects();
  add_key(*objects.mutable_keys(), "a");
  add_key(*objects.mutable_keys(), "b");
  objects.add_hard_pinned(2);
  expect_refused(request, ErrorCode::invalid_params, "index 2 in 'hard_pinned'");
  objects.clear_hard_pinned();
  objects.add_hard_pinned(1);
  objects.add_hard_pinned(1);
  expect_refused(request, ErrorCode::invalid_params, "index 1 in 'hard_pinned'");
}

TEST(Malformed, MoreItemsThanOneCallMayCarryAreRefused) {
  wire::Request request;
  wire::Texts& keys = *request.mutable_get_replica_list()->mutable_keys();
  for (std::size_t i = 0; i <= items_per_call_max; ++i) add_key(keys, "k");
  expect_refused(request, ErrorCode::invalid_params, "65537");
}

TEST(Malformed, DurationsThatCouldOverflowAClockAreRefused) {
  wire::Request request;
  request.mutable_heartbeat()->set_fill_queue(std::uint64_t{1} << 63);
  expect_refused(request, ErrorCode::invalid_params, "fill_queue");
}

TEST(Malformed, StagesThatDoNotAddUpOrAreTooManyAreRefused) {
  wire::Request request;
  wire::Stages& stages = *request.mutable_keep_alive()->mutable_stages();
  stages.add_lengths(2);
  stages.add_buckets(1);
  stages.add_counts(1);
  expect_refused(request, ErrorCode::invalid_params, "'buckets' has 1 entries, not 2");
  stages.add_buckets(2);
  expect_refused(request, ErrorCode::invalid_params, "'counts' has 1 entries, not 2");
  stages.add_counts(1);
  EXPECT_TRUE(decode_request(bytes_of(text_of(request))));
  for (int i = 0; i < 3; ++i) stages.add_lengths(0);
  expect_refused(request, ErrorCode::invalid_params, "4 lists of stages; there are 3");
  stages.Clear();
  stages.add_lengths(5000);
  for (int i = 0; i < 5000; ++i) stages.add_buckets(1), stages.add_counts(1);
  expect_refused(request, ErrorCode::invalid_params, "5000 buckets");
}

TEST(Malformed, AListingThatAsksTooMuchIsRefused) {
  wire::Request request;
  request.mutable_list_objects()->set_prefix(std::string(key_bytes_max + 1, 'k'));
  expect_refused(request, ErrorCode::invalid_key, "'prefix' has 1025 bytes");
  request.mutable_list_objects()->set_prefix("");
  request.mutable_list_objects()->set_pattern(std::string(pattern_bytes_max + 1, 'a'));
  expect_refused(request, ErrorCode::invalid_key, "'pattern' has 4097 bytes");
}

TEST(Malformed, DetailsWhoseCountsDoNotAddUpAreRefused) {
  const auto refused = [](const wire::Reply& reply, std::string_view says) {
    const auto decoded = decode_reply(bytes_of(text_of(reply)));
    ASSERT_FALSE(decoded);
    EXPECT_NE(decoded.error().message().find(says), std::string::npos) << decoded.error().message();
  };
  wire::Reply reply;
  reply.mutable_outcomes()->set_count(1);
  wire::ObjectDetails& details = *reply.mutable_object_details();
  refused(reply, "'version_counts' has 0 entries, not 1");
  details.add_version_counts(1);
  refused(reply, "'replica_counts' has 0 entries, not 1");
  details.mutable_versions()->add_replica_counts(0);
  refused(reply, "'put_ids' has 0 entries, not 2");
  details.mutable_versions()->add_put_ids(1);
  details.mutable_versions()->add_put_ids(2);
  EXPECT_TRUE(decode_reply(bytes_of(text_of(reply))));
  details.mutable_versions()->set_replica_counts(0, 2);
  refused(reply, "'segments' has 0 entries, not 4");
  details.set_version_counts(0, 0xffffffff);
  refused(reply, "items, more than 65536");
}

TEST(Malformed, UnknownKindsAreRefused) {
  wire::Request request;
  expect_refused(request, ErrorCode::invalid_params, "not known");
  wire::RegisterNode& node = *request.mutable_register_node();
  node.mutable_segments()->add_ids(1);
  node.mutable_segments()->add_ids(2);
  node.mutable_segments()->add_kinds(9);
  expect_refused(request, ErrorCode::invalid_params, "segment kind 9");
}

TEST(Malformed, AReplyWithoutReplicasOrWithTooManyIsRefused) {
  wire::Reply reply;
  reply.mutable_outcomes()->set_count(1);
  wire::PutGrants& grants = *reply.mutable_put_grants();
  grants.add_put_ids(1);
  grants.add_put_ids(2);
  for (const std::uint32_t count : {0u, replicas_max + 1}) {
    grants.mutable_replicas()->clear_counts();
    grants.mutable_replicas()->add_counts(count);
    const auto decoded = decode_reply(bytes_of(text_of(reply)));
    ASSERT_FALSE(decoded);
    EXPECT_NE(decoded.error().message().find(std::to_string(count)), std::string::npos);
  }
}

TEST(Malformed, AReplyThatClaimsBillionsOfAnswersIsRefused) {
  wire::Reply reply;
  reply.mutable_outcomes()->set_count(4'000'000'000);
  reply.mutable_done();
  EXPECT_FALSE(decode_reply(bytes_of(text_of(reply))));
}

TEST(Malformed, PartsAndRangesBeyondTheirPayloadAreRefusedWithoutOverflow) {
  const ReadPart beyond{.payload_size = {10}, .offset = {~std::uint64_t{0}}, .length = {2}};
  std::string frame;
  encode(std::vector{beyond}, frame);
  EXPECT_FALSE(decode_read(bytes_of(frame)));

  frame.clear();
  FillRange range;
  range.item.record = {.key = "k", .size = {10}};
  range.item.part_offset = {~std::uint64_t{0}};
  range.item.part_length = {2};
  encode(std::vector{range}, frame);
  EXPECT_FALSE(decode_fill(bytes_of(frame)));
}

// Whatever the bytes are, every decoder ends with a value or an error. (What it must not do, the
// sanitizers see.)
void decode_everything(const std::string& frame) {
  const FrameBytes bytes = bytes_of(frame);
  const auto says_why = [](const auto& decoded) {
    if (!decoded) RC_ASSERT(!decoded.error().facts().detail.empty());
  };
  says_why(decode_request(bytes));
  says_why(decode_reply(bytes));
  says_why(decode_command(bytes));
  says_why(decode_outcomes(bytes));
  says_why(decode_fill(bytes));
  says_why(decode_read(bytes));
  says_why(decode_read_answer(bytes));
}

RC_GTEST_PROP(Malformed, TruncatedAndDamagedFramesNeverDoMoreThanFail, (std::uint64_t seed)) {
  for (std::size_t kind = 0; kind < std::variant_size_v<RequestBody>; ++kind) {
    Arbitrary arbitrary(seed + kind);
    Request request{.header = arbitrary.make<RequestHeader>()};
    arbitrary.fill_variant(request.body, kind);
    std::string frame = encoded(request);
    if (arbitrary.below(2) == 0) frame.resize(arbitrary.below(frame.size() + 1));
    for (std::size_t flips = arbitrary.below(4); flips > 0 && !frame.empty(); --flips) {
      char& byte = frame[arbitrary.below(frame.size())];
      byte = static_cast<char>(byte ^ (1 << arbitrary.below(8)));
    }
    decode_everything(frame);
  }
}

RC_GTEST_PROP(Malformed, GarbageNeverDoesMoreThanFail, (const std::string& garbage)) {
  decode_everything(garbage);
}

}  // namespace
}  // namespace larder
