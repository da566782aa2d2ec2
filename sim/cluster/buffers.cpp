#include "sim/cluster/buffers.h"

#include <utility>

namespace larder::sim {

BufferPool::Buffer::Buffer(BufferPool& pool, Bytes size) : pool_(&pool), size_(size) {
  if (!pool.content_) return;
  std::vector<std::unique_ptr<std::byte[]>>& free = pool.free_[size];
  if (!free.empty()) {
    memory_ = std::move(free.front());  // the one that had the most time to be written late
    free.erase(free.begin());
    if (!holds_content(bytes(), scribble)) ++pool.late_writes_;
  } else {
    memory_ = std::make_unique<std::byte[]>(size.value);
  }
  write_content(bytes(), scribble);
}

BufferPool::Buffer::~Buffer() {
  if (!memory_) return;
  write_content(bytes(), scribble);
  std::vector<std::unique_ptr<std::byte[]>>& free = pool_->free_[size_];
  if (free.size() < kept_max) free.push_back(std::move(memory_));
}

std::span<std::byte> BufferPool::Buffer::bytes() {
  // Not null, and not an address that could be used by mistake without being noticed.
  if (!memory_) return {reinterpret_cast<std::byte*>(std::uintptr_t{64}), size_.value};
  return {memory_.get(), size_.value};
}

std::vector<std::span<std::byte>> BufferPool::Buffer::slices(Random& random) {
  std::vector<std::span<std::byte>> slices;
  std::span<std::byte> rest = bytes();
  for (std::uint64_t cuts = random.below(3); cuts > 0 && rest.size() > 1; --cuts) {
    const std::size_t length = 1 + random.below(rest.size() - 1);
    slices.push_back(rest.first(length));
    rest = rest.subspan(length);
  }
  slices.push_back(rest);
  return slices;
}

}  // namespace larder::sim
