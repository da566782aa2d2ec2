#include "core/base/identity.h"

namespace larder {

Identity& Identity::put(PutId id) {
  if (!id) return add(std::uint64_t{0});
  add(id.epoch.value);
  if (!ranked_) {
    puts_.push_back(id);
    return *this;
  }
  return add(static_cast<std::uint64_t>(std::ranges::lower_bound(puts_, id) - puts_.begin()) + 1);
}

Identity& Identity::puts_below(PutId id) {
  add(id.epoch.value);
  if (!ranked_) return *this;
  return add(static_cast<std::uint64_t>(std::ranges::lower_bound(puts_, id) - puts_.begin()));
}

Identity& Identity::name(Kind kind, std::uint64_t scope, std::uint64_t number) {
  if (number == 0) return add(std::uint64_t{0});
  const Named wanted{.kind = kind, .scope = scope, .number = number};
  const auto found = std::ranges::find(named_, wanted);
  const auto place = static_cast<std::uint64_t>(found - named_.begin());
  if (found == named_.end()) named_.push_back(wanted);
  return add(place + 1);
}

void Identity::rank_puts() {
  std::ranges::sort(puts_);
  puts_.erase(std::ranges::unique(puts_).begin(), puts_.end());
  ranked_ = true;
  named_.clear();
  digest_ = Digest();
}

}  // namespace larder
