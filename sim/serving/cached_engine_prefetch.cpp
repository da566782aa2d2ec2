#include <algorithm>
#include <ranges>

#include "core/base/assert.h"
#include "core/pages/leading_pages.h"
#include "sim/serving/cached_engine_parts.h"

namespace larder::sim {
namespace {

// HiCache lets prefetches reserve this part of what the host has more than the GPUs; and of nothing
// where it has not.
constexpr std::uint64_t reserved_part_numerator = 4;
constexpr std::uint64_t reserved_part_denominator = 5;

}  // namespace

PartId CachedEngine::next_dram() {
  next_dram_ = (next_dram_ + 1) % drams_.size();
  return drams_[next_dram_];
}

void CachedEngine::fill_pages(const ServedRequest& request, std::size_t first, std::size_t end) {
  pages_.clear();
  for (std::size_t i = first; i < end; ++i) {
    pages_.push_back({.id = request.blocks[i],
                      .parent = request.blocks[i == 0 ? 0 : i - 1],
                      .depth = static_cast<std::uint32_t>(i)});
  }
}

void CachedEngine::begin_prefetch(Job& job) {
  const ServedRequest& request = *job.request;
  const std::size_t blocks = request.blocks.size();
  const std::size_t here = tree_.find(request.blocks, job.anchor).blocks;
  job.request->missing.assign(blocks, MissReason::not_asked);
  job.prefetch = Job::Prefetch::none;
  const std::uint64_t tokens = request.record.input_tokens - tokens_of(request, here);
  const std::uint64_t more = tree_.room().host - std::min(tree_.room().host, tree_.room().gpu);
  const std::uint64_t reserved_max = more * reserved_part_numerator / reserved_part_denominator;
  if (pool_ == nullptr || here == blocks || tokens < config_.prefetch.tokens_min ||
      fetching_ >= reserved_max) {
    job.anchor.clear();
    return;
  }
  for (const BlockTree::Node node : job.anchor) tree_.lock_host(node);
  job.prefetch = Job::Prefetch::looking;
  job.asked = kernel_.now();
  fill_pages(request, here, blocks);
  pool_->look_up(next_dram(), pages_, job.lookup());
  watch(job);
}

// Wakes the engine when the prefetch is not to be waited for any longer.
void CachedEngine::watch(Job& job) {
  std::optional<std::uint64_t> tokens;
  if (job.prefetch == Job::Prefetch::reading) {
    tokens = std::uint64_t{config_.page_tokens} * job.leading;
  }
  if (const auto after = prefetch_given_up_after(config_.prefetch, tokens)) {
    kernel_.arm(job, later(job.asked, *after));
  }
}

bool CachedEngine::is_ready(const Job& job) const {
  if (job.prefetch == Job::Prefetch::none) return true;
  std::optional<std::uint64_t> tokens;
  if (job.prefetch == Job::Prefetch::reading) {
    tokens = std::uint64_t{config_.page_tokens} * job.leading;
  }
  return !waits_for_prefetch(config_.prefetch, {.since_asked = kernel_.now() - job.asked,
                                                .tokens = tokens,
                                                .ended = job.prefetch == Job::Prefetch::ended});
}

// Why the blocks from `first` on are missing; those that are not, for `otherwise`.
void CachedEngine::mark_as_pool_says(Job& job, std::size_t first, MissReason otherwise) {
  fill_pages(*job.request, first, job.request->blocks.size());
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    job.request->missing[first + i] = pool_->why_missing(pages_[i]).value_or(otherwise);
  }
}

void CachedEngine::looked_up(Job& job, std::size_t leading, MissReason reason) {
  LARDER_ASSERT(job.prefetch == Job::Prefetch::looking);
  const std::size_t first = job.anchor.size();
  const std::size_t end = first + leading;
  LARDER_ASSERT(end <= job.request->blocks.size());
  if (end < job.request->blocks.size()) {
    mark_as_pool_says(job, end, MissReason::behind_a_miss);
    job.request->missing[end] = reason;
  }
  const std::uint64_t tokens = std::uint64_t{config_.page_tokens} * leading;
  if (leading == 0 || tokens < config_.prefetch.tokens_min || !tree_.make_host_room(leading)) {
    return prefetched(job);
  }
  tree_.take_host(leading);
  fetching_ += leading;
  job.leading = leading;
  job.has.assign(leading, 0);
  job.came = 0;
  job.prefetch = Job::Prefetch::reading;
  fill_pages(*job.request, first, end);
  pool_->read(next_dram(), pages_, job.read());
  watch(job);
}

// Nothing more will come.
void CachedEngine::prefetched(Job& job) {
  job.prefetch = Job::Prefetch::ended;
  job.request->record.prefetch_end = kernel_.now();
  kernel_.cancel(job);
  wake();
}

// What has come is put into the tree; nothing more is waited for.
void CachedEngine::end_prefetch(Job& job) {
  if (job.prefetch == Job::Prefetch::none) return;
  if (job.prefetch != Job::Prefetch::ended) job.request->record.prefetch_end = kernel_.now();
  kernel_.cancel(job);
  const std::size_t first = job.anchor.size();
  if (job.prefetch == Job::Prefetch::looking) {
    pool_->give_up(job.lookup());
    mark_as_pool_says(job, first, MissReason::timed_out);
  }
  if (job.prefetch == Job::Prefetch::reading) {
    pool_->give_up(job.read());
    job.late = MissReason::timed_out;
  }
  job.prefetch = Job::Prefetch::none;
  const std::size_t whole =
      leading_pages({.count = job.leading}, [&](std::size_t page) { return job.has[page] != 0; });
  for (std::size_t page = whole; page < job.leading; ++page) {
    job.request->missing[first + page] = job.has[page] != 0 ? MissReason::behind_a_miss : job.late;
  }
  fetching_ -= job.leading;
  tree_.give_host(job.leading - whole);
  keep_fetched(job, whole);
  for (const BlockTree::Node node : job.anchor | std::views::reverse) tree_.unlock_host(node);
  job.anchor.clear();
  job.leading = 0;
}

void CachedEngine::keep_fetched(Job& job, std::size_t blocks) {
  const std::size_t first = job.anchor.size();
  BlockTree::Node parent = job.anchor.empty() ? BlockTree::none : job.anchor.back();
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto [node, fresh] = tree_.add_on_host(parent, job.request->blocks[first + i]);
    if (node == BlockTree::none) {
      tree_.give_host(blocks - i - 1);
      return;
    }
    if (fresh) {
      tree_.notes(node).in_pool = true;
      ++job.fetched;
    }
    tree_.lock_host(node);
    job.anchor.push_back(node);
    parent = node;
  }
}

}  // namespace larder::sim
