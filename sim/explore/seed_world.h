#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "sim/cluster/world.h"
#include "sim/explore/explore.h"
#include "sim/explore/swarm.h"

namespace larder::sim {

// The world of one seed, and what happens in it.
class SeedWorld {
 public:
  SeedWorld(std::uint64_t seed, const ExploreConfig& config);

  // Operations and faults, until the wanted number of operations has begun.
  void run_under_faults();
  // No more faults; everything dead is started again; the pool comes to rest, or that is reported.
  void run_to_rest();

  SeedResult result() const;

 private:
  // A process that is dead or stopped, or a host that is cut off, and until when.
  struct Outage {
    enum class Kind : std::uint8_t { client, node, master, stop, partition };
    Kind kind;
    std::size_t index = 0;
    Instant until;
  };

  void begin_operation();
  PutWanted draw_put();
  void draw_faults(Duration passed);
  void crash_one(Outage::Kind kind);
  void stop_one();
  void end_outages(Instant until);
  void end(const Outage& outage);
  bool due(Duration mean, Duration passed);
  std::string draw_key();
  std::vector<Process*> processes();
  void check_rest();
  void check_service();
  bool wait_for(const std::vector<OperationId>& operations);

  const std::uint64_t seed_;
  const ExploreConfig config_;
  Random random_;
  const Swarm swarm_;
  History history_;
  World world_;
  MasterProcess* master_ = nullptr;
  std::vector<Outage> outages_;
};

}  // namespace larder::sim
