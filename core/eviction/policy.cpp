#include "core/eviction/policy.h"

#include <array>
#include <string>

#include "core/base/printable.h"
#include "core/eviction/fifo.h"
#include "core/eviction/leaf_first.h"
#include "core/eviction/lru.h"

namespace larder {
namespace {

template <class Policy>
std::unique_ptr<EvictionPolicy> make() {
  return std::make_unique<Policy>();
}

struct Entry {
  std::string_view name;
  std::unique_ptr<EvictionPolicy> (*make)();
};
constexpr std::array entries{Entry{"lru", make<LruPolicy>}, Entry{"fifo", make<FifoPolicy>},
                             Entry{"leaf-first", make<LeafFirstPolicy>}};
constexpr auto names = [] {
  std::array<std::string_view, entries.size()> result;
  for (std::size_t i = 0; i < entries.size(); ++i) result[i] = entries[i].name;
  return result;
}();

}  // namespace

std::span<const std::string_view> policy_names() { return names; }

Result<std::unique_ptr<EvictionPolicy>> make_policy(std::string_view name) {
  std::string known;
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry.make();
    known.append(known.empty() ? "" : ", ").append(entry.name);
  }
  return failed(ErrorCode::invalid_params,
                "no eviction policy is named " + in_quotes(name) + "; there are " + known);
}

}  // namespace larder
