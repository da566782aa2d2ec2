#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sim/capacity/capacity_pool.h"
#include "sim/kernel/event.h"

namespace larder::sim {

// One thing that goes wrong at an instant, and is well again later.
struct PoolFault {
  enum class Kind : std::uint8_t {
    node,    // its process ends; its connections break, and what it held is gone
    host,    // a node goes silently, with the power of its host
    nic,     // carries nothing
    master,  // its process ends
  };
  Kind kind = Kind::node;
  std::uint32_t node = 0;  // which one, of node and host
  PartId nic;              // which one
  Instant at{};
  Duration lasts = Duration::max();  // for ever
};

// Carries out a plan of faults. Several may hold the same part at a time: it is back when none
// does. Confined to the kernel's thread.
class PoolFaults {
 public:
  // The pool outlives it. INVALID_PARAMS: a node that the pool does not have, a part that is no
  // NIC, a NIC without a fabric, or a fault that lasts for no time.
  static Status check(std::span<const PoolFault> faults, const Topology& topology,
                      const CapacityPool& pool);
  // Precondition: check().
  PoolFaults(Kernel& kernel, CapacityPool& pool, std::span<const PoolFault> faults);
  PoolFaults(const PoolFaults&) = delete;
  PoolFaults& operator=(const PoolFaults&) = delete;

 private:
  class Turn final : public Event {
   public:
    Turn(PoolFaults& faults, const PoolFault& fault, bool begins);

   private:
    void fire() override;
    PoolFaults& faults_;
    const PoolFault fault_;
    const bool begins_;
  };
  struct Held {
    PoolFault::Kind kind;  // `node` of hosts too
    std::uint32_t which;
    std::uint32_t times;
  };
  std::uint32_t& times(const PoolFault& fault);
  void begin(const PoolFault& fault);
  void end(const PoolFault& fault);

  CapacityPool& pool_;
  std::deque<Turn> turns_;
  std::vector<Held> held_;
};

}  // namespace larder::sim
