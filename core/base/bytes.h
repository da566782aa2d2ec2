#pragma once

#include <compare>
#include <cstdint>

namespace larder {

// A size or an offset in bytes. Always 64 bits.
struct Bytes {
  std::uint64_t value = 0;

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    value += other.value;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    value -= other.value;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t factor) { return {a.value * factor}; }
  friend constexpr std::uint64_t operator/(Bytes a, Bytes b) { return a.value / b.value; }
  friend constexpr Bytes operator/(Bytes a, std::uint64_t divisor) { return {a.value / divisor}; }

  // The next multiple of `alignment`, a power of two. Precondition: it fits into 64 bits.
  constexpr Bytes rounded_up(std::uint64_t alignment) const {
    return {(value + alignment - 1) & ~(alignment - 1)};
  }
  constexpr Bytes rounded_down(std::uint64_t alignment) const { return {value & ~(alignment - 1)}; }
};

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return {n}; }
constexpr Bytes operator""_KiB(unsigned long long n) { return {n << 10}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return {n << 20}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return {n << 30}; }
constexpr Bytes operator""_TiB(unsigned long long n) { return {n << 40}; }
}  // namespace literals

}  // namespace larder
