#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/id.h"
#include "core/protocol/answer.h"
#include "core/protocol/command.h"

namespace larder {

// The driver's name for a request that waits for answers; used once.
using Ticket = std::uint64_t;

// Takes answers as they come: most during apply() of their request, some later (a put that waits
// for space, a removal that waits for retirement). Every index of a request is answered once,
// unless the same request came again on a newer ticket, which then gets all of them, or its session
// is lost.
class AnswerSink {
 public:
  virtual void answer(Ticket ticket, std::uint32_t index, const Answer& answer) = 0;

 protected:
  ~AnswerSink() = default;
};

// What a master must find again after a restart: a few bytes for each node, nothing for an object.
struct NodeKnown {
  IncarnationId incarnation;
  std::string name;
};
struct NodeLost {
  IncarnationId incarnation;
};
struct RecoveryEnded {
  Epoch epoch;
};
struct NewerEpoch {  // this master was shown a higher epoch: keep it, then exit
  Epoch epoch;
};
using StateRecord = std::variant<NodeKnown, NodeLost, RecoveryEnded, NewerEpoch>;

// For routers and observers, in the order of the decisions.
struct ObjectEvent {
  enum class Kind : std::uint8_t { stored, removed, evicted, expired, lost };
  Kind kind;
  std::string tenant;
  std::string key;
};

// For the log: what became of a node.
struct NodeEvent {
  enum class Kind : std::uint8_t { registered, shown, hidden, sick, well, lost };
  Kind kind;
  std::string name;
  std::string endpoint;
  std::string why;
};
std::string_view to_string(NodeEvent::Kind kind);  // "a node is hidden"

// What a step of the master wants done, in this order: make `records` durable; then let the answers
// go out that `answers` was given during the step; then send `commands`, each to the connection of
// its node (dropped if it has none). The driver empties the lists between steps.
struct MasterEffects {
  explicit MasterEffects(AnswerSink& sink) : answers(sink) {}

  std::vector<StateRecord> records;
  AnswerSink& answers;
  std::vector<Command> commands;
  std::vector<ObjectEvent> events;  // only if MasterConfig::object_events
  std::vector<NodeEvent> node_events;

  void clear() {
    records.clear();
    commands.clear();
    events.clear();
    node_events.clear();
  }
};

}  // namespace larder
