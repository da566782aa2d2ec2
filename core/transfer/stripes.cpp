#include "core/transfer/stripes.h"

#include <algorithm>

#include "core/base/assert.h"

namespace larder {
namespace {

constexpr std::uint64_t mega = 1'000'000;
constexpr Bytes load_max{std::uint64_t{1} << 36};  // so that no time below overflows

// Picoseconds, of whole MB/s: integers are the same on every machine.
std::uint64_t expected_time(const NearNic& nic, const StripeSide& side, Bytes more,
                            const StripeRules& rules) {
  const Bytes bytes = std::min(side.loads.of(nic.nic) + more, load_max);
  const std::uint64_t rate = std::max<std::uint64_t>(1, nic.per_second.value / mega);
  return bytes.value * mega / rate * rules.distance[static_cast<std::size_t>(nic.nearness)];
}

struct Pair {
  std::uint32_t local = 0;
  std::uint32_t remote = 0;
};

Pair best_pair(Bytes length, const StripeSide& local, const StripeSide& remote,
               const StripeRules& rules) {
  Pair best;
  std::uint64_t best_time = ~std::uint64_t{0};
  for (const NearNic& here : local.nics) {
    const std::uint64_t here_time = expected_time(here, local, length, rules);
    if (here_time >= best_time) continue;  // the other side only adds to it
    for (const NearNic& there : remote.nics) {
      const std::uint64_t both = here_time + expected_time(there, remote, length, rules);
      const std::uint64_t time = both * (here.rail == there.rail ? 1 : rules.other_rail);
      if (time >= best_time) continue;
      best_time = time;
      best = {.local = here.nic, .remote = there.nic};
    }
  }
  return best;
}

}  // namespace

void NicLoads::add(std::uint32_t nic, Bytes bytes) {
  if (nic >= in_flight_.size()) in_flight_.resize(nic + 1);
  in_flight_[nic] += bytes;
}

void NicLoads::remove(std::uint32_t nic, Bytes bytes) {
  LARDER_ASSERT(of(nic) >= bytes);
  if (nic < in_flight_.size()) in_flight_[nic] -= bytes;
}

void plan_stripes(Bytes length, const StripeSide& local, const StripeSide& remote,
                  const StripeRules& rules, std::vector<Stripe>& stripes) {
  LARDER_ASSERT(!local.nics.empty() && !remote.nics.empty());
  const std::uint64_t count =
      std::clamp<std::uint64_t>(length / rules.stripe_min, 1, rules.stripes_max);
  Bytes begin;
  for (std::uint64_t left = count; left > 0 && begin < length; --left) {
    const Bytes rest = length - begin;
    const Bytes even = std::max((rest / left).rounded_down(rules.alignment.value), rules.alignment);
    const Bytes size = left == 1 ? rest : std::min(even, rest);
    const auto [local_nic, remote_nic] = best_pair(size, local, remote, rules);
    stripes.push_back(
        {.offset = begin, .length = size, .local_nic = local_nic, .remote_nic = remote_nic});
    local.loads.add(local_nic, size);
    remote.loads.add(remote_nic, size);
    begin += size;
  }
}

}  // namespace larder
