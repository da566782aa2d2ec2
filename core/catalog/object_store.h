#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/archive.h"
#include "core/catalog/object.h"
#include "core/protocol/limits.h"

namespace larder {

// Objects at stable addresses, each with its key behind it and a slot number. Keys of nearly the
// same length share chunks of 64 objects, so an object costs its own bytes and its key rounded up
// to 16; the memory of a chunk goes back when its last object has gone. A walk over the slots is a
// deterministic order of all objects. O(1). Keys are at most key_bytes_max long.
class ObjectStore {
 public:
  ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;
  ~ObjectStore();

  Object& emplace(std::string_view key);
  void erase(Object& object);

  // The slots with their keys. On loading the objects are as emplace() makes them.
  void archive(Archive& archive);

  // nullptr for a vacant slot or one that never was.
  Object* at(std::uint32_t slot) const {
    if (slot >= slots()) return nullptr;
    const bool taken = (chunks_[slot / per_chunk].taken >> (slot % per_chunk) & 1) != 0;
    return taken ? &(*this)[slot] : nullptr;
  }
  // Precondition: the slot is not vacant.
  Object& operator[](std::uint32_t slot) const {
    const Chunk& chunk = chunks_[slot / per_chunk];
    return *reinterpret_cast<Object*>(chunk.bytes.get() + chunk.stride * (slot % per_chunk));
  }

  // Starts to load the object and its key.
  void prefetch(std::uint32_t slot) const {
    const Chunk& chunk = chunks_[slot / per_chunk];
    const std::byte* const object = chunk.bytes.get() + chunk.stride * (slot % per_chunk);
    constexpr std::size_t lines_max = 4;  // with a key of up to some 80 bytes
    const std::size_t bytes = std::min<std::size_t>(chunk.stride, lines_max * 64);
    for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(object + at, 1);
    __builtin_prefetch(object + bytes - 1, 1);
  }

  std::uint32_t slots() const { return static_cast<std::uint32_t>(chunks_.size()) * per_chunk; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t per_chunk = 64;
  static constexpr std::size_t key_step = 16;
  static constexpr std::size_t key_classes = key_bytes_max / key_step + 1;

  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;  // null while it has no object
    std::uint64_t taken = 0;             // bit i: the i-th place has an object
    std::size_t stride = 0;
  };

  static std::size_t class_of(std::size_t key_length) {
    return (key_length + key_step - 1) / key_step;
  }
  std::uint32_t chunk_with_room(std::size_t key_class);
  bool load(Archive& archive, std::uint32_t index);

  std::vector<Chunk> chunks_;
  std::array<std::vector<std::uint32_t>, key_classes> with_room_;  // the last one is filled next
  std::size_t size_ = 0;
};

}  // namespace larder
