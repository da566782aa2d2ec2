#pragma once

#include "core/base/hash.h"
#include "core/master/effects.h"

namespace larder {

// A running digest of what masters do, answer by answer: two runs of one list of requests agree in
// it until the first answer or command that differs. Of errors it has the code, not the sentence; a
// StatusReport, which tells durations that no request brings, counts as given. Some 20 ns for an
// answer.
class EffectsDigest {
 public:
  void add(Ticket ticket, std::uint32_t index, const Answer& answer);
  void add(const StateRecord& record);
  void add(const Command& command);
  // Records and commands of a step, after its answers.
  void add(const MasterEffects& effects) {
    for (const StateRecord& record : effects.records) add(record);
    for (const Command& command : effects.commands) add(command);
  }
  std::uint64_t value() const { return digest_.value(); }

 private:
  Digest digest_;
};

}  // namespace larder
