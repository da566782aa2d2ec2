#include "sim/serving/cached_engine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/assert.h"
#include "sim/serving/cached_engine_parts.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t timer_label = 0x5e3;
constexpr std::uint32_t tell_label = 0x5e4;

constexpr std::array<std::string_view, 3> write_policies{"write-through", "selective",
                                                         "write-back"};
constexpr std::array<std::string_view, 3> decodings{"elsewhere", "waits", "mixed"};

template <class Value, std::size_t count>
std::optional<Value> named(const std::array<std::string_view, count>& names,
                           std::string_view name) {
  const auto* at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Value>(at - names.begin());
}

}  // namespace

std::string_view write_policy_name(WritePolicy policy) {
  return write_policies[static_cast<std::size_t>(policy)];
}
std::optional<WritePolicy> write_policy_named(std::string_view name) {
  return named<WritePolicy>(write_policies, name);
}
std::string_view decoding_name(Decoding decoding) {
  return decodings[static_cast<std::size_t>(decoding)];
}
std::optional<Decoding> decoding_named(std::string_view name) {
  return named<Decoding>(decodings, name);
}

// ---- making -------------------------------------------------------------------------------------

Result<std::unique_ptr<CachedEngine>> CachedEngine::make(Kernel& kernel, const Compute& compute,
                                                         const CachedEngineConfig& config,
                                                         Place place, PagePool* pool,
                                                         Served& served) {
  const ServingShape& shape = compute.shape();
  if (config.page_tokens == 0 || config.chunk_tokens == 0 || config.waiting_max == 0) {
    return failed(ErrorCode::invalid_params,
                  "pages, chunks and the number of waiting requests must be above zero");
  }
  const std::uint64_t gpu_blocks = compute.kv_tokens() / config.page_tokens;
  if (gpu_blocks == 0) {
    return failed(ErrorCode::invalid_params,
                  "the GPUs have room for the KV of " + std::to_string(compute.kv_tokens()) +
                      " tokens of " + shape.model.name + ", which is less than a page of " +
                      std::to_string(config.page_tokens));
  }
  const Bytes block = compute.kv_bytes_each_gpu() * config.page_tokens * shape.gpus;
  if (config.host_memory < block) {
    return failed(ErrorCode::invalid_params, "the host's memory for KV is less than a page, of " +
                                                 std::to_string(block.value) + " bytes");
  }
  LARDER_ASSERT(place.gpus.size() == shape.gpus);
  LARDER_ASSERT(pool == nullptr || !place.drams.empty());
  return std::unique_ptr<CachedEngine>(
      new CachedEngine(kernel, compute, config, std::move(place), pool, served,
                       {.gpu = gpu_blocks, .host = config.host_memory / block}));
}

CachedEngine::CachedEngine(Kernel& kernel, const Compute& compute, const CachedEngineConfig& config,
                           Place place, PagePool* pool, Served& served, BlockTree::Room room)
    : kernel_(kernel),
      compute_(compute),
      config_(config),
      pool_(pool),
      served_(served),
      drams_(std::move(place.drams)),
      tree_(room),
      copies_(kernel, place.fabric, std::move(place.gpus),
              compute.kv_bytes_each_gpu() * config.page_tokens, *this),
      tell_(std::make_unique<Timer>(*this, tell_label, &CachedEngine::tell)),
      timer_(std::make_unique<Timer>(*this, timer_label, &CachedEngine::go_on)) {}

CachedEngine::~CachedEngine() { drop_all(); }

CachedEngine::Job& CachedEngine::take_job(ServedRequest& request) {
  if (free_jobs_.empty()) {
    jobs_.push_back(std::make_unique<Job>(*this));
    free_jobs_.push_back(jobs_.back().get());
  }
  Job& job = *free_jobs_.back();
  free_jobs_.pop_back();
  job.request = &request;
  job.fetched = 0;
  job.leading = 0;
  return job;
}

void CachedEngine::release(Job& job) {
  kernel_.cancel(job);
  job.request = nullptr;
  free_jobs_.push_back(&job);
}

// ---- requests -----------------------------------------------------------------------------------

std::uint64_t CachedEngine::tokens_of(const ServedRequest& request, std::size_t blocks) const {
  return std::min<std::uint64_t>(std::uint64_t{config_.page_tokens} * blocks,
                                 request.record.input_tokens);
}

// On the GPUs, for the input and, if it is made here, the answer.
std::uint64_t CachedEngine::pages_needed(const ServedRequest& request) const {
  const RequestRecord& record = request.record;
  const std::uint64_t tokens =
      record.input_tokens + (config_.decoding == Decoding::elsewhere ? 0 : record.output_tokens);
  return std::max<std::uint64_t>((tokens + config_.page_tokens - 1) / config_.page_tokens,
                                 request.blocks.size());
}

void CachedEngine::submit(ServedRequest& request) {
  const RequestRecord& record = request.record;
  if (record.input_tokens + record.output_tokens > compute_.shape().model.context_tokens) {
    return refuse(request, Outcome::too_long);
  }
  if (pages_needed(request) > tree_.room().gpu) return refuse(request, Outcome::too_large);
  if (waiting_.size() >= config_.waiting_max) return refuse(request, Outcome::queue_full);
  Job& job = take_job(request);
  waiting_.push_back(&job);
  waiting_tokens_ += record.input_tokens;
  begin_prefetch(job);
  wake();
}

void CachedEngine::refuse(ServedRequest& request, Outcome outcome) {
  request.record.outcome = outcome;
  request.record.end = kernel_.now();
  to_tell_.push_back(&request);
  kernel_.arm(*tell_, kernel_.now());
}

void CachedEngine::tell() {
  const std::vector<ServedRequest*> ended = std::exchange(to_tell_, {});
  for (ServedRequest* request : ended) served_.ended(*request);
}

void CachedEngine::end(Job& job) {
  ServedRequest& request = *job.request;
  tree_.unlock(job.path);
  tree_.give_gpu(job.reserved);
  request.record.outcome = Outcome::completed;
  request.record.end = kernel_.now();
  release(job);
  served_.ended(request);
}

EngineLoad CachedEngine::load() const {
  EngineLoad load{.waiting = waiting_.size(),
                  .running = computing_.size() + decoding_.size(),
                  .tokens = waiting_tokens_};
  for (const Job* job : computing_) load.tokens += job->left;
  return load;
}

void CachedEngine::drop_all() {
  kernel_.cancel(*timer_);
  copies_.drop();
  drop_writes();
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (job->request == nullptr) continue;
    if (job->prefetch == Job::Prefetch::looking) pool_->give_up(job->lookup());
    if (job->prefetch == Job::Prefetch::reading) pool_->give_up(job->read());
  }
}

void CachedEngine::lose() {
  drop_all();
  // In the order of their arrival, which is that of their numbers.
  std::vector<ServedRequest*> lost;
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (job->request == nullptr) continue;
    lost.push_back(job->request);
    release(*job);
  }
  std::ranges::sort(lost, {}, [](const ServedRequest* request) { return request->record.number; });
  for (ServedRequest* request : lost) refuse(*request, Outcome::engine_lost);
  waiting_.clear();
  computing_.clear();
  decoding_.clear();
  batch_.clear();
  leaving_.clear();
  leaving_copy_ = 0;
  contexts_ = waiting_tokens_ = fetching_ = 0;
  state_ = State::idle;
  tree_ = BlockTree(tree_.room());
}

void CachedEngine::check_invariants() const {
  tree_.check_invariants();
  LARDER_ASSERT(waiting_.size() + computing_.size() + decoding_.size() + free_jobs_.size() ==
                jobs_.size());
}

}  // namespace larder::sim
