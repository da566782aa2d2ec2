#include <algorithm>

#include "core/base/assert.h"
#include "sim/serving/cached_engine_parts.h"

namespace larder::sim {

// Something has changed that may let a request begin.
void CachedEngine::wake() {
  if (state_ == State::idle || state_ == State::making_room) {
    next_pass();
  } else if (state_ == State::decoding) {
    const bool ready = std::ranges::any_of(waiting_, [&](Job* job) { return is_ready(*job); });
    if (ready) cut_decoding();
  }
}

// The state's time is over.
void CachedEngine::go_on() {
  switch (state_) {
    case State::computing: {
      std::uint32_t load = 0;
      for (const Chunk& chunk : batch_) load = std::max(load, chunk.job->load);
      state_ = State::waiting;
      load_needed_ = load;
      if (copies_.ended(HostCopies::Direction::to_gpu) >= load) end_pass();
      return;
    }
    case State::last_layer:
      return end_pass();
    case State::decoding:
      busy_.decoding += kernel_.now() - since_;
      decoded(steps_planned_);
      return next_pass();
    default:
      LARDER_ASSERT(false, "a timer of a state that has none");
  }
}

void CachedEngine::next_pass() {
  state_ = State::idle;
  if (leaving_copy_ != 0) {
    state_ = State::making_room;
    return;
  }
  batch_.clear();
  Pass pass;
  std::uint64_t budget = config_.chunk_tokens;
  for (Job* job : computing_) add_chunk(*job, pass, budget);
  begin_requests(pass, budget);
  if (leaving_copy_ != 0 && batch_.empty()) {
    state_ = State::making_room;
    return;
  }
  if (batch_.empty()) return begin_decoding();
  riders_ = config_.decoding == Decoding::mixed && !decoding_.empty();
  if (riders_) pass.add_decode(decoding_.size(), contexts_);
  pass_time_ = compute_.time(pass);
  since_ = kernel_.now();
  state_ = State::computing;
  kernel_.arm_in(*timer_, pass_time_);
}

void CachedEngine::add_chunk(Job& job, Pass& pass, std::uint64_t& budget) {
  const std::uint64_t tokens = std::min(job.left, budget);
  if (tokens == 0) return;
  pass.add_prompt(tokens, job.done);
  budget -= tokens;
  batch_.push_back({.job = &job, .tokens = tokens});
}

void CachedEngine::begin_requests(Pass& pass, std::uint64_t& budget) {
  for (std::size_t at = 0; at < waiting_.size() && budget > 0;) {
    Job& job = *waiting_[at];
    if (!is_ready(job)) {
      ++at;
      continue;
    }
    end_prefetch(job);
    if (!begin_request(job)) return;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
    waiting_tokens_ -= job.request->record.input_tokens;
    computing_.push_back(&job);
    add_chunk(job, pass, budget);
  }
}

// Whether there is room for it; then it has it.
bool CachedEngine::begin_request(Job& job) {
  ServedRequest& request = *job.request;
  RequestRecord& record = request.record;
  const BlockTree::Match match = tree_.find(request.blocks, job.path);
  const std::size_t on_host = match.blocks - match.on_gpu;
  const std::uint64_t needed = pages_needed(request) - match.on_gpu;
  tree_.lock(job.path);
  if (!make_room(needed)) {
    tree_.unlock(job.path);
    return false;
  }
  tree_.take_gpu(needed);
  job.reserved = needed - on_host;
  job.hits = match.blocks;
  if (on_host > 0) {
    const std::uint32_t number = copies_.begin(HostCopies::Direction::to_gpu, on_host);
    for (std::size_t i = match.on_gpu; i < match.blocks; ++i) {
      tree_.load(job.path[i]);
      tree_.notes(job.path[i]).load = number;
    }
  }
  job.load = 0;
  for (const BlockTree::Node node : job.path) job.load = std::max(job.load, tree_.notes(node).load);
  job.done = std::min(tokens_of(request, match.blocks),
                      record.input_tokens - std::min<std::uint64_t>(record.input_tokens, 1));
  job.left = std::max<std::uint64_t>(record.input_tokens - job.done, 1);
  record.prefill_begin = kernel_.now();
  record.gpu_hits = static_cast<std::uint32_t>(match.on_gpu);
  record.pool_hits = static_cast<std::uint32_t>(std::min(job.fetched, on_host));
  record.host_hits = static_cast<std::uint32_t>(on_host) - record.pool_hits;
  for (std::size_t i = match.blocks; i < request.blocks.size(); ++i) {
    ++record.misses[static_cast<std::size_t>(request.missing[i])];
  }
  record.computed_tokens = job.left;
  return true;
}

bool CachedEngine::make_room(std::uint64_t blocks) {
  if (tree_.free().gpu >= blocks) return true;
  const bool room = tree_.make_gpu_room(blocks, config_.write == WritePolicy::write_back, leaving_);
  if (!leaving_.empty() && leaving_copy_ == 0) begin_leaving();
  return room;
}

// ---- the end of a pass --------------------------------------------------------------------------

void CachedEngine::end_pass() {
  busy_.prompts += kernel_.now() - since_;
  if (riders_) decoded(1);
  for (const auto& [job, tokens] : batch_) {
    job->done += tokens;
    job->left -= tokens;
    if (job->left == 0) computed(*job);
  }
  std::erase_if(computing_, [](const Job* job) { return job->left == 0; });
  finish_computed();
  next_pass();
}

// The whole prompt has its KV, and the first token of the answer is there.
void CachedEngine::computed(Job& job) {
  ServedRequest& request = *job.request;
  request.record.first_token = kernel_.now();
  BlockTree::Node parent = job.path.empty() ? BlockTree::none : job.path.back();
  for (std::size_t i = job.hits; i < request.blocks.size(); ++i) {
    const BlockTree::Node node = tree_.add_on_gpu(parent, request.blocks[i]);
    if (node == BlockTree::none) break;
    --job.reserved;
    job.path.push_back(node);
    parent = node;
  }
  count_use(job);
  finished_.push_back(&job);
}

// Tells of those that are computed, and lets them decode or end. Whoever is told may submit others.
void CachedEngine::finish_computed() {
  state_ = State::waiting;  // no pass begins in between
  for (std::size_t i = 0; i < finished_.size(); ++i) {
    Job& job = *finished_[i];
    const RequestRecord& record = job.request->record;
    served_.first_token(*job.request);
    if (config_.decoding == Decoding::elsewhere || record.output_tokens <= 1) {
      end(job);
      continue;
    }
    contexts_ += record.input_tokens + 1;
    decoding_.push_back(
        {.last_step = step_ + record.output_tokens - 1, .order = order_++, .job = &job});
    std::push_heap(decoding_.begin(), decoding_.end());
  }
  finished_.clear();
}

// ---- decoding -----------------------------------------------------------------------------------

void CachedEngine::begin_decoding() {
  if (decoding_.empty()) return;
  steps_planned_ = decoding_.front().last_step - step_;
  since_ = kernel_.now();
  state_ = State::decoding;
  kernel_.arm_in(*timer_, compute_.time(decoding_now(), steps_planned_));
}

// Stops after the step that is being computed.
void CachedEngine::cut_decoding() {
  const Duration passed = kernel_.now() - since_;
  std::uint64_t fewest = 1;
  std::uint64_t most = steps_planned_;
  while (fewest < most) {
    const std::uint64_t middle = fewest + (most - fewest) / 2;
    if (compute_.time(decoding_now(), middle) >= passed) {
      most = middle;
    } else {
      fewest = middle + 1;
    }
  }
  if (fewest == steps_planned_) return;
  steps_planned_ = fewest;
  kernel_.arm(*timer_, later(since_, compute_.time(decoding_now(), fewest)));
}

Compute::Decoding CachedEngine::decoding_now() const {
  return {.requests = decoding_.size(), .context_tokens = contexts_};
}

void CachedEngine::decoded(std::uint64_t steps) {
  step_ += steps;
  contexts_ += steps * decoding_.size();
  const State before = state_;
  state_ = State::waiting;  // no pass begins in between
  while (!decoding_.empty() && decoding_.front().last_step <= step_) {
    Job& job = *decoding_.front().job;
    std::pop_heap(decoding_.begin(), decoding_.end());
    decoding_.pop_back();
    contexts_ -= job.request->record.input_tokens + job.request->record.output_tokens;
    end(job);
  }
  state_ = before;
}

}  // namespace larder::sim
