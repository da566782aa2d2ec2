#include <algorithm>

#include "core/base/assert.h"
#include "sim/serving/cached_engine_parts.h"

namespace larder::sim {

using Direction = HostCopies::Direction;

CachedEngine::Write& CachedEngine::take_write() {
  if (free_writes_.empty()) {
    writes_.push_back(std::make_unique<Write>(*this));
    free_writes_.push_back(writes_.back().get());
  }
  Write& write = *free_writes_.back();
  free_writes_.pop_back();
  write.in_use = true;
  write.path.clear();
  write.nodes.clear();
  return write;
}

void CachedEngine::release(Write& write) {
  write.in_use = write.putting = false;
  free_writes_.push_back(&write);
}

// Of all blocks of a prompt, which are on the GPUs; those are copied for which it is time.
void CachedEngine::count_use(Job& job) {
  nodes_.clear();
  std::size_t last = 0;
  const std::uint32_t uses_min =
      config_.write == WritePolicy::selective ? config_.selective_uses : 1;
  for (std::size_t i = 0; i < job.path.size(); ++i) {
    const BlockTree::Node node = job.path[i];
    const std::uint32_t uses = ++tree_.notes(node).uses;
    if (config_.write == WritePolicy::write_back || uses < uses_min || tree_.on_host(node)) {
      continue;
    }
    if (!tree_.make_host_room(1)) continue;  // as HiCache: it stays where it is
    tree_.take_host(1);
    tree_.save(node);
    nodes_.push_back(node);
    last = i + 1;
  }
  if (nodes_.empty()) return;
  Write& write = take_write();
  write.nodes = nodes_;
  write.path.assign(job.path.begin(), job.path.begin() + static_cast<std::ptrdiff_t>(last));
  tree_.lock(write.path);
  write.number = copies_.begin(Direction::to_host, nodes_.size());
  copying_.push_back(&write);
}

// What leaves the GPUs is copied before; no pass begins until it has left.
void CachedEngine::begin_leaving() {
  const auto blocks = std::ranges::count(leaving_, true, &BlockTree::Leaving::copy);
  // One that only waits does so for a copy.
  LARDER_ASSERT(blocks > 0);
  leaving_copy_ = copies_.begin(Direction::to_host, static_cast<std::uint64_t>(blocks));
}

void CachedEngine::leave() {
  leaving_copy_ = 0;
  Write& write = take_write();
  for (const auto& [node, copy] : leaving_) {
    if (copy) write.nodes.push_back(node);
  }
  // Locked for the pool before they leave, so that they stay on the host.
  put(write);
  for (const auto& [node, copy] : leaving_) tree_.left(node);
  leaving_.clear();
}

void CachedEngine::copied(Direction direction, std::uint32_t number) {
  if (direction == Direction::to_gpu) {
    if (state_ != State::waiting || number < load_needed_) return;
    // The last layer is computed when its KV is there.
    state_ = State::last_layer;
    kernel_.arm_in(*timer_, pass_time_ / compute_.shape().model.layers);
    return;
  }
  while (!copying_.empty() && copying_.front()->number <= number) {
    Write& write = *copying_.front();
    copying_.pop_front();
    put(write);
    tree_.unlock(write.path);
  }
  if (leaving_copy_ != 0 && leaving_copy_ <= number) leave();
  wake();
}

// What is on the host now goes on to the pool, if it did not come from there.
void CachedEngine::put(Write& write) {
  pages_.clear();
  std::erase_if(write.nodes, [&](BlockTree::Node node) {
    BlockTree::Notes& notes = tree_.notes(node);
    if (pool_ == nullptr || notes.in_pool) return true;
    notes.in_pool = true;
    tree_.lock_host(node);
    pages_.push_back(
        {.id = tree_.id(node), .parent = tree_.parent_id(node), .depth = tree_.depth(node)});
    return false;
  });
  if (write.nodes.empty()) return release(write);
  write.putting = true;
  pool_->put(next_dram(), pages_, write);
}

void CachedEngine::put_ended(Write& write) {
  for (const BlockTree::Node node : write.nodes) tree_.unlock_host(node);
  release(write);
  wake();
}

void CachedEngine::drop_writes() {
  copying_.clear();
  for (const std::unique_ptr<Write>& write : writes_) {
    if (!write->in_use) continue;
    if (write->putting) pool_->give_up(*write);
    release(*write);
  }
}

}  // namespace larder::sim
