#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/bytes.h"
#include "core/topology/near_nic.h"

// Which NICs a transfer takes, and in which pieces: the planning of the transfer engine, the same
// in production, where the NICs of the far side come from the peer, and in simulation. Pure
// functions of their arguments; O(stripes times NICs of one side times those of the other).

namespace larder {

// Bytes in flight on each NIC of a host, by number. Kept by whoever starts transfers.
class NicLoads {
 public:
  Bytes of(std::uint32_t nic) const { return nic < in_flight_.size() ? in_flight_[nic] : Bytes{}; }
  void add(std::uint32_t nic, Bytes bytes);
  // Precondition: so many have been added.
  void remove(std::uint32_t nic, Bytes bytes);

 private:
  std::vector<Bytes> in_flight_;
};

struct StripeRules {
  // A transfer of twice that is split, into stripes that are no shorter and of about equal length.
  Bytes stripe_min{512 << 10};
  std::uint32_t stripes_max = 16;
  Bytes alignment{4 << 10};  // of where stripes begin in the transfer; a power of two
  // A NIC is expected to take its bytes in flight and the stripe's over its rate, times this by
  // how near it is: a farther one is taken when the nearer ones are so much more loaded.
  std::array<std::uint32_t, 3> distance{1, 5, 10};  // by Nearness
  // And both sides' time together times this where they are on two rails.
  std::uint32_t other_rail = 2;
};

// One side: the NICs that may be used, as seen from the memory there (a NIC that is down is left
// out), and what they are busy with.
struct StripeSide {
  std::span<const NearNic> nics;
  NicLoads& loads;
};

// The bytes [offset, offset + length) of a transfer over one NIC of each side.
struct Stripe {
  Bytes offset;
  Bytes length;
  std::uint32_t local_nic = 0;
  std::uint32_t remote_nic = 0;
  bool operator==(const Stripe&) const = default;
};

// Appends the stripes of a transfer of `length` in their order, each on the pair of NICs that is
// expected to be done first, and adds them to the loads; of equal pairs the first in the order of
// the local list, then of the remote one. Nothing for no bytes.
// Precondition: both sides have a NIC; the rules have no zeroes, and a distance times `other_rail`
// is at most 64.
void plan_stripes(Bytes length, const StripeSide& local, const StripeSide& remote,
                  const StripeRules& rules, std::vector<Stripe>& stripes);

}  // namespace larder
