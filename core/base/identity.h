#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/base/id.h"
#include "core/base/time.h"

namespace larder {

// What a state is, apart from how it came about: for a search that must know again where it has
// been (docs/decisions/0005). Each machine adds all that can change a later effect of it, and
// nothing else. What differs between two histories of one state is named by what it stands for:
//
// - instants by how far they are from `now`, and all that have passed alike;
// - put ids by their rank among those that are named anywhere, since only their order counts;
// - other numbers (of leases, fills, reads, tickets) by the place at which they first appear, since
//   only equality counts.
//
// Ranks are known only when all ids have been seen, so the same walk is made twice, by the same
// order of the same hosts, with rank_puts() in between; value() is that of the second walk.
class Identity {
 public:
  enum class Kind : std::uint8_t { lease_round, fill, read, node_ticket };

  Identity& add(std::uint64_t value) {
    digest_.add(value);
    return *this;
  }
  Identity& add(std::string_view text) {
    digest_.add(text);
    return *this;
  }
  Identity& add(Bytes bytes) { return add(bytes.value); }
  Identity& add(Duration duration) { return add(static_cast<std::uint64_t>(duration.count())); }
  template <class Tag>
  Identity& add(const Id<Tag>& id) {
    return add(id.high).add(id.low);
  }
  Identity& add(const Fingerprint& name) { return add(name.high).add(name.low); }

  // A deadline: how far it is, or that it has passed.
  Identity& until(Time time, Time now) {
    if (time == time_never) return add(~std::uint64_t{0});
    return add(time > now ? time - now : Duration(0));
  }
  // An instant from which something is counted.
  Identity& since(Time time, Time now) {
    return time == Time::min() ? add(~std::uint64_t{0}) : add(now - time);
  }
  Identity& put(PutId id);
  // A bound of put ids, of which only what is below it counts.
  Identity& puts_below(PutId id);
  // Whether anything that lives names this put: what is only remembered of others cannot be asked
  // for any more. Does not name it; false in the first walk.
  bool names(PutId id) const { return ranked_ && std::ranges::binary_search(puts_, id); }
  // A number of this kind, 0 for none. `scope`: of whom it is, where several count their own.
  Identity& name(Kind kind, std::uint64_t scope, std::uint64_t number);

  // Things that stand in no order: each adds what it is to a digest of its own.
  template <class Things, class Each>
  Identity& unordered(const Things& things, Each&& each) {
    const Digest outside = digest_;
    std::uint64_t sum = 0;
    for (const auto& thing : things) {
      digest_ = Digest();
      each(thing);
      sum += digest_.value();
    }
    digest_ = outside;
    return add(sum);
  }

  // Between the two walks.
  void rank_puts();
  // Of all that was added since.
  std::uint64_t value() const { return digest_.value(); }

 private:
  struct Named {
    Kind kind;
    std::uint64_t scope;
    std::uint64_t number;
    bool operator==(const Named&) const = default;
  };

  Digest digest_;
  std::vector<PutId> puts_;  // in their order, once they are ranked
  bool ranked_ = false;
  std::vector<Named> named_;  // in the order of their first appearance
};

}  // namespace larder
