#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/histogram.h"

namespace larder {

// What a request goes through, and how long that takes. A client counts each question to the master
// and each transfer:
//   lookup    the master was asked for replicas, or for places, until it answered
//   queue     from then until the transfer began: segments to learn, earlier tries
//   transfer  the bytes, until the transport said that they are there
// A node counts each part of a fill, and each read:
//   queue     how long a fill that came had to expect to wait for a slot
//   fill      from when it was taken in until its last byte was in place, and sealed
//   read      from when it was let in until its last byte was out
enum class ClientStage : std::uint8_t { lookup, queue, transfer };
enum class NodeStage : std::uint8_t { queue, fill, read };
inline constexpr std::size_t stages_max = 3;
inline constexpr std::array<std::string_view, stages_max> client_stage_names{"lookup", "queue",
                                                                             "transfer"};
inline constexpr std::array<std::string_view, stages_max> node_stage_names{"queue", "fill", "read"};

// What was counted since the sender's last message, one list for each stage, in the order of the
// enum; a message that is lost takes its counts with it. Empty: nothing.
using StageCounts = std::vector<Histogram::Entries>;

// The durations of one process's stages: all since its start, and those not sent yet.
class StageTimes {
 public:
  template <class Stage>
  void add(Stage stage, Duration duration) {
    all_[static_cast<std::size_t>(stage)].add(duration);
    unsent_[static_cast<std::size_t>(stage)].add(duration);
  }
  // Of another process, as it sent it; lists beyond the stages are left out.
  void merge(const StageCounts& counts) {
    for (std::size_t i = 0; i < counts.size() && i < stages_max; ++i) all_[i].merge(counts[i]);
  }
  const std::array<Histogram, stages_max>& all() const { return all_; }
  StageCounts take_unsent() {
    StageCounts counts;
    for (std::size_t i = 0; i < stages_max; ++i) {
      if (unsent_[i].count() > 0) counts.resize(i + 1), counts[i] = unsent_[i].entries();
      unsent_[i] = {};
    }
    return counts;
  }

 private:
  std::array<Histogram, stages_max> all_;
  std::array<Histogram, stages_max> unsent_;
};

}  // namespace larder
