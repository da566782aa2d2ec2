#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/client/client.h"
#include "sim/fabric/content.h"

namespace larder::sim {

// Numbers the operations of one world, from 1.
struct OperationId {
  std::uint64_t value = 0;
  auto operator<=>(const OperationId&) const = default;
};

// What a client is asked to do with one object.
struct PutWanted {
  std::string key;
  Bytes size;
  std::uint32_t replicas = 1;
  std::string group;
  std::string parent;
  Duration soft_pin{0};
  Duration time_to_live{0};
  bool hard_pin = false;
};
struct GetWanted {
  std::string key;
  Bytes room;  // of the buffer; for a range, its length
  std::optional<Bytes> range_offset;
};

// What came of it.
struct PutSeen {
  std::string_view key;
  WriteId write;  // whose content was put
  Bytes size;
  const Result<PutOutcome>& result;
};
struct GetSeen {
  std::string_view key;
  Bytes range_offset;
  const Result<GetOutcome>& result;
  // What stands in the buffer if the result is OK: holds_content() and describe_content() say whose
  // it is. Empty in runs without content.
  std::span<const std::byte> bytes;
};

// Sees what the clients of a world see, at the instant at which they see it. Must not call the
// world from inside. Every operation that was begun is reported once.
class Observer {
 public:
  virtual void put_began(OperationId, std::span<const PutWanted>, WriteId /*of the first item*/) {}
  virtual void put_ended(OperationId, std::span<const PutSeen>) {}
  virtual void get_ended(OperationId, std::span<const GetSeen>) {}
  virtual void exists_ended(OperationId, std::span<const std::string_view>,
                            std::span<const Result<Existence>>) {}
  virtual void remove_ended(OperationId, std::span<const std::string_view>,
                            std::span<const Status>) {}
  // Its client died in it. What it did until then may have taken effect.
  virtual void operation_lost(OperationId) {}
  // Something that must never happen, in a sentence: such as a buffer that changed after its call.
  virtual void violation(const std::string&) {}

 protected:
  ~Observer() = default;
};

}  // namespace larder::sim
