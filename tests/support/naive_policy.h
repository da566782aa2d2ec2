#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace larder {

// A second implementation of all eviction policies, by their names: ordered containers of the
// standard library, scans, and nothing of core. The contract is EvictionPolicy's, for numbers,
// which stand for their own names.
class NaivePolicy {
 public:
  using Id = std::uint32_t;

  explicit NaivePolicy(std::string name) : name_(std::move(name)) {}

  void insert(Id id, std::optional<Id> parent) {
    Unit& unit = units_[id];
    unit = {.life = ++lives_};
    if (parent && of_prefixes()) {
      Unit& above = units_.at(*parent);
      unit.parent = parent;
      unit.parent_life = above.life;
      unit.depth = above.depth + 1;
      ++above.children;
      queue(above).erase(above.key);
    }
    if (remembers()) {
      const std::optional<std::uint32_t> uses = take(id);
      unit.small = name_ == "s3-fifo" && !uses;
      if (uses && name_ != "s3-fifo") unit.uses = std::min(*uses + 1, 255u);
    }
    join(id);
  }
  void access(Id id) {
    Unit& unit = units_.at(id);
    unit.uses = std::min(unit.uses + 1, 255u);
    if (!unit.deferred && name_ != "fifo" && !has_turns()) join(id);
  }
  void erase(Id id) {
    if (hand_ == id) hand_ = behind(id);
    const Unit unit = units_.at(id);
    const std::set<Key>& line = name_ == "s3-fifo" ? small_ : line_;
    const bool first = !line.empty() && line.begin()->id == id;
    queue(unit).erase(unit.key);
    std::erase(returning_, id);
    std::erase(deferred_, id);
    units_.erase(id);
    if (unit.parent) lose_child(*unit.parent, unit.parent_life);
    if (!first) return;
    floor_ = std::max(floor_, unit.key.rank);
    if (remembers()) remember(id, unit.uses);
  }
  void begin_round() {
    returning_.insert(returning_.end(), deferred_.begin(), deferred_.end());
    deferred_.clear();
  }
  std::optional<Id> victim() {
    for (const Id id : std::exchange(returning_, {})) {
      units_.at(id).deferred = false;
      units_.at(id).small = name_ == "s3-fifo";
      join(id);
    }
    if (name_ == "clock") return clock();
    if (name_ == "sieve") return sieve();
    if (name_ == "s3-fifo") return s3_fifo();
    return line_.empty() ? std::nullopt : std::optional(line_.begin()->id);
  }
  void defer(Id id) {
    if (hand_ == id) hand_ = behind(id);
    Unit& unit = units_.at(id);
    queue(unit).erase(unit.key);
    unit.deferred = true;
    deferred_.push_back(id);
  }
  std::size_t size() const { return units_.size(); }
  bool contains(Id id) const { return units_.contains(id); }
  std::optional<Id> parent(Id id) const {
    const Unit& unit = units_.at(id);
    if (!unit.parent) return std::nullopt;
    const auto above = units_.find(*unit.parent);
    return above != units_.end() && above->second.life == unit.parent_life ? unit.parent
                                                                           : std::nullopt;
  }

 private:
  struct Key {
    std::uint64_t rank = 0;
    std::uint64_t since = 0;
    Id id = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Unit {
    std::uint64_t life = 0;  // a unit that comes again is another one to the children of the first
    std::uint32_t uses = 0;
    std::uint64_t depth = 0;
    std::uint32_t children = 0;
    std::optional<Id> parent = {};
    std::uint64_t parent_life = 0;
    bool small = false;
    bool deferred = false;
    Key key = {};
  };

  bool has_turns() const { return name_ == "clock" || name_ == "sieve" || name_ == "s3-fifo"; }
  bool ages() const { return name_ == "cost-aware" || name_ == "lfu-da"; }
  bool remembers() const { return name_ == "s3-fifo" || ages(); }
  bool of_prefixes() const { return name_ == "leaf-first" || name_ == "length-aware" || ages(); }

  std::set<Key>& queue(const Unit& unit) { return unit.small ? small_ : line_; }
  std::uint64_t rank(const Unit& unit) const {
    if (name_ == "lfu") return unit.uses;
    if (name_ == "length-aware") return (unit.uses + std::uint64_t{1}) * (1ull << 32) - unit.depth;
    if (name_ == "cost-aware") return floor_ + (unit.uses + 1) * (64 + unit.depth);
    if (name_ == "lfu-da") return floor_ + unit.uses + 1;
    return clock_;
  }
  void join(Id id) {
    Unit& unit = units_.at(id);
    queue(unit).erase(unit.key);
    ++clock_;
    unit.key = {rank(unit), clock_, id};
    if (unit.children == 0) queue(unit).insert(unit.key);
  }
  void lose_child(Id id, std::uint64_t life) {
    const auto parent = units_.find(id);
    if (parent == units_.end() || parent->second.life != life) return;
    Unit& unit = parent->second;
    if (--unit.children > 0 || unit.deferred) return;
    unit.key.since = ++clock_;
    line_.insert(unit.key);
  }

  std::optional<Id> behind(Id id) const {
    const auto next = line_.upper_bound(units_.at(id).key);
    return next == line_.end() ? std::nullopt : std::optional(next->id);
  }
  std::optional<Id> clock() {
    while (!line_.empty() && units_.at(line_.begin()->id).uses > 0) {
      const Id id = line_.begin()->id;
      units_.at(id).uses = 0;
      join(id);
    }
    return line_.empty() ? std::nullopt : std::optional(line_.begin()->id);
  }
  std::optional<Id> sieve() {
    while (!line_.empty()) {
      if (!hand_) hand_ = line_.begin()->id;
      Unit& unit = units_.at(*hand_);
      if (unit.uses == 0) return hand_;
      unit.uses = 0;
      hand_ = behind(*hand_);
    }
    return std::nullopt;
  }
  std::optional<Id> s3_fifo() {
    while (!small_.empty() || !line_.empty()) {
      const bool from_small = line_.empty() || small_.size() * 9 >= line_.size();
      if (from_small && small_.empty()) return std::nullopt;
      const Id id = (from_small ? small_ : line_).begin()->id;
      Unit& unit = units_.at(id);
      if (from_small && unit.uses < 2) return id;
      if (!from_small && unit.uses == 0) return id;
      queue(unit).erase(unit.key);
      unit.uses = from_small ? 0 : std::min(unit.uses, 3u) - 1;
      unit.small = false;
      join(id);
    }
    return std::nullopt;
  }

  // Those that left, in buckets of twelve: bucket b of n holds the names that are b modulo the
  // power of two at or above n, or, where there is no such bucket, modulo half of that.
  struct Gone {
    Id id;
    std::uint32_t uses;
  };
  static std::size_t bucket_of(Id id, std::size_t buckets) {
    const std::size_t power = std::bit_ceil(buckets);
    return id % power < buckets ? id % power : id % (power / 2);
  }
  std::optional<std::uint32_t> take(Id id) {
    std::deque<Gone>& bucket = gone_[bucket_of(id, gone_.size())];
    const auto at = std::ranges::find(bucket, id, &Gone::id);
    if (at == bucket.end()) return std::nullopt;
    const std::uint32_t uses = at->uses;
    bucket.erase(at);
    return uses;
  }
  void remember(Id id, std::uint32_t uses) {
    for (int i = 0; i < 2 && gone_.size() * 12 < units_.size(); ++i) {
      std::vector<std::deque<Gone>> more(gone_.size() + 1);
      for (const std::deque<Gone>& bucket : gone_) {
        for (const Gone& one : bucket) more[bucket_of(one.id, more.size())].push_back(one);
      }
      gone_ = std::move(more);
    }
    std::deque<Gone>& bucket = gone_[bucket_of(id, gone_.size())];
    bucket.push_back({id, uses});
    if (bucket.size() > 12) bucket.pop_front();
  }

  std::string name_;
  std::map<Id, Unit> units_;
  std::set<Key> line_;
  std::set<Key> small_;  // of s3-fifo
  std::vector<Id> deferred_;
  std::vector<Id> returning_;
  std::vector<std::deque<Gone>> gone_ = std::vector<std::deque<Gone>>(1);
  std::optional<Id> hand_;
  std::uint64_t clock_ = 0;
  std::uint64_t lives_ = 0;
  std::uint64_t floor_ = 0;
};

}  // namespace larder
