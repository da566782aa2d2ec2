#pragma once

#include "core/eviction/policy.h"
#include "core/eviction/unit_list.h"

namespace larder {

// Least recently used first. Every call is O(1).
class LruPolicy final : public EvictionPolicy {
 public:
  void insert(Evictable& unit, const Evictable* parent) override;
  void access(Evictable& unit) override;
  void erase(Evictable& unit) override;
  Evictable* victim() const override { return list_.front(); }
  void defer(Evictable& unit) override { access(unit); }
  std::uint64_t newest_stamp() const override { return stamp_; }
  std::size_t size() const override { return size_; }
  void archive(Archive& archive, const UnitNames& names) override;
  void restore(std::span<Evictable* const> units) override;
  void check_invariants() const override;

 private:
  UnitList list_;  // by stamp
  std::uint64_t stamp_ = 0;
  std::size_t size_ = 0;
};

}  // namespace larder
