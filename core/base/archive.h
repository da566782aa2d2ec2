#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace larder {

// Writes the whole of a state as bytes, or builds it from them. A class says once what it consists
// of, for both directions:
//
//   void archive(Archive& archive) { archive(size_, names_, by_id_); }
//
// What has no two representations of one value (ids, sizes, times, structs of those) stands in the
// bytes as it does in memory, little endian; texts, optionals, pointers and containers are known
// here; anything else has a member `archive` or a function archive_parts(Archive&, T&) beside it.
// Hash tables are written in the order of their keys, so equal states give equal bytes.
//
// Loading never reads outside of the bytes nor allocates more than they can fill. Once something
// does not fit, status() is bad_file, and all that is loaded from then on is zero or empty: whoever
// loads looks at it before relying on a number (an index, a slot), and at the end. Confined to one
// thread; some ns for each value.
class Archive {
 public:
  // Gets the bytes in pieces, the last one by finish().
  using Sink = std::function<void(std::span<const std::byte>)>;
  explicit Archive(Sink sink) : sink_(std::move(sink)) {}
  // Views `bytes`.
  explicit Archive(std::span<const std::byte> bytes) : source_(bytes), loading_(true) {}
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  bool loading() const { return loading_; }
  const Status& status() const { return status_; }
  bool good() const { return status_.has_value(); }
  void fail(std::string_view why);
  // Of a number that was loaded: fails, and is false, unless it holds.
  bool require(bool holds, std::string_view why);
  // Saving: hands out what is left. Loading: nothing may be left.
  void finish();

  template <class... Parts>
  void operator()(Parts&... parts) {
    (one(parts), ...);
  }

  // Loading: bytes to come.
  std::size_t left() const { return source_.size() - at_; }

  // How many records follow, each of at least one byte.
  std::size_t count(std::size_t size) {
    std::uint64_t number = size;
    one(number);
    if (!loading_) return size;
    if (!require(number <= left(), "a list is longer than the file")) return 0;
    return number;
  }
  // As it stands in memory.
  template <class T>
  void raw(T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                  !std::is_same_v<T, bool>);
    if (loading_) {
      std::array<std::byte, sizeof(T)> bytes;
      take(bytes);
      value = std::bit_cast<T>(bytes);
    } else {
      put(std::as_bytes(std::span(&value, 1)));
    }
  }
  // Any other byte than 0 and 1 is none.
  void flag(bool& value) {
    std::uint8_t byte = value ? 1 : 0;
    raw(byte);
    if (loading_) value = require(byte <= 1, "a byte is neither yes nor no") && byte == 1;
  }
  // Of a length that both sides know.
  void bytes(std::span<std::byte> place) { loading_ ? take(place) : put(place); }
  template <class List, class Each>
  void list(List& list, Each each) {
    const std::size_t size = count(list.size());
    if (loading_) list.resize(size);
    for (auto& item : list) each(item);
  }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;

  void put(std::span<const std::byte> bytes) {
    const auto* const text = reinterpret_cast<const char*>(bytes.data());
    buffer_.append(text, bytes.size());
    if (buffer_.size() >= piece_bytes) hand_out();
  }
  void take(std::span<std::byte> bytes) {
    if (!good() || left() < bytes.size()) {
      fail("the file ends within a value");
      std::ranges::fill(bytes, std::byte{0});
      return;
    }
    std::memcpy(bytes.data(), source_.data() + at_, bytes.size());
    at_ += bytes.size();
  }
  void hand_out();

  template <class T>
  void one(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      flag(value);
    } else if constexpr (requires { value.archive(*this); }) {
      value.archive(*this);
    } else if constexpr (requires { archive_parts(*this, value); }) {
      archive_parts(*this, value);
    } else if constexpr (std::is_floating_point_v<T> ||
                         std::has_unique_object_representations_v<T>) {
      raw(value);
    } else if constexpr (requires { typename T::duration; }) {
      raw(value);
    } else if constexpr (requires { typename T::mapped_type; }) {
      map(value);
    } else if constexpr (requires { typename T::key_type; }) {
      set(value);
    } else if constexpr (requires { typename T::element_type; }) {
      pointer(value);
    } else if constexpr (requires { value.has_value(); }) {
      maybe(value);
    } else if constexpr (requires { value.first; }) {
      one(value.first);
      one(value.second);
    } else if constexpr (std::is_same_v<T, std::string>) {
      text(value);
    } else if constexpr (requires { std::tuple_size<T>::value; }) {
      for (auto& item : value) one(item);
    } else {
      list(value, [this](auto& item) { this->one(item); });
    }
  }
  void text(std::string& value);
  template <class Map>
  void map(Map& values) {
    using Key = std::remove_const_t<typename Map::key_type>;
    const std::size_t size = count(values.size());
    if (loading_) {
      for (std::size_t i = 0; i < size && good(); ++i) {
        Key key{};
        one(key);
        one(values[std::move(key)]);
      }
      return;
    }
    std::vector<std::pair<const Key*, typename Map::mapped_type*>> sorted;
    sorted.reserve(size);
    for (auto& [key, value] : values) sorted.emplace_back(&key, &value);
    std::ranges::sort(sorted, {}, [](const auto& entry) -> const Key& { return *entry.first; });
    for (const auto& [key, value] : sorted) {
      Key copy = *key;
      one(copy);
      one(*value);
    }
  }
  template <class Set>
  void set(Set& values) {
    const std::size_t size = count(values.size());
    if (loading_) {
      for (std::size_t i = 0; i < size && good(); ++i) {
        typename Set::key_type key{};
        one(key);
        values.insert(values.end(), std::move(key));
      }
      return;
    }
    for (auto key : values) one(key);
  }
  template <class Pointer>
  void pointer(Pointer& value) {
    bool there = value != nullptr;
    flag(there);
    if (!there) return;
    if (loading_) value = std::make_unique<typename Pointer::element_type>();
    one(*value);
  }
  template <class Optional>
  void maybe(Optional& value) {
    using Value = typename Optional::value_type;
    bool there = value.has_value();
    flag(there);
    if (!there) return;
    if constexpr (std::is_default_constructible_v<Value>) {
      if (loading_) value.emplace();
      one(*value);
    } else if (loading_) {
      std::array<std::byte, sizeof(Value)> bytes;
      take(bytes);
      value = std::bit_cast<Value>(bytes);
    } else {
      raw(*value);
    }
  }

  Sink sink_;
  std::string buffer_;
  std::span<const std::byte> source_;
  std::size_t at_ = 0;
  bool loading_ = false;
  Status status_;
};

}  // namespace larder
