#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "sim/kernel/kernel.h"
#include "sim/serving/arrivals.h"
#include "sim/serving/engine.h"
#include "sim/serving/router.h"

namespace larder::sim {

// The blocks of a request of a trace as pages of an engine, in place of what is in `pages`. A page
// is one block, or a whole number of them: then its id is that of its last one, and what is left
// over at the end of the prompt is in no page. A page that is smaller than a block, or no multiple
// of it, is an error, INVALID_PARAMS, since the trace does not tell what such pages have in common.
Status pages_of(const workloads::Request& request, std::uint32_t page_tokens,
                std::vector<std::uint64_t>& pages);

// Sums over requests.
struct ServingTotals {
  std::uint64_t arrived = 0;
  std::array<std::uint64_t, outcomes> ended{};  // by Outcome
  // Of those that began to be computed, without the warm-up:
  std::uint64_t blocks = 0;
  std::uint64_t gpu_hits = 0;
  std::uint64_t host_hits = 0;
  std::uint64_t pool_hits = 0;
  std::array<std::uint64_t, miss_reasons> misses{};
  std::uint64_t input_tokens = 0;
  std::uint64_t computed_tokens = 0;

  std::uint64_t completed() const { return ended[static_cast<std::size_t>(Outcome::completed)]; }
  std::uint64_t rejected() const;
  std::uint64_t failed() const;
  std::uint64_t in_flight() const { return arrived - completed() - rejected() - failed(); }
  std::uint64_t hits() const { return gpu_hits + host_hits + pool_hits; }
  // Hits over blocks; nothing where there were none.
  std::optional<double> hit_ratio() const;
};

// Whether engines keep up with what comes.
struct Pressure {
  double arrivals_per_second = 0;  // from the first arrival to the last
  double ended_per_second = 0;     // in the same time
  // GPU time of all passes that compute prompts, also after the last arrival, over what the
  // engines had between the first and the last one: above 1 they cannot keep up.
  double load = 0;
  // By which the number of waiting requests grew, by least squares over the arrivals.
  double queue_growth_per_second = 0;
  std::uint64_t waiting_most = 0;
  std::uint64_t waiting_at_last_arrival = 0;

  // Above capacity: more work than time, or one in twenty arrivals only made the queue longer.
  bool overloaded() const {
    return load > 1 || queue_growth_per_second > 0.05 * arrivals_per_second;
  }
};

// A cluster's engines behind their router, and the requests of a trace. Each request that came in
// ends exactly once; its record goes to the sink and is forgotten, so that memory does not grow
// with the trace in an open loop.
class Serving final : public Served, Arrivals::Taker {
 public:
  struct Config {
    std::uint32_t page_tokens = 512;  // of the engines
    RouterPolicy router = RouterPolicy::prefix_aware;
    double speed = 1;                   // finite, above zero
    std::uint64_t warmup_requests = 0;  // the first of the trace, which are in no sum of blocks
    bool closed = false;                // loop (arrivals.h)
    std::optional<std::uint32_t> sessions_at_once;
  };

  // All that is pointed at outlives it.
  Serving(Kernel& kernel, const Config& config, RecordSink& sink);
  ~Serving() override;

  // Engines tell this object what becomes of requests. Before begin().
  void add(std::unique_ptr<Engine> engine);
  Engine& engine(std::size_t number) { return *engines_[number]; }
  std::size_t engines() const { return engines_.size(); }

  // Once. The kernel then makes it go on. Errors are those of the trace, and of pages_of().
  Status begin(workloads::TraceReader& reader);
  // No more will come, and all that came have ended.
  bool done() const { return arrivals_->done() && totals_.in_flight() == 0; }
  // begin(), and the kernel's events until done(). What is wrong with the trace comes only when
  // the requests before it have been served.
  Status run(workloads::TraceReader& reader);
  const Status& status() const { return arrivals_->status(); }

  // Its requests fail, and it gets no others.
  void lose_engine(std::size_t number);
  void restore_engine(std::size_t number);

  // The request that came last, by its place in the trace: the one that an engine is being given,
  // where that is asked from inside of submit().
  std::uint64_t last_arrived() const { return last_arrived_; }
  const ServingTotals& totals() const { return totals_; }
  Pressure pressure() const;

 private:
  Status arrive(const workloads::Request& request, std::uint64_t number) override;
  void first_token(ServedRequest&) override {}
  void ended(ServedRequest& request) override;
  void note_arrival();
  ServedRequest& take_request();

  class Untaken;

  Kernel& kernel_;
  Config config_;
  RecordSink& sink_;
  Router router_;
  std::unique_ptr<Arrivals> arrivals_;
  std::vector<std::unique_ptr<ServedRequest>> requests_;  // used again, never freed
  std::vector<ServedRequest*> free_requests_;
  std::vector<Engine*> up_;              // by number; nullptr: lost
  std::vector<ServedRequest*> untaken_;  // that came when no engine was there
  std::unique_ptr<Untaken> tell_untaken_;
  std::uint64_t last_arrived_ = 0;
  ServingTotals totals_;

  // Of arrivals: times in seconds since the first, and how many requests waited.
  std::optional<Instant> first_arrival_;
  Instant last_arrival_{};
  std::uint64_t ended_at_last_arrival_ = 0;
  double times_ = 0;
  double times_squared_ = 0;
  double waiting_ = 0;
  double waiting_times_ = 0;
  std::uint64_t waiting_most_ = 0;
  std::uint64_t waiting_last_ = 0;

  std::vector<std::unique_ptr<Engine>> engines_;  // go first
};

}  // namespace larder::sim
