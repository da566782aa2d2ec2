#pragma once

#include <optional>
#include <set>
#include <utility>

#include "core/base/archive.h"
#include "core/base/time.h"

namespace larder {

// What is due when, in a deterministic order: by time, then by key. O(log n).
template <class Key>
class Deadlines {
 public:
  void arm(Time time, Key key) { due_.emplace(time, key); }
  void disarm(Time time, Key key) { due_.erase({time, key}); }
  std::optional<Time> next() const {
    return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
  }
  // Takes out the earliest entry that is due at `now`.
  std::optional<Key> pop(Time now) {
    if (due_.empty() || due_.begin()->first > now) return std::nullopt;
    Key key = due_.begin()->second;
    due_.erase(due_.begin());
    return key;
  }
  std::size_t size() const { return due_.size(); }
  void archive(Archive& archive) { archive(due_); }
  // In the order in which they come up.
  const std::set<std::pair<Time, Key>>& all() const { return due_; }

 private:
  std::set<std::pair<Time, Key>> due_;
};

}  // namespace larder
