#include "core/catalog/replica.h"

#include <array>
#include <optional>
#include <string>

#include "core/base/assert.h"

namespace larder {
namespace {

using State = ReplicaState;
using Event = ReplicaEvent;

struct Transition {
  State from;
  Event event;
  State to;
};

constexpr std::array transitions{
    Transition{State::initialized, Event::assign_space, State::processing},
    Transition{State::initialized, Event::take_up, State::complete},
    Transition{State::initialized, Event::give_up, State::failed},
    Transition{State::processing, Event::put_end, State::complete},
    Transition{State::processing, Event::give_up, State::failed},
    Transition{State::processing, Event::node_lost, State::gone},
    Transition{State::complete, Event::take_away, State::removed},
    Transition{State::complete, Event::node_lost, State::gone},
    Transition{State::removed, Event::retire, State::gone},
    Transition{State::removed, Event::node_lost, State::gone},
    Transition{State::failed, Event::retire, State::gone},
    Transition{State::failed, Event::node_lost, State::gone},
};

constexpr std::array<std::string_view, 6> state_names{"INITIALIZED", "PROCESSING", "COMPLETE",
                                                      "REMOVED",     "FAILED",     "gone"};
constexpr std::array<std::string_view, 7> event_names{
    "assign_space", "put_end", "take_up", "take_away", "give_up", "node_lost", "retire"};

}  // namespace

std::string_view to_string(ReplicaState state) { return state_names[std::size_t(state)]; }
std::string_view to_string(ReplicaEvent event) { return event_names[std::size_t(event)]; }

Result<ReplicaState> next_state(ReplicaState state, ReplicaEvent event) {
  for (const Transition& transition : transitions) {
    if (transition.from == state && transition.event == event) return transition.to;
  }
  return failed(ErrorCode::invalid_replica, "a replica that is " + std::string(to_string(state)) +
                                                " cannot " + std::string(to_string(event)));
}

void Replica::advance(ReplicaEvent event) {
  const Result<ReplicaState> next = next_state(state, event);
  if (!next) assertion_failed("legal replica transition", next.error().message().c_str());
  state = *next;
}

}  // namespace larder
