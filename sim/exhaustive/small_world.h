#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "sim/explore/scenario.h"

// A world that is small enough to see all that can happen in it (docs/simulator.md). It is written
// as a scenario whose instants do not count, and says with `may` what can go wrong how often:
//
//   chunk 64B
//   node0 192B
//   client0
//   client1
//   at 0s client0 put k 128B       what is at 0s is done before, one after the other
//   at 1s client1 get k            the rest at any time, each client's in this order
//   may crash client0 once

namespace larder::sim {

// How often something may happen.
struct Allowances {
  static constexpr std::size_t hosts_max = 8;
  std::array<std::uint8_t, hosts_max> crash_client{};
  std::array<std::uint8_t, hosts_max> crash_node{};
  std::array<std::uint8_t, 2> restart_master{};
  std::uint8_t start_master1 = 0;
  std::uint8_t lose = 0;
  std::uint8_t twice = 0;
  std::uint8_t pass = 0;

  bool operator==(const Allowances&) const = default;
};

struct SmallWorld {
  // A time that is not set. Time moves so far only when a world is brought to its rest.
  static constexpr Duration endless = std::chrono::hours(100'000);

  std::string name;
  Scenario scenario;
  Allowances may;
};

// Times that the text does not set are endless. Errors: bad_file with the line and what is known.
Result<SmallWorld> parse_small_world(std::string_view text, std::string_view name);

// Those that come with the program.
struct NamedWorld {
  std::string_view name;
  std::string_view text;
};
std::span<const NamedWorld> named_worlds();
// "two-writers, evict-and-put-again, ...".
std::string world_list();

}  // namespace larder::sim
