#include <array>
#include <string>

#include "core/base/printable.h"
#include "core/eviction/clock.h"
#include "core/eviction/cost_aware.h"
#include "core/eviction/fifo.h"
#include "core/eviction/leaf_first.h"
#include "core/eviction/length_aware.h"
#include "core/eviction/lfu.h"
#include "core/eviction/lfu_da.h"
#include "core/eviction/lru.h"
#include "core/eviction/s3_fifo.h"
#include "core/eviction/sieve.h"

namespace larder {
namespace {

template <class Policy>
std::unique_ptr<EvictionPolicy> make(const UnitNames& names) {
  return std::make_unique<Policy>(names);
}

struct Entry {
  std::string_view name;
  std::unique_ptr<EvictionPolicy> (*make)(const UnitNames&);
};
constexpr std::array entries{
    Entry{"lru", make<LruPolicy>},
    Entry{"fifo", make<FifoPolicy>},
    Entry{"lfu", make<LfuPolicy>},
    Entry{"clock", make<ClockPolicy>},
    Entry{"sieve", make<SievePolicy>},
    Entry{"s3-fifo", make<S3FifoPolicy>},
    Entry{"leaf-first", make<LeafFirstPolicy>},
    Entry{"length-aware", make<LengthAwarePolicy>},
    Entry{"cost-aware", make<CostAwarePolicy>},
    Entry{"lfu-da", make<LfuDaPolicy>},
};
constexpr auto all_names = [] {
  std::array<std::string_view, entries.size()> result;
  for (std::size_t i = 0; i < entries.size(); ++i) result[i] = entries[i].name;
  return result;
}();

Result<const Entry*> entry_of(std::string_view name) {
  std::string known;
  for (const Entry& entry : entries) {
    if (entry.name == name) return &entry;
    known.append(known.empty() ? "" : ", ").append(entry.name);
  }
  return failed(ErrorCode::invalid_params,
                "no eviction policy is named " + in_quotes(name) + "; there are " + known);
}

}  // namespace

std::span<const std::string_view> policy_names() { return all_names; }

Status check_policy(std::string_view name) {
  LARDER_CHECK(entry_of(name));
  return {};
}

Result<std::unique_ptr<EvictionPolicy>> make_policy(std::string_view name, const UnitNames& names) {
  LARDER_TRY(const Entry* entry, entry_of(name));
  return entry->make(names);
}

}  // namespace larder
