#include "sim/cli/text_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/printable.h"

namespace larder::sim {
namespace {

constexpr std::size_t path_bytes_max = 200;

std::unexpected<Error> at_path(ErrorCode code, const std::string& path, const std::string& why) {
  return failed(code, printable(path, path_bytes_max) + ": " + why);
}

std::string last_error() { return std::strerror(errno); }

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  std::error_code error;
  // It can be opened, and is then read as an empty file.
  if (std::filesystem::is_directory(path, error)) {
    return at_path(ErrorCode::file_open_fail, path, "is a directory, and no file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return at_path(ErrorCode::file_open_fail, path, last_error());
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return at_path(ErrorCode::file_read_fail, path, last_error());
  return text;
}

Status write_text_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return at_path(ErrorCode::file_write_fail, path, last_error());
  return {};
}

}  // namespace larder::sim
