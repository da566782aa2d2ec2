#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/client/client.h"
#include "core/protocol/command.h"
#include "core/protocol/fill.h"
#include "core/protocol/request.h"
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
  bool ranged = false;
  Bytes range_offset;
  const Result<GetOutcome>& result;
  // What stands in the buffer if the result is OK: holds_content() and describe_content() say whose
  // it is. Empty in runs without content.
  std::span<const std::byte> bytes;
};

class ClientProcess;
class MasterProcess;
class NodeProcess;

// Sees what the clients of a world see, at the instant at which they see it, and what its processes
// do. Must not call the world from inside. Every operation that was begun is reported once.
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
  // For those who tell what happened. A request that came twice is answered twice.
  virtual void master_answered(const MasterProcess&, const Request&, std::uint32_t /*index*/,
                               const Answer&) {}
  virtual void master_commanded(const MasterProcess&, const Command&) {}
  virtual void master_stepped(const MasterProcess&) {}     // whatever made it
  virtual void master_superseded(const MasterProcess&) {}  // and ends
  virtual void fill_began(const NodeProcess&, const FillItem&, const Status&) {}
  // Sealed, or not; a part that is not the last is not told.
  virtual void fill_ended(const NodeProcess&, const FillItem&, const Status&) {}
  virtual void read_refused(const NodeProcess&, PutId, const Error&) {}
  virtual void node_sent(const NodeProcess&, const Request&) {}
  virtual void read_began(const ClientProcess&, const std::string& /*endpoint*/, PutId) {}
  virtual void transfer_failed(const ClientProcess&, const std::string& /*endpoint*/,
                               const Error&) {}
  // Something that must never happen, in a sentence: such as a buffer that changed after its call.
  virtual void violation(const std::string&) {}

 protected:
  ~Observer() = default;
};

}  // namespace larder::sim
