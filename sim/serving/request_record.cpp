#include "sim/serving/request_record.h"

namespace larder::sim {

std::string_view outcome_name(Outcome outcome) {
  constexpr std::array<std::string_view, outcomes> names{"completed", "too-long", "too-large",
                                                         "queue-full", "engine-lost"};
  return names[static_cast<std::size_t>(outcome)];
}

}  // namespace larder::sim
