#include "sim/report/checked_json.h"

#include <fmt/format.h>

#include <array>

namespace larder::sim {
namespace {

std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 8> names{
      "true or false",  "a number", "a number or null", "a text",
      "a text or null", "a list",   "an object",        "an object or null"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace

std::unexpected<Error> bad_file(std::string_view file, std::string_view place,
                                std::string_view what) {
  return failed(ErrorCode::bad_file, fmt::format("{}: {}: {}", file, place, what));
}

bool is_of(const nlohmann::json& value, Kind kind) {
  switch (kind) {
    case Kind::flag:
      return value.is_boolean();
    case Kind::number:
      return value.is_number();
    case Kind::maybe_number:
      return value.is_number() || value.is_null();
    case Kind::text:
      return value.is_string();
    case Kind::maybe_text:
      return value.is_string() || value.is_null();
    case Kind::list:
      return value.is_array();
    case Kind::object:
      return value.is_object();
    case Kind::maybe_object:
      return value.is_object() || value.is_null();
  }
  return false;
}

Status check_members(const nlohmann::json& value, const FilePlace& at,
                     std::span<const Wanted> wanted) {
  if (!value.is_object()) return bad_file(at.file, at.place, "wants an object");
  for (const Wanted& member : wanted) {
    const auto found = value.find(std::string(member.name));
    const std::string place = fmt::format("{}/{}", at.place, member.name);
    if (found == value.end()) return bad_file(at.file, place, "is missing");
    if (!is_of(*found, member.kind)) {
      return bad_file(at.file, place, fmt::format("wants {}", name_of(member.kind)));
    }
  }
  return {};
}

Status check_each(const nlohmann::json& list, const FilePlace& at, std::span<const Wanted> wanted) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    LARDER_CHECK(check_members(
        list[i], {.file = at.file, .place = fmt::format("{}/{}", at.place, i)}, wanted));
  }
  return {};
}

}  // namespace larder::sim
