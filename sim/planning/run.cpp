#include "sim/planning/run.h"

#include <algorithm>
#include <utility>

#include "core/base/assert.h"
#include "core/base/duration_text.h"
#include "core/base/size_text.h"
#include "sim/planning/deployment.h"
#include "sim/planning/trace_window.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

constexpr std::size_t link_intervals = 64;
constexpr std::uint64_t events_between_looks = 4'096;

// What becomes of the requests, while they end.
class Collector final : public RecordSink {
 public:
  Collector(const Setting& setting, RunWatcher& watcher)
      : warmup_(setting.warmup_requests), watcher_(watcher), engines_(setting.engines) {}

  void begin(Timeline& timeline, const Deployment& deployment) {
    timeline_ = &timeline;
    page_tokens_ = deployment.sizes().page_tokens;
    if (deployment.compute()) compute_ = &*deployment.compute();
  }

  void take(const ServedRequest& request) override {
    const RequestRecord& record = request.record;
    timeline_->ended(record);
    ++ended_;
    if (record.outcome != Outcome::too_long) ++engines_[record.engine].requests;
    if (record.number >= warmup_) {
      if (const auto time = record.ttft()) {
        ttft_.add(*time);
        ttft_sum_ += *time;
      }
      if (compute_ != nullptr && record.prefill_begin != instant_never) save(record);
    }
    watcher_.ended(request);
  }

  std::uint64_t ended() const { return ended_; }
  void hand_over(Run& run) {
    run.ttft = std::move(ttft_);
    run.ttft_sum = ttft_sum_;
    run.engines = std::move(engines_);
    if (compute_ != nullptr) run.saved = saved_;
  }

 private:
  // Of the prompt in one pass, if only so many of its leading tokens were there.
  Duration time_behind(std::uint64_t there, std::uint64_t input) const {
    Pass pass;
    pass.add_prompt(input - there, there);
    return compute_->time(pass);
  }
  void save(const RequestRecord& record) {
    const std::uint64_t input = std::max<std::uint64_t>(record.input_tokens, 1);
    const auto tokens = [&](std::uint64_t pages) {  // the last one is always computed
      return std::min(pages * page_tokens_, input - 1);
    };
    const Duration none = time_behind(0, input);
    const Duration gpu = time_behind(tokens(record.gpu_hits), input);
    const Duration host =
        time_behind(tokens(std::uint64_t{record.gpu_hits} + record.host_hits), input);
    const Duration pool = time_behind(tokens(record.hits()), input);
    const auto gpus = static_cast<std::int64_t>(compute_->shape().gpus);
    saved_.gpu += (none - gpu) * gpus;
    saved_.host += (gpu - host) * gpus;
    saved_.pool += (host - pool) * gpus;
  }

  const std::uint64_t warmup_;
  RunWatcher& watcher_;
  Timeline* timeline_ = nullptr;
  const Compute* compute_ = nullptr;
  std::uint64_t page_tokens_ = 0;
  std::uint64_t ended_ = 0;
  Histogram ttft_;
  Duration ttft_sum_{0};
  SavedTime saved_;
  std::vector<Run::EngineUse> engines_;
};

bool tells_cores(const Run& run) {
  return std::ranges::all_of(run.setting.hardware.hosts,
                             [](const HardwareHost& host) { return host.cores > 0; });
}

std::vector<std::string> notes_on(const Run& run) {
  std::vector<std::string> notes;
  const ServingTotals& totals = run.totals;
  if (run.setting.serving && run.sizes.host_pages <= run.sizes.gpu_pages) {
    notes.push_back("An engine's host memory holds " + std::to_string(run.sizes.host_pages) +
                    " pages, no more than the " + std::to_string(run.sizes.gpu_pages) +
                    " on its GPUs: nothing is fetched from the pool, as in HiCache.");
  }
  if (run.pressure.overloaded()) {
    notes.push_back(
        "More came than the engines can serve: times to first token grow with the "
        "length of the trace.");
  }
  if (totals.rejected() > 0) {
    notes.push_back(std::to_string(totals.rejected()) +
                    " requests were rejected: longer than the model's context (too-long), than "
                    "what the GPUs hold (too-large), or behind a full queue (queue-full).");
  }
  if (totals.failed() > 0) {
    notes.push_back(std::to_string(totals.failed()) + " requests failed with their engine.");
  }
  if (run.setting.calibrated && !tells_cores(run)) {
    notes.push_back(
        "The cluster does not tell its hosts' cores, so what the calibration says of clients' own "
        "time counts nowhere: \"cores\" in a hardware file.");
  }
  for (const PlannedFault& fault : run.setting.faults) {
    if (fault.at <= run.time) continue;
    notes.push_back("The fault " + fault_text(fault) + " never came: the run was over after " +
                    duration_text(std::chrono::duration_cast<std::chrono::seconds>(run.time)) +
                    ".");
  }
  if (!run.setting.memory_per_node) {
    notes.push_back("The pool is without limit, and is not held against the hosts' memory.");
  }
  if (!run.setting.serving) {
    notes.push_back(
        "Without serving computing takes no time: times to first token are those of "
        "the pool alone.");
  }
  return notes;
}

PoolCurve curve_of(const Run& run, const PoolCurveRecorder& recorder) {
  PoolCurveRecorder::OwnPool own{.fetched = run.totals.pool_hits, .page_room = run.sizes.page_room};
  if (run.setting.memory_per_node) own.pages = run.sizes.pool_pages;
  return recorder.curve(own);
}

Status serve(Deployment& deployment, TraceWindow& trace, const Collector& collector,
             RunWatcher& watcher) {
  Serving& serving = deployment.serving();
  Kernel& kernel = deployment.kernel();
  LARDER_CHECK(serving.begin(trace));
  while (!serving.done()) {
    for (std::uint64_t i = 0; i < events_between_looks && !serving.done(); ++i) {
      LARDER_ASSERT(kernel.step(), "requests wait for nothing");
    }
    if (!watcher.go_on(collector.ended(), kernel.now() - Instant{})) {
      return failed(ErrorCode::cancelled, "the run was given up");
    }
  }
  return serving.status();
}

}  // namespace

std::optional<double> Run::ttft_mean_s() const {
  if (ttft.count() == 0) return std::nullopt;
  return static_cast<double>(ttft_sum.count()) / 1e9 / static_cast<double>(ttft.count());
}

std::optional<double> Run::ttft_s(double quantile) const {
  if (ttft.count() == 0) return std::nullopt;
  return static_cast<double>(ttft.quantile(quantile).count()) / 1e9;
}

Result<Run> run(const Setting& setting, workloads::TraceReader& trace, RunWatcher& watcher,
                RunWishes wishes) {
  TraceWindow window(trace, {.requests_max = setting.requests_max, .every = setting.every});
  LARDER_CHECK(setting.check());
  LARDER_TRY(const workloads::Request* const first, window.first());
  if (first == nullptr) return failed(ErrorCode::invalid_params, "the trace has no request");
  Collector collector(setting, watcher);
  LARDER_TRY(const std::unique_ptr<Deployment> deployment,
             Deployment::make(setting, first->block_tokens, collector));
  Serving& serving = deployment->serving();
  Timeline timeline(deployment->kernel(), deployment->pool(), serving, setting.intervals);
  std::optional<LinkUse> links;
  if (const Fabric* const fabric = deployment->fabric()) {
    links.emplace(deployment->kernel(), *fabric, link_intervals);
  }
  std::optional<PoolCurveRecorder> curve;
  if (wishes.pool_curve) {
    deployment->pool().watch_calls(
        &curve.emplace([&] { return serving.last_arrived() >= setting.warmup_requests; }));
  }
  collector.begin(timeline, *deployment);
  LARDER_CHECK(serve(*deployment, window, collector, watcher));
  if (setting.warmup_requests >= serving.totals().arrived) {
    return failed(ErrorCode::invalid_params,
                  workloads::all_is_warmup(setting.warmup_requests, serving.totals().arrived));
  }
  timeline.close();
  Run run{.setting = setting,
          .topology = deployment->topology(),
          .placement = deployment->placement(),
          .sizes = deployment->sizes(),
          .totals = serving.totals(),
          .pressure = serving.pressure(),
          .time = deployment->kernel().now() - Instant{},
          .interval = timeline.interval(),
          .intervals = {timeline.intervals().begin(), timeline.intervals().end()},
          .pool = deployment->pool().gauges(),
          .state_hash = deployment->kernel().hash()};
  if (links) run.links = links->take();
  if (curve) run.curve = curve_of(run, *curve);
  collector.hand_over(run);
  for (std::size_t i = 0; i < run.engines.size(); ++i) {
    run.engines[i].busy = serving.engine(i).busy();
  }
  run.notes = notes_on(run);
  LARDER_ASSERT(run.totals.in_flight() == 0);
  return run;
}

}  // namespace larder::sim
