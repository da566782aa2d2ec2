#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "core/protocol/object.h"

namespace larder {

// What the client knows of segments. A description never changes in the life of its id, so nothing
// here grows stale. Holds at most `capacity` that nobody uses. Ordered, so that what is forgotten
// is the same in every run.
class SegmentCache {
  struct Entry {
    SegmentDescription description;
    std::uint32_t users = 0;
  };

 public:
  // Keeps one description in place while it lives. Must not outlive the cache.
  class Use {
   public:
    Use() = default;
    explicit Use(Entry& entry) : entry_(&entry) { ++entry.users; }
    Use(Use&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(entry_, other.entry_);
      return *this;
    }
    ~Use() {
      if (entry_) --entry_->users;
    }
    explicit operator bool() const { return entry_ != nullptr; }
    const SegmentDescription& operator*() const { return entry_->description; }
    const SegmentDescription* operator->() const { return &entry_->description; }

   private:
    Entry* entry_ = nullptr;
  };

  explicit SegmentCache(std::size_t capacity = 16 * 1024) : capacity_(capacity) {}

  bool knows(SegmentId id) const { return entries_.contains(id); }
  std::size_t size() const { return entries_.size(); }
  // An empty Use if it is not known.
  Use use(SegmentId id) {
    const auto found = entries_.find(id);
    return found == entries_.end() ? Use() : Use(found->second);
  }
  // Forgets all that nobody uses when it is full: in a life so long, most of those are gone anyway.
  void add(SegmentDescription description) {
    if (entries_.size() >= capacity_) {
      std::erase_if(entries_, [](const auto& entry) { return entry.second.users == 0; });
    }
    const SegmentId id = description.id;
    entries_.try_emplace(id, Entry{.description = std::move(description)});
  }

 private:
  std::size_t capacity_;
  std::map<SegmentId, Entry> entries_;
};

// Those of one object's replicas.
using SegmentUses = boost::container::small_vector<SegmentCache::Use, 2>;

}  // namespace larder
