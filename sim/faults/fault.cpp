#include "sim/faults/fault.h"

#include <array>
#include <charconv>

#include "core/base/assert.h"

namespace larder::sim {
namespace {

using enum FaultKind;

constexpr std::array<std::string_view, 3> role_names{"master", "node", "client"};

constexpr std::array<FaultInfo, fault_kinds> table{{
    {crash, "crash", "", "after", Amount::count, false, true, "mnc",
     "the process dies, at once or after so many more events, and is started again later"},
    {power_off, "power-off", "", "", Amount::none, false, true, "mnc",
     "its host dies with all on it; nobody is told, no connection is closed"},
    {stop, "stop", "", "", Amount::none, false, true, "mnc",
     "the process does nothing, as after SIGSTOP, and wakes up later; its host goes on"},
    {suspend, "suspend", "", "", Amount::none, false, true, "mnc",
     "its host sleeps, with its NIC; its clock goes on"},
    {cut, "cut", "", "", Amount::none, false, true, "mnc",
     "its host is cut off from all others, both ways"},
    {block, "block", "to", "", Amount::none, false, true, "mnc",
     "nothing gets from the one host to the other; the way back is open"},
    {lag, "lag", "to", "by", Amount::time, true, true, "mnc",
     "messages from the one host to the other take longer by this"},
    {slow, "slow", "", "by", Amount::times, true, true, "mnc",
     "the NIC of its host is so many times slower"},
    {reset, "reset", "", "", Amount::none, false, false, "n",
     "the node's connection to its master breaks"},
    {drift, "drift", "", "by", Amount::parts_per_million, true, true, "mnc",
     "its host's clock runs faster, or slower; beyond 5000ppm leases may lie"},
    {jump, "jump", "", "by", Amount::time, true, false, "mnc",
     "its host's clock jumps forward; leases may lie"},
    {freeze, "freeze", "", "", Amount::none, false, true, "mnc",
     "its host's clock stands still, while its processes run; leases may lie"},
    {flip, "flip", "", "by", Amount::count, true, false, "n",
     "so many bits flip in the memory of the node's extents"},
    {move, "move", "", "", Amount::none, false, true, "n",
     "the node dies, and comes back at another address"},
    {resize, "resize", "", "with", Amount::bytes, true, true, "n",
     "the node dies, and comes back with a segment of this size"},
    {start, "start", "", "", Amount::none, false, true, "m",
     "a second master is started beside the first, by mistake, and ended later"},
    {turn, "turn", "to", "", Amount::none, false, true, "nc",
     "a node or a client finds this master instead of its own"},
    {lose_state, "lose-state", "", "", Amount::none, false, true, "m",
     "the master dies, and its state directory is lost"},
    {echo, "echo", "", "by", Amount::time, true, true, "n",
     "what the node says to its master comes a second time, so much later, past its connection"},
}};

}  // namespace

std::string to_string(ProcessName name) {
  return std::string(role_names[static_cast<std::size_t>(name.role)]) + std::to_string(name.index);
}

std::optional<ProcessName> process_named(std::string_view text) {
  for (std::size_t role = 0; role < role_names.size(); ++role) {
    if (!text.starts_with(role_names[role])) continue;
    const std::string_view number = text.substr(role_names[role].size());
    ProcessName name{.role = static_cast<Role>(role)};
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), name.index);
    if (error == std::errc() && end == number.data() + number.size()) return name;
  }
  return std::nullopt;
}

std::span<const FaultInfo> all_faults() { return table; }

const FaultInfo& info(FaultKind kind) {
  const FaultInfo& found = table[static_cast<std::size_t>(kind)];
  LARDER_ASSERT(found.kind == kind, "the table stands in the order of the kinds");
  return found;
}

}  // namespace larder::sim
