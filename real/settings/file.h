#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace larder::real {

// The section in which an effective configuration says where its values came from. A reader passes
// over it.
inline constexpr std::string_view origins_section = "from";

// What a file of settings says of one of them.
struct FileEntry {
  enum class Type : std::uint8_t { null, boolean, number, text };
  std::string section;
  std::string name;
  Type type;
  std::string text;  // a number as it stands in the file
};

struct SettingsFile {
  std::vector<std::string> sections;
  std::vector<FileEntry> entries;
};

// Reads a file of settings: one JSON object of sections, each an object of values. Errors:
// invalid_params naming the file, and the line and column where it is no JSON, or the key that
// stands there twice or has a list or an object as its value.
Result<SettingsFile> read_settings_file(const std::string& path);
// The same for a text; `path` is for the errors.
Result<SettingsFile> parse_settings(std::string_view json, const std::string& path);

}  // namespace larder::real
