#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/topology/topology.h"
#include "sim/fabric/fabric.h"
#include "sim/kernel/event.h"

namespace larder::sim {

// Copies of KV between the GPUs of one engine and the memory of its host, over PCIe. Each GPU has a
// part of every block, and a copy is one move for each GPU, between it and the DRAM that is nearest
// to it. In each direction one copy is under way; what is asked for meanwhile becomes one copy
// after it, as in HiCache.
class HostCopies {
 public:
  enum class Direction : std::uint8_t { to_gpu, to_host };
  class Owner {
   public:
    virtual ~Owner() = default;
    // All copies up to this number have ended in the direction.
    virtual void copied(Direction direction, std::uint32_t number) = 0;
  };

  // Without a fabric copies take no time. Precondition: at least one GPU.
  HostCopies(Kernel& kernel, Fabric* fabric, std::vector<PartId> gpus, Bytes block_each_gpu,
             Owner& owner);

  // The number of the copy, which ends when copied() has told it; they count up from 1.
  std::uint32_t begin(Direction direction, std::uint64_t blocks);
  std::uint32_t ended(Direction direction) const { return ways_[index(direction)].ended; }
  // Ends all that is under way, without telling.
  void drop();

  // The DRAM that is nearest to a GPU of the host: the way of the fewest links, the first of
  // equals.
  static PartId nearest_dram(const Topology& topology, PartId gpu);

 private:
  class Leg final : public Move {
   public:
    Leg(HostCopies& copies, Direction direction, Fabric& fabric, const Plan& plan)
        : Move(fabric, plan), copies_(copies), direction_(direction) {
      start();
    }

   private:
    void finish() override { copies_.leg_ended(direction_); }
    HostCopies& copies_;
    Direction direction_;
  };
  class Instantly final : public Event {
   public:
    Instantly(HostCopies& copies, Direction direction);

   private:
    void fire() override { copies_.batch_ended(direction_); }
    HostCopies& copies_;
    Direction direction_;
  };
  struct Way {
    std::vector<std::optional<Leg>> legs;  // by GPU
    std::size_t legs_left = 0;
    std::uint32_t last = 0;     // number that was given out
    std::uint32_t started = 0;  // the last one of the copy under way
    std::uint32_t ended = 0;
    std::uint64_t blocks = 0;  // that wait
  };

  static std::size_t index(Direction direction) { return static_cast<std::size_t>(direction); }
  void start(Direction direction);
  void leg_ended(Direction direction);
  void batch_ended(Direction direction);

  Kernel& kernel_;
  Fabric* fabric_;
  std::vector<PartId> gpus_;
  std::vector<PartId> drams_;  // by GPU
  Bytes block_each_gpu_;
  Owner& owner_;
  std::array<Way, 2> ways_;
  std::array<Instantly, 2> instantly_;
};

}  // namespace larder::sim
