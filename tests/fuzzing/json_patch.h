#pragma once

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace larder {

// A file that is right but for what a fuzzer changes in it: each line of `patches` is a JSON
// pointer, and what is to stand there instead, as JSON or as a text; without that it is taken away.
// A line that means nothing changes nothing.
inline std::string patched(nlohmann::ordered_json file, std::string_view patches) {
  using Json = nlohmann::ordered_json;
  while (!patches.empty()) {
    const std::string_view line = patches.substr(0, patches.find('\n'));
    patches.remove_prefix(std::min(patches.size(), line.size() + 1));
    const std::string_view place = line.substr(0, line.find(' '));
    try {
      const Json::json_pointer pointer{std::string(place)};
      if (pointer.empty() || !file.contains(pointer.parent_pointer())) continue;
      Json& parent = file.at(pointer.parent_pointer());
      if (place.size() == line.size()) {
        if (parent.is_array()) parent.erase(std::stoul(pointer.back()));
        if (parent.is_object()) parent.erase(pointer.back());
        continue;
      }
      const std::string value(line.substr(place.size() + 1));
      Json parsed = Json::parse(value, nullptr, false);
      if (parsed.is_discarded()) parsed = value;
      if (parent.is_object()) parent[pointer.back()] = std::move(parsed);
      if (!parent.is_array()) continue;
      if (pointer.back() == "-") {
        parent.push_back(std::move(parsed));
      } else {
        parent.at(std::stoul(pointer.back())) = std::move(parsed);
      }
    } catch (const std::exception&) {
      continue;
    }
  }
  return file.dump(-1, ' ', false, Json::error_handler_t::ignore);
}

}  // namespace larder
