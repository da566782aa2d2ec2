#include "core/base/hash.h"

#include <xxhash.h>
#if defined(__x86_64__)
// XXH3's long loops for the widest vectors of this CPU, with the same results. The library itself
// is built for the smallest.
#include <xxh_x86dispatch.h>
#endif

#include <new>
#include <utility>

namespace larder {
namespace {

XXH3_state_t* as_state(void* state) { return static_cast<XXH3_state_t*>(state); }

}  // namespace

Fingerprint fingerprint(std::string_view tenant, std::string_view key) {
  const std::uint64_t seed =
      tenant.empty() ? 0 : XXH3_64bits_withSeed(tenant.data(), tenant.size(), tenant.size() + 1);
  const XXH128_hash_t hash = XXH3_128bits_withSeed(key.data(), key.size(), seed);
  return {hash.high64, hash.low64};
}

ChecksumStream::ChecksumStream() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(as_state(state_));
}
ChecksumStream::~ChecksumStream() { XXH3_freeState(as_state(state_)); }
ChecksumStream::ChecksumStream(ChecksumStream&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)) {}
ChecksumStream& ChecksumStream::operator=(ChecksumStream&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
void ChecksumStream::update(std::span<const std::byte> piece) {
  XXH3_64bits_update(as_state(state_), piece.data(), piece.size());
}
std::uint64_t ChecksumStream::value() const { return XXH3_64bits_digest(as_state(state_)); }

std::uint64_t checksum(std::span<const std::byte> payload) {
  return XXH3_64bits(payload.data(), payload.size());
}

Digest& Digest::add(std::string_view text) {
  return add(text.size()).add(XXH3_64bits(text.data(), text.size()));
}

}  // namespace larder
