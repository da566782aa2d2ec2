#include "workloads/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/base/printable.h"

namespace larder::workloads {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{256} << 10;

std::unexpected<Error> system_failure(ErrorCode code, const std::string& what) {
  return failed(code, what + ": " + std::generic_category().message(errno));
}

std::string path_text(const std::filesystem::path& path) {
  constexpr std::size_t shown_max = 200;
  return printable(path.string(), shown_max);
}

std::string size_text(std::size_t bytes) {
  return bytes % 1024 == 0 ? std::to_string(bytes / 1024) + " KiB"
                           : std::to_string(bytes) + " bytes";
}

}  // namespace

Result<InputFile> InputFile::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::file_not_found : ErrorCode::file_open_fail;
    return system_failure(code, "cannot open " + path_text(path));
  }
  InputFile file(path, descriptor);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) {
    return system_failure(ErrorCode::file_open_fail, "cannot look at " + path_text(path));
  }
  if (S_ISDIR(status.st_mode)) {
    return failed(ErrorCode::file_open_fail, path_text(path) + " is a directory, not a file");
  }
  return file;
}

InputFile::InputFile(std::filesystem::path path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor), buffer_(buffer_bytes) {}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      end_(other.end_),
      line_(other.line_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<bool> InputFile::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  ssize_t got = 0;
  do {
    got = ::read(descriptor_, buffer_.data() + end_, buffer_.size() - end_);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return system_failure(
        ErrorCode::file_read_fail,
        path_text(path_) + ": line " + std::to_string(line_ + 1) + ": cannot read on");
  }
  end_ += static_cast<std::size_t>(got);
  return got > 0;
}

Result<std::string_view> InputFile::peek(std::size_t count) {
  count = std::min(count, buffer_bytes);
  while (end_ - begin_ < count) {
    LARDER_TRY(const bool more, fill());
    if (!more) break;
  }
  return std::string_view(buffer_.data() + begin_, std::min(count, end_ - begin_));
}

Result<std::optional<std::string_view>> InputFile::next_line(std::size_t limit) {
  std::size_t searched = 0;  // of the unread bytes, how many hold no newline
  while (true) {
    const std::string_view unread(buffer_.data() + begin_, end_ - begin_);
    const std::size_t newline = unread.find('\n', searched);
    const std::size_t length = newline == std::string_view::npos ? unread.size() : newline;
    if (length > limit) {
      return failed(ErrorCode::bad_file, path_text(path_) + ": line " + std::to_string(line_ + 1) +
                                             ": longer than " + size_text(limit));
    }
    if (newline != std::string_view::npos) {
      ++line_;
      begin_ += newline + 1;
      return unread.substr(0, newline);
    }
    searched = unread.size();
    LARDER_TRY(const bool more, fill());
    if (more) continue;
    if (begin_ == end_) return std::nullopt;
    ++line_;
    const std::string_view last(buffer_.data() + begin_, end_ - begin_);
    begin_ = end_;
    return last;
  }
}

Result<std::string> InputFile::rest(std::size_t limit) {
  while (true) {
    if (end_ - begin_ > limit) {
      return failed(ErrorCode::bad_file, path_text(path_) + ": larger than " + size_text(limit));
    }
    LARDER_TRY(const bool more, fill());
    if (!more) break;
  }
  std::string text(buffer_.data() + begin_, end_ - begin_);
  begin_ = end_;
  return text;
}

}  // namespace larder::workloads
