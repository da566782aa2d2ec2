#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace larder {

// 128 bits that stand for one (tenant, key). XXH3-128 over both with the tenant's length first; two
// different names share one with a probability that can be neglected. Not for use against an
// adversary.
struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Fingerprint&) const = default;
};
Fingerprint fingerprint(std::string_view tenant, std::string_view key);

struct FingerprintHash {
  using is_avalanching = void;
  std::size_t operator()(const Fingerprint& value) const { return value.low; }
};

// XXH3-64 over a value that comes in pieces, in order. The checksum of a payload (design: §5.5).
class ChecksumStream {
 public:
  ChecksumStream();
  ~ChecksumStream();
  ChecksumStream(ChecksumStream&&) noexcept;
  ChecksumStream& operator=(ChecksumStream&&) noexcept;
  void update(std::span<const std::byte> piece);
  // Of what came so far; more may follow.
  std::uint64_t value() const;

 private:
  void* state_;
};
std::uint64_t checksum(std::span<const std::byte> payload);

// A running 64-bit digest of plain values, the same on every machine. For state hashes and digests
// of decisions, not for hash tables.
class Digest {
 public:
  Digest& add(std::uint64_t value) {
    state_ = (state_ ^ value) * 0x9e3779b97f4a7c15u;
    state_ ^= state_ >> 32;
    return *this;
  }
  Digest& add(std::string_view text);
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x2545f4914f6cdd1du;
};

}  // namespace larder
