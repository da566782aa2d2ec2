#include "sim/cli/text_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/base/printable.h"
#include "workloads/input_file.h"

namespace larder::sim {
namespace {

constexpr std::size_t path_bytes_max = 200;

std::unexpected<Error> at_path(ErrorCode code, const std::string& path, const std::string& why) {
  return failed(code, printable(path, path_bytes_max) + ": " + why);
}

std::string last_error() { return std::strerror(errno); }

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max) {
  LARDER_TRY(workloads::InputFile file, workloads::InputFile::open(path));
  return file.rest(bytes_max);
}

Status write_text_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return at_path(ErrorCode::file_write_fail, path, last_error());
  return {};
}

}  // namespace larder::sim
