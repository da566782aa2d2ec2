#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/capacity/capacity_pool.h"
#include "sim/capacity/pool_faults.h"
#include "sim/planning/run.h"
#include "sim/serving/models/compute.h"
#include "sim/serving/serving.h"

namespace larder::sim {

// The simulated machines and processes of one run. Only run.cpp needs it.
class Deployment {
 public:
  // `trace_block_tokens`: of the trace that will be replayed; `sink` outlives it. Errors: of run().
  static Result<std::unique_ptr<Deployment>> make(const Setting& setting,
                                                  std::uint32_t trace_block_tokens,
                                                  RecordSink& sink);

  Kernel& kernel() { return kernel_; }
  const Topology& topology() const { return topology_; }
  const Placement& placement() const { return placement_; }
  const Sizes& sizes() const { return sizes_; }
  const Fabric* fabric() const { return fabric_ ? &*fabric_ : nullptr; }
  CapacityPool& pool() { return *pool_; }
  Serving& serving() { return *serving_; }
  // Nothing where the engines have no GPUs, or the model does not fit them and nothing is computed.
  const std::optional<Compute>& compute() const { return compute_; }

 private:
  // The engines of a host that is lost, or comes back.
  class EngineTurn final : public Event {
   public:
    EngineTurn(Serving& serving, std::size_t engine, bool lost);

   private:
    void fire() override;
    Serving& serving_;
    std::size_t engine_;
    bool lost_;
  };

  Deployment(const Setting& setting, Topology topology);
  Status make_compute(const Setting& setting);
  Status check_times(const Setting& setting) const;
  Status make_pool(const Setting& setting);
  Status make_engines(const Setting& setting, RecordSink& sink);
  Status plan_faults(const Setting& setting);
  Status lose_host(const PlannedFault& fault, std::vector<PoolFault>& faults);

  Kernel kernel_;
  Topology topology_;
  Placement placement_;
  Sizes sizes_;
  std::optional<Compute> compute_;
  std::optional<Fabric> fabric_;
  std::unique_ptr<CapacityPool> pool_;
  std::optional<Serving> serving_;
  std::deque<EngineTurn> engine_turns_;
  std::optional<PoolFaults> faults_;
};

}  // namespace larder::sim
