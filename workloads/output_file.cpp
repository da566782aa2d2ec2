#include "workloads/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace larder::workloads {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t buffer_bytes = std::size_t{256} << 10;
constexpr mode_t new_file_mode = 0666;  // less the user's umask

std::unexpected<Error> system_failure(const std::string& what) {
  return failed(ErrorCode::file_write_fail, what + ": " + std::generic_category().message(errno));
}

// Of an open file that may have no other name.
std::string name_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

mode_t umask_now() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

}  // namespace

Result<OutputFile> OutputFile::create(const fs::path& path) {
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return failed(ErrorCode::file_write_fail,
                  "cannot write " + path.string() + ": it is a directory");
  }
  if (exists && !S_ISREG(status.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return system_failure("cannot write " + path.string());
    return OutputFile(path, Kind::direct, "", descriptor);
  }
  std::error_code ignored;  // the path as it is will do, and fails below if it must
  const fs::path target = exists ? fs::canonical(path, ignored) : path;
  LARDER_TRY(OutputFile file, create_beside(target.empty() ? path : target));
  const mode_t mode = exists ? status.st_mode & 07777 : new_file_mode & ~umask_now();
  if (::fchmod(file.descriptor_, mode) != 0) return file.failure("cannot write");
  return file;
}

Result<OutputFile> OutputFile::create_beside(const fs::path& path) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : ".";
  const int nameless = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0) {
    OutputFile file(path, Kind::nameless, "", nameless);
    if (::access(name_of(nameless).c_str(), F_OK) == 0) return file;  // /proc is there
  }
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return system_failure("cannot write " + path.string());
  return OutputFile(path, Kind::temporary, temporary, descriptor);
}

OutputFile::OutputFile(fs::path path, Kind kind, fs::path temporary, int descriptor)
    : path_(std::move(path)),
      kind_(kind),
      temporary_(std::move(temporary)),
      descriptor_(descriptor) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      kind_(other.kind_),
      temporary_(std::exchange(other.temporary_, fs::path())),
      descriptor_(std::exchange(other.descriptor_, -1)),
      buffer_(std::move(other.buffer_)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

std::unexpected<Error> OutputFile::failure(std::string_view what) const {
  return system_failure(std::string(what) + " " + path_.string());
}

Status OutputFile::write(std::string_view text) {
  buffer_ += text;
  return buffer_.size() < buffer_bytes ? Status() : flush();
}

Status OutputFile::flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t count = ::write(descriptor_, left.data(), left.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure("cannot write");
    left.remove_prefix(static_cast<std::size_t>(count));
  }
  buffer_.clear();
  return {};
}

// A link does not replace what is there, a renaming does: so first under another name.
Status OutputFile::give_name() {
  constexpr int tries_max = 1000;
  const std::string before = path_.string() + "." + std::to_string(::getpid()) + ".";
  for (int i = 0;; ++i) {
    const std::string name = before + std::to_string(i);
    if (::linkat(AT_FDCWD, name_of(descriptor_).c_str(), AT_FDCWD, name.c_str(),
                 AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return {};
    }
    if (errno != EEXIST || i == tries_max) return failure("cannot write");
  }
}

Status OutputFile::commit() {
  LARDER_CHECK(flush());
  if (kind_ != Kind::direct && ::fsync(descriptor_) != 0) return failure("cannot write");
  if (kind_ == Kind::nameless) LARDER_CHECK(give_name());
  if (::close(std::exchange(descriptor_, -1)) != 0) return failure("cannot write");
  if (temporary_.empty()) return {};
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failure("cannot write");
  temporary_.clear();
  return {};
}

}  // namespace larder::workloads
