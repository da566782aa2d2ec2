#pragma once

#include <memory>
#include <vector>

#include "sim/kernel/kernel.h"
#include "sim/serving/engine.h"

namespace larder::sim {

// An engine without caches of its own, for which computing takes no time: it asks the pool for a
// prompt's blocks, reads the leading ones, puts the others, and is done. What a pool makes of a
// trace is then no matter of models and GPUs. A request that it has begun is never refused.
class PoolOnlyEngine final : public Engine {
 public:
  // All that is pointed at outlives the engine.
  PoolOnlyEngine(Kernel& kernel, PagePool& pool, PartId host_memory, Served& served);
  ~PoolOnlyEngine() override;

  void submit(ServedRequest& request) override;
  EngineLoad load() const override { return {.running = jobs_.size() - free_jobs_.size()}; }
  std::size_t cached(std::span<const std::uint64_t>) const override { return 0; }
  void lose() override;
  Busy busy() const override { return {}; }

 private:
  class Job;
  class Tell;

  void fill_pages(const ServedRequest& request, std::size_t first);
  void looked_up(Job& job, std::size_t leading, MissReason reason);
  void finish(Job& job);
  void put_ended(Job& job);
  void tell();
  void drop();

  Kernel& kernel_;
  PagePool& pool_;
  PartId host_memory_;
  Served& served_;
  std::vector<std::unique_ptr<Job>> jobs_;  // used again, never freed
  std::vector<Job*> free_jobs_;
  std::vector<PoolPage> pages_;  // of one call
  std::vector<ServedRequest*> to_tell_;
  std::unique_ptr<Tell> tell_;
};

}  // namespace larder::sim
