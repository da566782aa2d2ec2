#include "core/catalog/replica.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace larder {
namespace {

using State = ReplicaState;
using Event = ReplicaEvent;

constexpr int states = 6;
constexpr int events = 7;

// The life of a replica as design §4 draws it, with what a lost node and a master change add.
const std::map<std::pair<State, Event>, State> life{
    {{State::initialized, Event::assign_space}, State::processing},
    {{State::initialized, Event::take_up}, State::complete},
    {{State::initialized, Event::give_up}, State::failed},
    {{State::processing, Event::put_end}, State::complete},
    {{State::processing, Event::give_up}, State::failed},
    {{State::processing, Event::node_lost}, State::gone},
    {{State::complete, Event::take_away}, State::removed},
    {{State::complete, Event::node_lost}, State::gone},
    {{State::removed, Event::retire}, State::gone},
    {{State::removed, Event::node_lost}, State::gone},
    {{State::failed, Event::retire}, State::gone},
    {{State::failed, Event::node_lost}, State::gone},
};

TEST(Replica, EveryPairOfStateAndEventIsInTheLifeOrAnErrorThatNamesBoth) {
  for (int s = 0; s < states; ++s) {
    for (int e = 0; e < events; ++e) {
      const State state{static_cast<std::uint8_t>(s)};
      const Event event{static_cast<std::uint8_t>(e)};
      const auto legal = life.find({state, event});
      const Result<State> next = next_state(state, event);
      if (legal != life.end()) {
        ASSERT_TRUE(next.has_value()) << to_string(state) << " " << to_string(event);
        EXPECT_EQ(*next, legal->second);
        continue;
      }
      ASSERT_FALSE(next.has_value()) << to_string(state) << " " << to_string(event);
      EXPECT_EQ(next.error().code(), ErrorCode::invalid_replica);
      const std::string text = next.error().message();
      EXPECT_NE(text.find(to_string(state)), std::string::npos) << text;
      EXPECT_NE(text.find(to_string(event)), std::string::npos) << text;
    }
  }
}

TEST(Replica, OnlyPutEndAndTakeUpLeadToCompleteAndOnlyConfirmationOrLossToGone) {
  for (const auto& [from, to] : life) {
    if (to == State::complete) {
      EXPECT_TRUE(from.second == Event::put_end || from.second == Event::take_up);
    }
    if (to == State::gone) {
      EXPECT_TRUE(from.second == Event::retire || from.second == Event::node_lost);
    }
  }
}

TEST(Replica, GoneIsTheEnd) {
  for (int e = 0; e < events; ++e) {
    EXPECT_FALSE(next_state(State::gone, Event{static_cast<std::uint8_t>(e)}).has_value());
  }
}

TEST(ReplicaDeathTest, AnIllegalStepOfTheCallerIsABrokenInvariant) {
  Replica replica{.state = State::removed};
  EXPECT_DEATH(replica.advance(Event::put_end), "REMOVED cannot put_end");
}

}  // namespace
}  // namespace larder
