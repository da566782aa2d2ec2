#include "sim/serving/serving.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/assert.h"
#include "sim/kernel/event.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

constexpr std::uint32_t no_engine_label = 0x5e8;

double seconds(Duration time) { return static_cast<double>(time.count()) / 1e9; }

}  // namespace

Status pages_of(const workloads::Request& request, std::uint32_t page_tokens,
                std::vector<std::uint64_t>& pages) {
  pages.clear();
  if (request.block_tokens == 0 || page_tokens % request.block_tokens != 0 || page_tokens == 0) {
    return failed(ErrorCode::invalid_params,
                  "the trace has blocks of " + std::to_string(request.block_tokens) +
                      " tokens, of which pages of " + std::to_string(page_tokens) +
                      " cannot be made: choose a multiple");
  }
  const std::size_t each = page_tokens / request.block_tokens;
  for (std::size_t last = each - 1; last < request.blocks.size(); last += each) {
    pages.push_back(request.blocks[last].value);
  }
  return {};
}

std::uint64_t ServingTotals::rejected() const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < outcomes; ++i) {
    if (is_rejected(static_cast<Outcome>(i))) count += ended[i];
  }
  return count;
}

std::uint64_t ServingTotals::failed() const {
  return ended[static_cast<std::size_t>(Outcome::engine_lost)];
}

std::optional<double> ServingTotals::hit_ratio() const {
  if (blocks == 0) return std::nullopt;
  return static_cast<double>(hits()) / static_cast<double>(blocks);
}

// Not from inside the arrival of what it may make room for.
class Serving::Untaken final : public Event {
 public:
  explicit Untaken(Serving& serving) : Event(no_engine_label), serving_(serving) {}

 private:
  void fire() override {
    const std::vector<ServedRequest*> untaken = std::exchange(serving_.untaken_, {});
    for (ServedRequest* request : untaken) serving_.ended(*request);
  }
  Serving& serving_;
};

Serving::Serving(Kernel& kernel, const Config& config, RecordSink& sink)
    : kernel_(kernel),
      config_(config),
      sink_(sink),
      router_(config.router, config.page_tokens),
      arrivals_(config.closed ? closed_loop(kernel,
                                            {.speed = config.speed,
                                             .sessions_at_once = config.sessions_at_once},
                                            *this)
                              : open_loop(kernel, config.speed, *this)),
      tell_untaken_(std::make_unique<Untaken>(*this)) {}

Serving::~Serving() = default;

void Serving::add(std::unique_ptr<Engine> engine) {
  up_.push_back(engine.get());
  engines_.push_back(std::move(engine));
}

Status Serving::begin(workloads::TraceReader& reader) {
  LARDER_ASSERT(!engines_.empty());
  return arrivals_->begin(reader);
}

Status Serving::run(workloads::TraceReader& reader) {
  LARDER_CHECK(begin(reader));
  while (!done()) LARDER_ASSERT(kernel_.step(), "requests wait for nothing");
  return status();
}

ServedRequest& Serving::take_request() {
  if (free_requests_.empty()) {
    requests_.push_back(std::make_unique<ServedRequest>());
    free_requests_.push_back(requests_.back().get());
  }
  ServedRequest& request = *free_requests_.back();
  free_requests_.pop_back();
  return request;
}

Status Serving::arrive(const workloads::Request& request, std::uint64_t number) {
  ServedRequest& served = take_request();
  LARDER_CHECK(pages_of(request, config_.page_tokens, served.blocks));
  served.record = {.number = number,
                   .speaker = request.speaker,
                   .input_tokens = request.input_tokens,
                   .output_tokens = request.output_tokens,
                   .arrival = kernel_.now(),
                   .blocks = static_cast<std::uint32_t>(served.blocks.size())};
  served.missing.clear();
  ++totals_.arrived;
  last_arrived_ = number;
  note_arrival();
  const std::optional<std::size_t> engine = router_.choose(served, up_);
  if (!engine) {
    served.record.outcome = Outcome::engine_lost;
    served.record.end = kernel_.now();
    untaken_.push_back(&served);
    kernel_.arm(*tell_untaken_, kernel_.now());
    return {};
  }
  served.record.engine = static_cast<std::uint32_t>(*engine);
  up_[*engine]->submit(served);
  return {};
}

void Serving::note_arrival() {
  const Instant now = kernel_.now();
  if (!first_arrival_) first_arrival_ = now;
  last_arrival_ = now;
  ended_at_last_arrival_ = totals_.arrived - totals_.in_flight();
  waiting_last_ = 0;
  for (const std::unique_ptr<Engine>& engine : engines_) waiting_last_ += engine->load().waiting;
  waiting_most_ = std::max(waiting_most_, waiting_last_);
  const double time = seconds(now - *first_arrival_);
  const auto waiting = static_cast<double>(waiting_last_);
  times_ += time;
  times_squared_ += time * time;
  waiting_ += waiting;
  waiting_times_ += waiting * time;
}

void Serving::ended(ServedRequest& request) {
  const RequestRecord& record = request.record;
  ++totals_.ended[static_cast<std::size_t>(record.outcome)];
  if (record.prefill_begin != instant_never && record.number >= config_.warmup_requests) {
    totals_.blocks += record.blocks;
    totals_.gpu_hits += record.gpu_hits;
    totals_.host_hits += record.host_hits;
    totals_.pool_hits += record.pool_hits;
    for (std::size_t i = 0; i < miss_reasons; ++i) totals_.misses[i] += record.misses[i];
    totals_.input_tokens += record.input_tokens;
    totals_.computed_tokens += record.computed_tokens;
  }
  sink_.take(request);
  const std::optional<workloads::Speaker> speaker = record.speaker;
  free_requests_.push_back(&request);
  if (speaker) arrivals_->ended(*speaker);
}

void Serving::lose_engine(std::size_t number) {
  if (std::exchange(up_[number], nullptr) != nullptr) engines_[number]->lose();
}

void Serving::restore_engine(std::size_t number) { up_[number] = engines_[number].get(); }

Pressure Serving::pressure() const {
  Pressure pressure{.waiting_most = waiting_most_, .waiting_at_last_arrival = waiting_last_};
  if (!first_arrival_) return pressure;
  const double span = seconds(last_arrival_ - *first_arrival_);
  if (span <= 0) return pressure;
  const auto count = static_cast<double>(totals_.arrived);
  pressure.arrivals_per_second = count / span;
  pressure.ended_per_second = static_cast<double>(ended_at_last_arrival_) / span;
  Duration busy{0};
  for (const std::unique_ptr<Engine>& engine : engines_) busy += engine->busy().prompts;
  pressure.load = seconds(busy) / (span * static_cast<double>(engines_.size()));
  const double spread = count * times_squared_ - times_ * times_;
  if (spread > 0) {
    pressure.queue_growth_per_second = (count * waiting_times_ - times_ * waiting_) / spread;
  }
  return pressure;
}

}  // namespace larder::sim
