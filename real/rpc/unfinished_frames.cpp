#include "real/rpc/unfinished_frames.h"

#include <algorithm>
#include <string>

namespace larder::real {

void UnfinishedFrames::hold(Connection& connection, std::size_t bytes, Time since, Time now) {
  Held& held = held_[&connection];
  bytes_ += bytes - held.bytes;
  held = {.bytes = bytes, .since = since};
  const auto weight = [now](const Held& each) {
    // From the beginning, so that of frames that begin now the largest one counts most.
    const Duration age = now - each.since + std::chrono::milliseconds(1);
    return static_cast<double>(each.bytes) * std::chrono::duration<double>(age).count();
  };
  while (bytes_ > bytes_max_) {
    const auto heaviest = std::ranges::max_element(
        held_, {}, [&](const auto& entry) { return weight(entry.second); });
    Connection* const given_up = heaviest->first;
    const Held its = heaviest->second;
    release(*given_up);
    given_up_.fetch_add(1, std::memory_order_relaxed);
    given_up->give_up(
        Error(ErrorCode::busy, "frames that have begun and not ended take more than " +
                                   std::to_string(bytes_max_) + " bytes together, its own " +
                                   std::to_string(its.bytes) + " of them"));
  }
}

void UnfinishedFrames::release(Connection& connection) {
  const auto found = held_.find(&connection);
  if (found == held_.end()) return;
  bytes_ -= found->second.bytes;
  held_.erase(found);
}

}  // namespace larder::real
