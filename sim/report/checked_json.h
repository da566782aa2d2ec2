#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"

// Whether a file that a page is made of has what its script counts on. The errors, bad_file, begin
// with the file's name and the place in it. Only for sources of this folder.

namespace larder::sim {

std::unexpected<Error> bad_file(std::string_view file, std::string_view place,
                                std::string_view what);

enum class Kind : std::uint8_t {
  flag,
  number,
  maybe_number,
  text,
  maybe_text,
  list,
  object,
  maybe_object
};
bool is_of(const nlohmann::json& value, Kind kind);

struct Wanted {
  std::string_view name;
  Kind kind;
};

// Where in which file.
struct FilePlace {
  std::string_view file;
  std::string place;  // a JSON pointer
};

// That it is an object with such members, among others.
Status check_members(const nlohmann::json& value, const FilePlace& at,
                     std::span<const Wanted> wanted);
// Likewise of each in a list.
Status check_each(const nlohmann::json& list, const FilePlace& at, std::span<const Wanted> wanted);

}  // namespace larder::sim
