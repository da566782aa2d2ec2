#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/ports/transport.h"
#include "core/protocol/answer.h"
#include "core/protocol/command.h"
#include "core/protocol/fill.h"
#include "core/protocol/request.h"

// Core's structs to and from the bytes of a frame (proto/larder.proto).
//
// encode() appends to `frame`; it does not look whether the receiver will take what it is given.
// decode() takes bytes from anywhere: what is malformed, out of the bounds of limits.h or names an
// unknown kind is an error (invalid_params; invalid_key for a name that is too long) that says what
// and where. It never reads outside of the bytes, and allocates at most some ten times their number
// plus what items_per_call_max results take. What a single item asks for (an empty key, 17
// replicas) is for core to judge. No state; callable from any thread. A few ns to some tens of ns
// for each item and direction.

namespace larder {

using FrameBytes = std::span<const std::byte>;

// The longest duration in a message, so that adding one to a clock cannot overflow.
inline constexpr Duration duration_max = std::chrono::hours(24 * 365 * 100);
inline constexpr std::size_t error_detail_bytes_max = 4096;  // encode() cuts what is longer

// A message as it was parsed, which the texts of a struct view. Moving it keeps the views valid.
class MessageHolder {
 public:
  template <class Parsed>
  explicit MessageHolder(std::unique_ptr<Parsed> message)
      : message_(message.release(), [](void* m) { delete static_cast<Parsed*>(m); }) {}

 private:
  std::unique_ptr<void, void (*)(void*)> message_;
};

// ---- requests, answers, commands ---------------------------------------------------------------

struct DecodedRequest {
  MessageHolder texts;
  Request request;  // its texts are views into `texts`
};

void encode(const Request& request, std::string& frame);
Result<DecodedRequest> decode_request(FrameBytes bytes);

// Some or all answers to one request: answers[i] is that of item indices[i].
struct ReplyPart {
  Epoch epoch;
  std::vector<std::uint32_t> indices;
  std::vector<Answer> answers;
};

// Encodes the answers to one request as they come, straight into the message.
class ReplyEncoder {
 public:
  // `expected`: how many answers will come, if all go out together.
  ReplyEncoder(Epoch epoch, std::size_t expected);
  ReplyEncoder(ReplyEncoder&&) noexcept;
  ReplyEncoder& operator=(ReplyEncoder&&) noexcept;
  ~ReplyEncoder();

  // Precondition: all answers that are no errors are of one kind; of those that no request asks for
  // more than once (StatusReport ...) at most one comes.
  void add(std::uint32_t index, const Answer& answer);
  std::size_t size() const;
  // Appends what came so far. Nothing may be added after it.
  void finish(std::string& frame);

 private:
  struct Message;
  std::unique_ptr<Message> message_;
};

void encode(const ReplyPart& part, std::string& frame);
Result<ReplyPart> decode_reply(FrameBytes bytes);

// Whether `value` is of the kind with which `request` is answered.
bool answers(const RequestBody& request, const AnswerValue& value);

void encode(const Command& command, std::string& frame);
Result<Command> decode_command(FrameBytes bytes);

// ---- between a client and a node ---------------------------------------------------------------

// How each item went. Also what answers a fill, and a request that could not be decoded (one).
void encode(std::span<const Status> outcomes, std::string& frame);
Result<std::vector<Status>> decode_outcomes(FrameBytes bytes);

struct DecodedFill {
  MessageHolder texts;
  std::vector<FillItem> items;    // their texts are views into `texts`; no checksums yet
  std::vector<bool> checksummed;  // a checksum follows the payload of the item
};

void encode(std::span<const FillRange> ranges, std::string& frame);
Result<DecodedFill> decode_fill(FrameBytes bytes);

// A piece of the payload of one replica.
struct ReadPart {
  ExtentName extent;
  Bytes payload_size;  // of the whole object
  Bytes offset;        // in the payload
  Bytes length;
  bool operator==(const ReadPart&) const = default;
};

void encode(std::span<const ReadPart> items, std::string& frame);
Result<std::vector<ReadPart>> decode_read(FrameBytes bytes);

struct ReadAnswer {
  Status status;
  std::optional<std::uint64_t> checksum;  // of the whole payload
};

void encode(const ReadAnswer& answer, std::string& frame);
Result<ReadAnswer> decode_read_answer(FrameBytes bytes);

}  // namespace larder
