#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "core/base/bytes.h"
#include "core/base/time.h"

namespace larder::sim {

// Numbers the hosts of one network, from 0 in the order in which they were added.
struct HostId {
  std::uint32_t value = 0;
  auto operator<=>(const HostId&) const = default;
};

struct Route {
  HostId from;
  HostId to;
  auto operator<=>(const Route&) const = default;
};

struct HostSpec {
  std::string name;
  Bytes nic_per_second{12'500'000'000};     // each way, at once: 100 Gbit/s
  Bytes memory_per_second{20'000'000'000};  // of copies inside the host
  Duration latency{2'000};                  // from the host to the switch, each way
  Duration local_latency{1'000};            // between processes of the host
};

}  // namespace larder::sim
