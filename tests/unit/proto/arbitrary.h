#pragma once

#include <boost/pfr.hpp>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/protocol/limits.h"
#include "proto/codec.h"

// Arbitrary values of the protocol's structs, and whether two are the same, member by member. By
// reflection, so that no member is ever forgotten.

namespace larder::test {

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Args>
inline constexpr bool is_a<Template<Args...>, Template> = true;

class Arbitrary {
 public:
  explicit Arbitrary(std::uint64_t seed) : random_(seed) {}

  std::uint64_t number() {
    // Small, middling and huge ones, in equal parts.
    const std::uint64_t n = random_();
    return n >> (random_() % 64);
  }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  template <class T>
  T make() {
    T value{};
    fill(value);
    return value;
  }

  template <class T>
  void fill(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = below(2) == 1;
    } else if constexpr (std::is_same_v<T, SegmentKind>) {
      value = static_cast<SegmentKind>(below(2));
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(number());
    } else if constexpr (std::is_same_v<T, Duration>) {
      value = std::min(Duration(static_cast<std::int64_t>(number() >> 1)), duration_max);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = text();
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      value = texts_.emplace_back(text());
    } else if constexpr (std::is_same_v<T, ReplicaLocations>) {
      value.resize(1 + below(below(4) == 0 ? replicas_max : 2));
      for (auto& location : value) fill(location);
    } else if constexpr (std::is_same_v<T, StageCounts>) {
      value.resize(below(stages_max + 1));
      for (auto& stage : value) fill(stage);
    } else if constexpr (is_a<T, std::optional>) {
      if (below(3) != 0) fill(value.emplace());
    } else if constexpr (is_a<T, std::vector>) {
      value.resize(below(6));
      for (auto& element : value) fill(element);
    } else if constexpr (is_a<T, std::pair>) {
      fill(value.first);
      fill(value.second);
    } else if constexpr (is_a<T, std::variant>) {
      fill_variant(value, below(std::variant_size_v<T>));
    } else if constexpr (std::is_aggregate_v<T>) {
      boost::pfr::for_each_field(value, [&](auto& field) { fill(field); });
    } else {
      static_assert(false, "no arbitrary value of this type");
    }
  }

  // Sets the alternative `index` of a variant, of arbitrary content.
  template <class Variant>
  void fill_variant(Variant& value, std::size_t index) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((I == index ? fill(value.template emplace<I>()) : void()), ...);
    }(std::make_index_sequence<std::variant_size_v<Variant>>());
  }

  Error error() {
    static constexpr ErrorCode codes[] = {
        ErrorCode::object_not_found, ErrorCode::no_available_handle, ErrorCode::busy,
        ErrorCode::internal_error,   ErrorCode::checksum_mismatch,   ErrorCode::put_in_flight};
    Error error(codes[below(std::size(codes))]);
    if (below(2) == 0) error = Error(error.code(), text());
    if (below(2) == 0) error = std::move(error).with_key(text());
    if (below(2) == 0) error = std::move(error).with_endpoint(text());
    if (below(2) == 0) error = std::move(error).with_size(make<Bytes>());
    if (below(2) == 0) error = std::move(error).with_elapsed(make<Duration>());
    return error;
  }

 private:
  // Any bytes, NUL included; up to the shortest of the limits.
  std::string text() {
    static constexpr std::size_t longest[] = {0, 1, 20, 64, 256};
    std::string out(below(longest[below(std::size(longest))] + 1), '\0');
    for (char& c : out) c = static_cast<char>(below(256));
    return out;
  }

  std::mt19937_64 random_;
  std::deque<std::string> texts_;  // what string_views look at
};

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Error>) {
    return a.code() == b.code() && same(a.facts(), b.facts());
  } else if constexpr (is_a<T, std::expected>) {
    if (a.has_value() != b.has_value()) return false;
    if (!a) return same(a.error(), b.error());
    if constexpr (!std::is_void_v<typename T::value_type>) return same(*a, *b);
    return true;
  } else if constexpr (is_a<T, std::vector>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return same(x, y); });
  } else if constexpr (is_a<T, std::variant>) {
    if (a.index() != b.index()) return false;
    return std::visit(
        [&]<class Value>(const Value& value) { return same(value, std::get<Value>(b)); }, a);
  } else if constexpr (std::equality_comparable<T>) {
    return a == b;
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (same(boost::pfr::get<I>(a), boost::pfr::get<I>(b)) && ...);
    }(std::make_index_sequence<boost::pfr::tuple_size_v<T>>());
  }
}

inline FrameBytes bytes_of(const std::string& frame) { return std::as_bytes(std::span(frame)); }

template <class Message>
std::string encoded(const Message& message) {
  std::string frame;
  encode(message, frame);
  return frame;
}

}  // namespace larder::test
