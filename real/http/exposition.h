#pragma once

#include <cstdint>
#include <string>

#include "core/node/node.h"
#include "core/protocol/answer.h"
#include "core/protocol/stages.h"

namespace larder::real {

inline constexpr const char* exposition_type = "text/plain; version=0.0.4; charset=utf-8";

// Connections that a process closed so that others are served.
struct GivenUp {
  std::uint64_t came_too_late = 0;  // they did not say in time what they want (Guests)
  std::uint64_t made_way = 0;       // the same, when others came
  std::uint64_t unfinished = 0;     // what they had begun to send took too much (UnfinishedFrames)
};

// What a master and a node say of themselves, in Prometheus' text format (written by
// prometheus-cpp). Each figure is the one of the same moment's status; sizes are bytes, times
// seconds. Names begin with larder_master_ or larder_node_.
std::string exposition(const StatusReport& status, const GivenUp& given_up);
std::string exposition(const NodeStatus& status, const StageTimes& times, Bytes capacity,
                       const GivenUp& given_up);

}  // namespace larder::real
