#include <algorithm>

#include "sim/exhaustive/pool.h"
#include "sim/explore/scenario_text.h"

// What happens in a small world, in words.

namespace larder::sim {

// Numbered as they are met.
std::string Pool::put_name(PutId id) {
  const auto found = std::ranges::find(put_names_, id);
  const auto number = found - put_names_.begin() + 1;
  if (found == put_names_.end()) put_names_.push_back(id);
  return "put #" + std::to_string(number);
}

std::string Pool::operation_text(const OperationStep& step) const {
  const std::string text = step_text({.at = {}, .what = step});
  return text.substr(text.find(' ') + 1);
}

void Pool::tell_answer(const std::string& who, const Answer& answer) {
  if (!answer) return tell(who, "answers " + answer.error().message());
  if (const auto* grant = std::get_if<PutGrant>(&*answer)) {
    std::string places;
    for (const ReplicaLocation& place : grant->replicas) {
      places += " node" + std::to_string(place.segment.high - 0x5e000000u) + "+" +
                std::to_string(place.offset.value);
    }
    tell(who, "gives " + put_name(grant->put_id) + " room on" + places);
  } else if (const auto* list = std::get_if<ReplicaList>(&*answer)) {
    tell(who, "answers where the key is: " + put_name(list->put_id));
  } else if (std::holds_alternative<Done>(*answer)) {
    tell(who, "answers OK");
  }
}

void Pool::tell_command(const std::string& who, const Command& command) {
  if (const auto* retire = std::get_if<RetireExtents>(&command.body)) {
    for (const ExtentName& each : retire->extents) {
      tell(who, "is asked to retire " + put_name(each.put_id));
    }
  } else if (const auto* again = std::get_if<VerifyExtents>(&command.body)) {
    for (const ExtentName& each : again->extents) {
      tell(who, "is asked to read " + put_name(each.put_id) + " again");
    }
  } else {
    tell(who, "hears that it is taken in");
  }
}

}  // namespace larder::sim
