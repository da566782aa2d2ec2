#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/eviction/unit_names.h"

namespace larder {

// Names units from 0 on, in the order in which it is first asked about them.
class NamesAsTheyCome final : public UnitNames {
 public:
  std::uint32_t name(const Evictable& unit) const override {
    const auto [at, fresh] = names_.try_emplace(&unit, static_cast<std::uint32_t>(units_.size()));
    // Every unit in a policy came in by a mutable reference.
    if (fresh) units_.push_back(const_cast<Evictable*>(&unit));
    return at->second;
  }
  Evictable* find(std::uint32_t name) const override {
    return name < units_.size() ? units_[name] : nullptr;
  }
  std::uint64_t identity(const Evictable& unit) const override { return name(unit); }

 private:
  mutable std::map<const Evictable*, std::uint32_t> names_;
  mutable std::vector<Evictable*> units_;
};

}  // namespace larder
