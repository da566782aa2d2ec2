#include "core/catalog/object_store.h"

#include <algorithm>
#include <bit>

#include "core/base/assert.h"

namespace larder {

ObjectStore::~ObjectStore() {
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    if (Object* object = at(slot)) std::destroy_at(object);
  }
}

std::uint32_t ObjectStore::chunk_with_room(std::size_t key_class) {
  std::vector<std::uint32_t>& with_room = with_room_[key_class];
  if (with_room.empty()) {
    LARDER_ASSERT(slots() < 0x80000000 - per_chunk, "out of slots");
    with_room.push_back(static_cast<std::uint32_t>(chunks_.size()));
    chunks_.push_back({.stride = sizeof(Object) + key_class * key_step});
  }
  Chunk& chunk = chunks_[with_room.back()];
  if (chunk.bytes == nullptr) {
    chunk.bytes = std::make_unique_for_overwrite<std::byte[]>(chunk.stride * per_chunk);
  }
  return with_room.back();
}

Object& ObjectStore::emplace(std::string_view key) {
  LARDER_ASSERT(key.size() <= key_bytes_max);
  const std::size_t key_class = class_of(key.size());
  const std::uint32_t index = chunk_with_room(key_class);
  Chunk& chunk = chunks_[index];
  const auto place = static_cast<std::uint32_t>(std::countr_one(chunk.taken));
  chunk.taken |= std::uint64_t{1} << place;
  if (chunk.taken == ~std::uint64_t{0}) with_room_[key_class].pop_back();
  ++size_;
  std::byte* const bytes = chunk.bytes.get() + chunk.stride * place;
  Object* const object = std::construct_at(reinterpret_cast<Object*>(bytes));
  std::ranges::copy(key, reinterpret_cast<char*>(bytes + sizeof(Object)));
  object->slot = index * per_chunk + place;
  object->key_length = static_cast<std::uint16_t>(key.size());
  return *object;
}

void ObjectStore::erase(Object& object) {
  const std::uint32_t slot = object.slot;
  LARDER_ASSERT(at(slot) == &object, "it is an object of this store");
  std::vector<std::uint32_t>& with_room = with_room_[class_of(object.key_length)];
  const std::uint32_t index = slot / per_chunk;
  Chunk& chunk = chunks_[index];
  std::destroy_at(&object);
  if (chunk.taken == ~std::uint64_t{0}) with_room.push_back(index);
  chunk.taken &= ~(std::uint64_t{1} << (slot % per_chunk));
  --size_;
  // The one that is filled next keeps its memory, lest a lone object that comes and goes cost an
  // allocation each time.
  if (chunk.taken == 0 && with_room.back() != index) chunk.bytes.reset();
}

void ObjectStore::archive(Archive& archive) {
  const std::size_t chunks = archive.count(chunks_.size());
  if (archive.loading()) chunks_.resize(chunks);
  for (std::uint32_t index = 0; index < chunks; ++index) {
    archive(chunks_[index].taken, chunks_[index].stride);
    if (archive.loading() && !load(archive, index)) return;
    for (std::uint32_t slot = index * per_chunk; slot < (index + 1) * per_chunk; ++slot) {
      Object* object = at(slot);
      if (object == nullptr) continue;
      object->slot = slot;
      archive(object->key_length);
      if (!archive.require(
              sizeof(Object) + class_of(object->key_length) * key_step == chunks_[index].stride,
              "a key is too long for its place")) {
        return;
      }
      archive.bytes(std::as_writable_bytes(
          std::span(reinterpret_cast<char*>(object + 1), object->key_length)));
    }
  }
  archive(with_room_);
  for (const auto& list : with_room_) {
    for (const std::uint32_t index : list)
      archive.require(index < chunks, "there is no such chunk");
  }
}

// The objects of a chunk of which taken and stride are known.
bool ObjectStore::load(Archive& archive, std::uint32_t index) {
  Chunk& chunk = chunks_[index];
  const std::size_t key_class = (chunk.stride - sizeof(Object)) / key_step;
  const bool is_stride = chunk.stride >= sizeof(Object) && key_class < key_classes &&
                         chunk.stride == sizeof(Object) + key_class * key_step;
  const auto objects = static_cast<std::size_t>(std::popcount(chunk.taken));
  if (!archive.require(is_stride && objects <= archive.left(), "this is no chunk of objects")) {
    chunk.taken = 0;
    return false;
  }
  if (objects == 0) return true;
  chunk.bytes = std::make_unique_for_overwrite<std::byte[]>(chunk.stride * per_chunk);
  for (std::uint32_t place = 0; place < per_chunk; ++place) {
    if ((chunk.taken >> place & 1) == 0) continue;
    std::construct_at(reinterpret_cast<Object*>(chunk.bytes.get() + chunk.stride * place));
  }
  size_ += objects;
  return true;
}

}  // namespace larder
