#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace larder::sim {

// What pages and their objects are called in the directory, as short as can be, since a simulation
// has millions of them: the page's id in 8 bytes, which is also the name of its group, and behind
// it one byte for the object's number.
inline constexpr std::size_t page_name_bytes = 8;
inline constexpr std::size_t object_key_bytes = page_name_bytes + 1;
inline constexpr std::string_view pool_tenant = "pool";

inline void append_object_key(std::string& text, std::uint64_t page, std::uint8_t object) {
  char key[object_key_bytes];
  for (std::size_t i = 0; i < page_name_bytes; ++i) key[i] = static_cast<char>(page >> (8 * i));
  key[page_name_bytes] = static_cast<char>(object);
  text.append(key, object_key_bytes);
}

// Precondition: `name` begins with a page's name.
inline std::uint64_t page_of(std::string_view name) {
  std::uint64_t page = 0;
  for (std::size_t i = 0; i < page_name_bytes; ++i) {
    page |= std::uint64_t{static_cast<unsigned char>(name[i])} << (8 * i);
  }
  return page;
}

// Precondition: `key` is an object's.
inline std::uint8_t object_of(std::string_view key) {
  return static_cast<std::uint8_t>(key[page_name_bytes]);
}

// What stands for the page of this object where another one names it as its parent: the group, or
// the object where it is the page's only one.
inline std::string_view parent_name(std::string_view object_key, std::size_t objects_of_page) {
  return objects_of_page > 1 ? object_key.substr(0, page_name_bytes) : object_key;
}
// The group of an object; none where it is the page's only one.
inline std::string_view group_name(std::string_view object_key, std::size_t objects_of_page) {
  return objects_of_page > 1 ? object_key.substr(0, page_name_bytes) : std::string_view();
}

}  // namespace larder::sim
