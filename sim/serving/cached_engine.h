#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/pages/prefetch.h"
#include "sim/kernel/kernel.h"
#include "sim/serving/block_tree.h"
#include "sim/serving/engine.h"
#include "sim/serving/host_copies.h"
#include "sim/serving/models/compute.h"

namespace larder::sim {

// When KV on the GPUs is copied to the host, and from there, as soon as it is there, to the pool.
enum class WritePolicy : std::uint8_t {
  write_through,  // once it is computed
  selective,      // once it has been used so many times
  write_back,     // before it leaves the GPUs
};
std::string_view write_policy_name(WritePolicy policy);  // "write-through" ...
std::optional<WritePolicy> write_policy_named(std::string_view name);

// What becomes of requests after their first token.
enum class Decoding : std::uint8_t {
  elsewhere,  // on other engines: their KV leaves the GPUs at once
  waits,      // here; a pass that computes prompts computes nothing else
  mixed,      // here; each such pass computes the next token of all others too
};
std::string_view decoding_name(Decoding decoding);
std::optional<Decoding> decoding_named(std::string_view name);

struct CachedEngineConfig {
  std::uint32_t page_tokens = 512;
  Bytes host_memory;  // of all GPUs' parts together
  WritePolicy write = WritePolicy::write_through;
  std::uint32_t selective_uses = 2;
  PrefetchRules prefetch;
  Decoding decoding = Decoding::mixed;
  std::uint32_t chunk_tokens = 8'192;   // of prompts, that one pass computes at most
  std::uint32_t waiting_max = 100'000;  // requests; more are refused
};

// An engine as SGLang with HiCache: a tree of blocks on its GPUs and its host (block_tree.h) in
// front of the pool, chunked prefill, continuous batching.
//
// A request that arrives is looked for in the tree, and the pool is asked for what follows. What
// the pool has is read into the host's memory while the request waits. Whenever a pass has ended,
// requests begin in the order of their arrival, but for those that still wait for their prefetch:
// as many as one pass has tokens for, and until one finds no room on the GPUs. Then what came from
// the pool is put into the tree, as far as it leads on without a gap; what is on the host only is
// copied to the GPUs, layer by layer beside the computation, which can be through with its last
// layer no earlier than the copy; and room for the whole answer is reserved. When its last chunk is
// computed, its blocks are in the tree, and are written as the policy says.
//
// A request that finds all of its blocks still computes its last token.
class CachedEngine final : public Engine, HostCopies::Owner {
 public:
  // Where the engine is. Without a fabric copies take no time.
  struct Place {
    Fabric* fabric = nullptr;
    std::vector<PartId> gpus;   // as many as the shape of `compute` has
    std::vector<PartId> drams;  // into which the pool is read by turns, and from which it is put
  };

  // INVALID_PARAMS where not one page fits on the GPUs, or the host's memory is not above zero. All
  // that is pointed at outlives the engine; `pool` may be null.
  static Result<std::unique_ptr<CachedEngine>> make(Kernel& kernel, const Compute& compute,
                                                    const CachedEngineConfig& config, Place place,
                                                    PagePool* pool, Served& served);
  ~CachedEngine() override;

  void submit(ServedRequest& request) override;
  EngineLoad load() const override;
  std::size_t cached(std::span<const std::uint64_t> blocks) const override {
    return tree_.leading(blocks);
  }
  void lose() override;
  Busy busy() const override { return busy_; }

  const BlockTree& tree() const { return tree_; }
  void check_invariants() const;

 private:
  class Job;
  class Write;
  class Timer;
  enum class State : std::uint8_t {
    idle,
    computing,    // until the pass is through
    waiting,      // the pass is through, but for what the copies to the GPUs hold up
    last_layer,   // they have ended
    decoding,     // steps without any prompt
    making_room,  // what leaves the GPUs is being copied
  };
  struct Chunk {
    Job* job = nullptr;
    std::uint64_t tokens = 0;
  };
  struct Answer {  // being decoded
    std::uint64_t last_step = 0;
    std::uint64_t order = 0;
    Job* job = nullptr;
    // For a heap with the first to end on top.
    bool operator<(const Answer& other) const {
      return last_step != other.last_step ? last_step > other.last_step : order > other.order;
    }
  };

  CachedEngine(Kernel& kernel, const Compute& compute, const CachedEngineConfig& config,
               Place place, PagePool* pool, Served& served, BlockTree::Room room);

  // The life of a request.
  Job& take_job(ServedRequest& request);
  void release(Job& job);
  void refuse(ServedRequest& request, Outcome outcome);
  void tell();
  void end(Job& job);
  void drop_all();
  std::uint64_t pages_needed(const ServedRequest& request) const;
  std::uint64_t tokens_of(const ServedRequest& request, std::size_t blocks) const;

  // Prefetching (cached_engine_prefetch.cpp).
  void begin_prefetch(Job& job);
  void looked_up(Job& job, std::size_t leading, MissReason reason);
  void prefetched(Job& job);
  void mark_as_pool_says(Job& job, std::size_t first, MissReason otherwise);
  void end_prefetch(Job& job);
  void keep_fetched(Job& job, std::size_t blocks);
  void fill_pages(const ServedRequest& request, std::size_t first, std::size_t end);
  bool is_ready(const Job& job) const;
  void watch(Job& job);
  PartId next_dram();

  // Passes (cached_engine_passes.cpp).
  void wake();
  void go_on();
  void next_pass();
  void add_chunk(Job& job, Pass& pass, std::uint64_t& budget);
  void begin_requests(Pass& pass, std::uint64_t& budget);
  bool begin_request(Job& job);
  bool make_room(std::uint64_t blocks);
  void end_pass();
  void computed(Job& job);
  void finish_computed();
  void begin_decoding();
  void cut_decoding();
  Compute::Decoding decoding_now() const;
  void decoded(std::uint64_t steps);

  // Writing (cached_engine_writes.cpp).
  Write& take_write();
  void release(Write& write);
  void count_use(Job& job);
  void begin_leaving();
  void leave();
  void copied(HostCopies::Direction direction, std::uint32_t number) override;
  void put(Write& write);
  void put_ended(Write& write);
  void drop_writes();

  Kernel& kernel_;
  const Compute& compute_;
  const CachedEngineConfig config_;
  PagePool* pool_;
  Served& served_;
  std::vector<PartId> drams_;
  std::size_t next_dram_ = 0;
  BlockTree tree_;
  HostCopies copies_;

  std::vector<std::unique_ptr<Job>> jobs_;  // used again, never freed
  std::vector<Job*> free_jobs_;
  std::deque<Job*> waiting_;      // by arrival
  std::vector<Job*> computing_;   // by begin
  std::vector<Job*> finished_;    // of one pass
  std::vector<Answer> decoding_;  // a heap
  std::vector<ServedRequest*> to_tell_;
  std::unique_ptr<Timer> tell_;

  std::unique_ptr<Timer> timer_;  // of the state
  State state_ = State::idle;
  Instant since_{};
  Duration pass_time_{0};
  std::uint32_t load_needed_ = 0;  // the copy to the GPUs that the pass needs
  bool riders_ = false;            // the pass decodes too
  std::vector<Chunk> batch_;
  std::uint64_t steps_planned_ = 0;
  std::uint64_t step_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t contexts_ = 0;  // tokens of all that decode
  std::uint64_t waiting_tokens_ = 0;
  Busy busy_;

  std::uint64_t fetching_ = 0;                  // host blocks that prefetches have reserved
  std::vector<std::unique_ptr<Write>> writes_;  // used again, never freed
  std::vector<Write*> free_writes_;
  std::deque<Write*> copying_;  // to the host, by number
  std::vector<BlockTree::Leaving> leaving_;
  std::uint32_t leaving_copy_ = 0;  // their copy; 0: none is under way
  std::vector<PoolPage> pages_;     // of one call
  std::vector<BlockTree::Node> nodes_;
};

}  // namespace larder::sim
