#include "sim/explore/guard_names.h"

#include <algorithm>
#include <array>

namespace larder::sim {

std::span<const GuardName> guard_names() {
  static constexpr std::array<GuardName, 8> names{{
      {"state", &Guards::state, "an answer with replicas that are not COMPLETE"},
      {"lease", &Guards::lease, "eviction under a lease, and success of a read past it"},
      {"retirement", &Guards::retirement, "space given out before its node has retired it"},
      {"overlap", &Guards::overlap, "a fill over an extent, or of an older epoch"},
      {"retired-put-ids", &Guards::retired_put_ids, "a fill of a put that was retired or ended"},
      {"writer-waits", &Guards::writer_waits, "sealing what its writer has given up"},
      {"footer", &Guards::footer, "success of a read whose extent is not sealed any more"},
      {"checksum", &Guards::checksum, "success of a read of other bytes than were put"},
  }};
  return names;
}

bool Guards::* guard_named(std::string_view name) {
  const auto found = std::ranges::find(guard_names(), name, &GuardName::name);
  return found == guard_names().end() ? nullptr : found->member;
}

std::string guard_list() {
  return guards_off(Guards{false, false, false, false, false, false, false, false});
}

std::string guards_off(const Guards& guards) {
  std::string list;
  for (const GuardName& each : guard_names()) {
    if (guards.*each.member) continue;
    list += (list.empty() ? "" : ", ") + std::string(each.name);
  }
  return list;
}

std::string without_flags(const Guards& guards) {
  std::string text;
  for (const GuardName& guard : guard_names()) {
    if (!(guards.*guard.member)) text += " --without " + std::string(guard.name);
  }
  return text;
}

}  // namespace larder::sim
