#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/base/archive.h"
#include "core/base/assert.h"

namespace larder {

// Records at stable addresses, each with a slot number from 0 on; slots are reused, last freed
// first. A walk over the slots is a deterministic order of all records. O(1); memory grows by
// chunks and is kept.
template <class T>
class Slab {
 public:
  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab() {
    for (std::uint32_t slot = 0; slot < slots(); ++slot) {
      if (T* record = at(slot)) std::destroy_at(record);
    }
  }

  struct Entry {
    T& record;
    std::uint32_t slot;
  };
  template <class... Args>
  Entry emplace(Args&&... args) {
    std::uint32_t slot;
    if (!vacant_.empty()) {
      slot = vacant_.back();
      vacant_.pop_back();
    } else {
      slot = slots_++;
      if (slot % per_chunk == 0) chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
      LARDER_ASSERT(slots_ != 0, "out of slots");
    }
    Chunk& chunk = *chunks_[slot / per_chunk];
    const std::uint32_t place = slot % per_chunk;
    chunk.taken |= std::uint64_t{1} << place;
    ++size_;
    T* record = std::construct_at(chunk.record(place), std::forward<Args>(args)...);
    return {*record, slot};
  }

  void erase(std::uint32_t slot) {
    T* record = at(slot);
    LARDER_ASSERT(record != nullptr, "the slot is vacant");
    std::destroy_at(record);
    chunks_[slot / per_chunk]->taken &= ~(std::uint64_t{1} << (slot % per_chunk));
    vacant_.push_back(slot);
    --size_;
  }

  // nullptr for a vacant slot or one that never was.
  T* at(std::uint32_t slot) const {
    if (slot >= slots_) return nullptr;
    Chunk& chunk = *chunks_[slot / per_chunk];
    const std::uint32_t place = slot % per_chunk;
    return (chunk.taken >> place & 1) != 0 ? chunk.record(place) : nullptr;
  }

  // Records, on loading default ones, are told to each(record, slot).
  template <class Each>
  void archive(Archive& archive, Each each) {
    std::uint32_t slots = slots_;
    archive(slots, vacant_);
    if (archive.loading() && !load(archive, slots)) return;
    for (std::uint32_t slot = 0; slot < slots_ && archive.good(); ++slot) {
      if (T* record = at(slot)) each(*record, slot);
    }
  }

  std::size_t size() const { return size_; }
  std::uint32_t slots() const { return slots_; }  // the bound of a walk

 private:
  static constexpr std::uint32_t per_chunk = 64;
  struct Chunk {
    std::uint64_t taken = 0;
    alignas(T) std::byte bytes[sizeof(T) * per_chunk];
    T* record(std::uint32_t place) {
      return std::launder(reinterpret_cast<T*>(bytes + sizeof(T) * place));
    }
  };
  // Of an empty slab: all slots but vacant_ have a record.
  bool load(Archive& archive, std::uint32_t slots) {
    const std::size_t taken = slots - vacant_.size();
    if (!archive.require(vacant_.size() <= slots && taken <= archive.left(), "too many slots")) {
      return false;
    }
    std::vector<bool> vacant(slots);
    for (const std::uint32_t slot : vacant_) {
      if (!archive.require(slot < slots && !vacant[slot], "a slot is vacant twice")) return false;
      vacant[slot] = true;
    }
    for (; slots_ < slots; ++slots_) {
      if (slots_ % per_chunk == 0) chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
      if (vacant[slots_]) continue;
      Chunk& chunk = *chunks_.back();
      const std::uint32_t place = slots_ % per_chunk;
      chunk.taken |= std::uint64_t{1} << place;
      std::construct_at(chunk.record(place));
      ++size_;
    }
    return true;
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::uint32_t> vacant_;
  std::uint32_t slots_ = 0;
  std::size_t size_ = 0;
};

}  // namespace larder
