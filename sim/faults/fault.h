#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/time.h"

// What can go wrong in a simulated pool: the kinds, with the words in which people write them.
// Faults of messages are rates of links (sim/fabric/network.h); those here happen at an instant.

namespace larder::sim {

enum class Role : std::uint8_t { master, node, client };

// A process of a world: "node2".
struct ProcessName {
  Role role = Role::master;
  std::uint32_t index = 0;
  auto operator<=>(const ProcessName&) const = default;
};
std::string to_string(ProcessName name);
std::optional<ProcessName> process_named(std::string_view text);

enum class FaultKind : std::uint8_t {
  crash,
  power_off,
  stop,
  suspend,
  cut,
  block,
  lag,
  slow,
  reset,
  drift,
  jump,
  freeze,
  flip,
  move,
  resize,
  start,
  turn,
  lose_state,
  echo,
};
inline constexpr std::size_t fault_kinds = 19;

// What the number of a fault counts.
enum class Amount : std::uint8_t { none, count, times, bytes, time, parts_per_million };

struct FaultInfo {
  FaultKind kind;
  std::string_view name;
  // How it is written: NAME TARGET [other_word OTHER] [amount_word AMOUNT] [for TIME].
  std::string_view other_word;   // empty: it has no second process
  std::string_view amount_word;  // empty: it has no number
  Amount amount = Amount::none;
  bool amount_needed = false;
  bool lasts = false;      // it has an end
  std::string_view roles;  // the first letters of those that it can hit: "mnc"
  std::string_view what;   // for people
};
std::span<const FaultInfo> all_faults();
const FaultInfo& info(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::crash;
  ProcessName target;
  ProcessName other;
  std::int64_t amount = 0;
  Duration lasts{0};
  bool operator==(const Fault&) const = default;
};

}  // namespace larder::sim
