#include "proto/hardware/json_object.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/json_problem.h"
#include "core/base/printable.h"

namespace larder {
namespace {

using nlohmann::json;

constexpr std::size_t file_max = 16 << 20;
constexpr int depth_max = 64;  // what looks into a value calls itself for each list and object
constexpr std::uint64_t number_max = std::uint64_t{1} << 62;

std::string listed(const JsonObject::Names& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace

std::unexpected<Error> wrong_json(const std::string& place, const std::string& what) {
  return failed(ErrorCode::bad_file, (place.empty() ? "the file" : place) + ": " + what);
}

// Of keys that stand twice the library would take the last.
Result<json> parse_json(std::string_view text) {
  if (text.size() > file_max) {
    return wrong_json("",
                      std::to_string(text.size()) + " bytes: at most " + std::to_string(file_max));
  }
  std::vector<std::set<std::string>> keys;
  std::string doubled;
  bool deep = false;
  const auto look = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > depth_max) {
      deep = true;
      return false;
    }
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && doubled.empty() &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      doubled = parsed.get<std::string>();
    }
    return true;
  };
  try {
    json value = json::parse(text, look);
    if (deep) {
      return wrong_json("", "lists and objects inside each other more than " +
                                std::to_string(depth_max) + " deep");
    }
    if (!doubled.empty()) return wrong_json("", in_quotes(doubled) + " stands twice in one object");
    return value;
  } catch (const json::exception& error) {
    return wrong_json("", "no JSON: " + json_problem(error));
  }
}

Result<JsonObject> JsonObject::make(const json& value, std::string place, const Keys& keys) {
  if (!value.is_object()) {
    return wrong_json(place, std::string(value.type_name()) + " where an object belongs" +
                                 (keys.needed.empty() ? "" : ", with " + listed(keys.needed)));
  }
  for (const auto& [key, unused] : value.items()) {
    if (!std::ranges::count(keys.needed, key) && !std::ranges::count(keys.allowed, key)) {
      Names all = keys.needed;
      all.insert(all.end(), keys.allowed.begin(), keys.allowed.end());
      return wrong_json(place, in_quotes(key) + " is no key here: " +
                                   (all.empty() ? "there is none" : "there are " + listed(all)));
    }
  }
  for (const std::string_view key : keys.needed) {
    if (!value.contains(key)) return wrong_json(place, "'" + std::string(key) + "' is missing");
  }
  return JsonObject(value, std::move(place));
}

Result<std::string> JsonObject::text(std::string_view key) const {
  if (!at(key).is_string()) return wrong_type(key, "a text");
  return at(key).get<std::string>();
}

Result<std::uint64_t> JsonObject::whole_number(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_number()) return wrong_type(key, "a number");
  std::uint64_t whole = 0;
  if (value.is_number_unsigned()) {
    whole = value.get<std::uint64_t>();
  } else {
    const auto real = value.get<double>();
    if (!(real >= 0 && real <= static_cast<double>(number_max))) return not_whole(key);
    whole = static_cast<std::uint64_t>(real);
    if (static_cast<double>(whole) != real) return not_whole(key);
  }
  if (whole > number_max) return not_whole(key);
  return whole;
}

Status JsonObject::number(std::string_view key, Duration& duration) const {
  auto count = static_cast<std::uint64_t>(duration.count());
  LARDER_CHECK(number(key, count));
  duration = Duration(static_cast<std::int64_t>(count));
  return {};
}

Status JsonObject::flag(std::string_view key, bool& flag) const {
  if (!has(key)) return {};
  if (!at(key).is_boolean()) return wrong_type(key, "true or false");
  flag = at(key).get<bool>();
  return {};
}

Status JsonObject::decimal(std::string_view key, std::optional<double>& number) const {
  if (!has(key)) return {};
  if (!at(key).is_number()) return wrong_type(key, "a number");
  number = at(key).get<double>();  // no JSON number is infinite: its reader refuses it
  return {};
}

std::unexpected<Error> JsonObject::wrong_type(std::string_view key,
                                              const std::string& wanted) const {
  return wrong_json(place(key), std::string(at(key).type_name()) + " where " + wanted + " belongs");
}

std::unexpected<Error> JsonObject::not_whole(std::string_view key) const {
  return wrong_json(place(key), at(key).dump() + " is no whole number from 0 on, or too large");
}

}  // namespace larder
