#include "real/settings/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "core/base/json_problem.h"
#include "core/base/printable.h"

namespace larder::real {
namespace {

using Json = nlohmann::json;

constexpr std::size_t file_bytes_max = 1 << 20;
constexpr std::size_t piece_bytes = 1 << 14;

// Takes the file apart as it is read, since only then a key that stands there twice is seen, and a
// number as it was written.
class Reader : public Json::json_sax_t {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<SettingsFile> result() && {
    if (error_) return std::unexpected(std::move(*error_));
    return std::move(file_);
  }

  bool null() override { return value(FileEntry::Type::null, "null"); }
  bool boolean(bool on) override { return value(FileEntry::Type::boolean, on ? "true" : "false"); }
  bool number_integer(number_integer_t number) override {
    return value(FileEntry::Type::number, std::to_string(number));
  }
  bool number_unsigned(number_unsigned_t number) override {
    return value(FileEntry::Type::number, std::to_string(number));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return value(FileEntry::Type::number, text);
  }
  bool string(string_t& text) override { return value(FileEntry::Type::text, std::move(text)); }
  bool binary(binary_t&) override { return refuse("binary data is no JSON"); }

  bool start_object(std::size_t) override {
    ++depth_;
    if (skips() || depth_ == 1 || (depth_ == 2 && !section_.empty())) return true;
    return refuse(place() + " has an object as its value");
  }
  bool end_object() override {
    --depth_;
    names_.clear();
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    if (skips()) return true;
    return refuse(depth_ == 1 ? "it is a list, not an object of sections"
                              : place() + " has a list as its value");
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (skips() && depth_ > 1) return true;
    if (depth_ == 1) {
      section_ = std::move(name);
      name_.clear();
      if (std::ranges::count(file_.sections, section_) > 0) {
        return refuse("the section " + place() + " is there twice");
      }
      file_.sections.push_back(section_);
      return true;
    }
    name_ = std::move(name);
    return names_.insert(name_).second || refuse(place() + " is there twice");
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    return refuse("it is no JSON: " + json_problem(error));
  }

 private:
  bool skips() const { return section_ == origins_section && depth_ > 0; }
  std::string place() const {
    const std::string section = printable(section_, 60);
    return name_.empty() ? section : section + "." + printable(name_, 60);
  }
  bool refuse(const std::string& why) {
    error_.emplace(ErrorCode::invalid_params, path_ + ": " + why);
    return false;
  }
  bool value(FileEntry::Type type, std::string text) {
    if (skips()) return true;
    if (depth_ < 2) {
      return refuse(depth_ == 0 ? "it is not an object of sections"
                                : place() + " is a section, so its value is an object");
    }
    file_.entries.push_back(
        {.section = section_, .name = name_, .type = type, .text = std::move(text)});
    return true;
  }

  const std::string& path_;
  int depth_ = 0;
  std::string section_;
  std::string name_;
  std::set<std::string> names_;  // of this section
  SettingsFile file_;
  std::optional<Error> error_;
};

}  // namespace

Result<SettingsFile> parse_settings(std::string_view json, const std::string& path) {
  // The parser takes a NUL for the end of its text and would pass over what follows.
  if (const std::size_t nul = json.find('\0'); nul != std::string_view::npos) {
    return failed(ErrorCode::invalid_params,
                  fmt::format("{}: it is no JSON: byte {} is a NUL", path, nul + 1));
  }
  Reader reader(path);
  Json::sax_parse(json, &reader);
  return std::move(reader).result();
}

Result<SettingsFile> read_settings_file(const std::string& path) {
  std::string text;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  while (file && text.size() <= file_bytes_max) {
    const std::size_t before = text.size();
    text.resize(before + piece_bytes);
    file.read(text.data() + before, static_cast<std::streamsize>(piece_bytes));
    text.resize(before + static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad() || (text.empty() && errno != 0)) {
    return failed(ErrorCode::invalid_params, fmt::format("{}: cannot be read: {}", path,
                                                         std::generic_category().message(errno)));
  }
  if (text.size() > file_bytes_max) {
    return failed(ErrorCode::invalid_params,
                  fmt::format("{}: it has more than {} bytes", path, file_bytes_max));
  }
  return parse_settings(text, path);
}

}  // namespace larder::real
