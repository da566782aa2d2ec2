#include "real/cli/value_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/base/size_text.h"
#include "core/protocol/limits.h"

namespace larder::real {
namespace {

std::string reason() { return std::generic_category().message(errno); }

Status check_object_size(const std::string& name, Bytes size) {
  if (size <= object_bytes_max_default) return {};
  return failed(ErrorCode::invalid_params,
                fmt::format("{} has more than {}, which is the most that a value can have", name,
                            size_text(object_bytes_max_default)));
}

std::unexpected<Error> no_spool(const std::string& name, const std::string& directory) {
  return failed(ErrorCode::file_write_fail,
                fmt::format("{} has more than {} and does not say how many bytes, and cannot be "
                            "kept in {}: {} (--size says it, TMPDIR names another directory)",
                            name, size_text(ValueInput::memory_max), directory, reason()));
}

}  // namespace

Result<ValueInput> ValueInput::open(const std::string& file, std::optional<Bytes> size,
                                    std::function<Bytes()> room) {
  const bool is_stdin = file == "-";
  const int descriptor = is_stdin ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return failed(ErrorCode::file_read_fail, "cannot read " + file + ": " + reason());
  }
  ValueInput input(is_stdin ? "stdin" : file, descriptor, !is_stdin);
  input.room_ = std::move(room);
  LARDER_CHECK(input.find_size(size));
  return input;
}

ValueInput::ValueInput(ValueInput&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(other.descriptor_),
      owned_(std::exchange(other.owned_, false)),
      is_pipe_(other.is_pipe_),
      size_(other.size_),
      room_(std::move(other.room_)),
      capacity_(other.capacity_),
      given_(other.given_),
      content_(std::move(other.content_)),
      in_memory_(other.in_memory_) {}

ValueInput::~ValueInput() {
  if (owned_) ::close(descriptor_);
}

// A large one is held against the pool, which is asked once.
Status ValueInput::check_size() {
  LARDER_CHECK(check_object_size(name_, size_));
  if (size_ > memory_max && !capacity_) capacity_ = room_();
  if (capacity_ && size_ > *capacity_) {
    return failed(ErrorCode::no_available_handle,
                  fmt::format("{} has {} or more; the whole pool has {}", name_, size_text(size_),
                              size_text(*capacity_)));
  }
  return {};
}

Status ValueInput::find_size(std::optional<Bytes> size) {
  struct stat about{};
  const bool is_file = ::fstat(descriptor_, &about) == 0 && S_ISREG(about.st_mode);
  if (is_file) {
    const off_t at = std::max<off_t>(::lseek(descriptor_, 0, SEEK_CUR), 0);
    size_ = {static_cast<std::uint64_t>(std::max<off_t>(about.st_size - at, 0))};
    if (size && *size != size_) {
      return failed(ErrorCode::invalid_params, fmt::format("{} has {} bytes, not the {} of --size",
                                                           name_, size_.value, size->value));
    }
    return check_size();
  }
  is_pipe_ = true;
  if (!size) return read_to_end();
  size_ = *size;
  return check_size();
}

Status ValueInput::read_to_end() {
  in_memory_ = true;
  std::size_t filled = 0;
  for (;;) {
    if (filled == content_.size()) {
      if (filled == memory_max.value) break;
      content_.resize(std::clamp<std::size_t>(2 * filled, 65'536, memory_max.value));
    }
    LARDER_TRY(const std::size_t n, read_some(std::span(content_).subspan(filled)));
    filled += n;
    if (n == 0) {
      content_.resize(filled);
      size_ = {filled};
      return {};
    }
  }
  return spool_rest();
}

// What is in memory and what still comes goes to a file without a name, which is then the input.
Status ValueInput::spool_rest() {
  const char* asked = std::getenv("TMPDIR");
  const std::string directory = asked != nullptr && *asked != '\0' ? asked : "/var/tmp";
  const int spool = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (spool < 0) return no_spool(name_, directory);
  Status failure;
  std::size_t filled = content_.size();
  while (filled > 0 && failure) {
    for (std::size_t written = 0; written < filled && failure;) {
      const ssize_t n = ::write(spool, content_.data() + written, filled - written);
      if (n < 0 && errno != EINTR) failure = no_spool(name_, directory);
      written += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    }
    size_ += {filled};
    if (failure) failure = check_size();
    if (!failure) break;
    auto more = read_some(content_);
    if (!more) failure = std::unexpected(more.error());
    filled = more.value_or(0);
  }
  if (failure && ::lseek(spool, 0, SEEK_SET) < 0) failure = no_spool(name_, directory);
  if (!failure) {
    ::close(spool);
    return failure;
  }
  if (owned_) ::close(descriptor_);
  descriptor_ = spool;
  owned_ = true;
  is_pipe_ = false;
  in_memory_ = false;
  content_ = {};
  return {};
}

Result<std::size_t> ValueInput::read_some(std::span<std::byte> into) {
  for (;;) {
    const ssize_t n = ::read(descriptor_, into.data(), into.size());
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) {
      return failed(ErrorCode::file_read_fail, "cannot read " + name_ + ": " + reason());
    }
  }
}

Status ValueInput::read(std::span<std::byte> window) {
  if (in_memory_) {
    if (!window.empty()) std::memcpy(window.data(), content_.data() + given_.value, window.size());
    given_ += {window.size()};
    return {};
  }
  while (!window.empty()) {
    LARDER_TRY(const std::size_t n, read_some(window));
    if (n == 0) {
      return failed(ErrorCode::file_read_fail,
                    fmt::format("{} ended after {} of {} bytes{}", name_, given_.value, size_.value,
                                is_pipe_ ? "" : ": it shrank while it was read"));
    }
    given_ += {n};
    window = window.subspan(n);
  }
  return {};
}

Status ValueInput::check_end() {
  std::byte more{};
  if (!is_pipe_ || in_memory_) return {};
  LARDER_TRY(const std::size_t n, read_some({&more, 1}));
  if (n == 0) return {};
  return failed(ErrorCode::file_read_fail,
                fmt::format("{} goes on after the {} bytes of --size", name_, size_.value));
}

}  // namespace larder::real
