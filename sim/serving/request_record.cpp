#include "sim/serving/request_record.h"

namespace larder::sim {

std::string_view outcome_name(Outcome outcome) {
  constexpr std::array<std::string_view, outcomes> names{"completed", "too-long", "too-large",
                                                         "queue-full", "engine-lost"};
  return names[static_cast<std::size_t>(outcome)];
}

std::string_view miss_reason_name(MissReason reason) {
  constexpr std::array<std::string_view, miss_reasons> names{
      "cold",       "evicted",   "not_visible",   "lost",     "refused",
      "fragmented", "timed_out", "behind_a_miss", "not_asked"};
  return names[static_cast<std::size_t>(reason)];
}

}  // namespace larder::sim
