#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"

namespace larder::real {

// Where `larder put` reads a value from: a file, or stdin for "-". Its size is known from the
// beginning, since the pool must give space first: a pipe that does not say it (`size`) is read to
// its end before, into memory, and beyond `memory_max` into a file without a name in TMPDIR (or
// /var/tmp).
class ValueInput {
 public:
  static constexpr Bytes memory_max = 64_MiB;

  // Errors: file_read_fail; file_write_fail (the spool); invalid_params (more than a value can
  // have, before anything is read where the size is known; a file of another size than `size`).
  // `room`: how much the pool can hold at most; asked once, and only for large values.
  static Result<ValueInput> open(const std::string& file, std::optional<Bytes> size,
                                 std::function<Bytes()> room);
  ValueInput(ValueInput&& other) noexcept;
  ValueInput& operator=(ValueInput&&) = delete;
  ~ValueInput();

  Bytes size() const { return size_; }
  // The next bytes, as many as the window has. Errors: file_read_fail, also if there are fewer (a
  // file that shrinks while it is read, a pipe that ends early).
  Status read(std::span<std::byte> window);
  // After the last byte: a pipe that goes on is an error.
  Status check_end();

 private:
  ValueInput(std::string name, int descriptor, bool owned)
      : name_(std::move(name)), descriptor_(descriptor), owned_(owned) {}
  Status find_size(std::optional<Bytes> size);
  Status read_to_end();
  Status spool_rest();
  Status check_size();
  Result<std::size_t> read_some(std::span<std::byte> into);

  std::string name_;
  int descriptor_;
  bool owned_;
  bool is_pipe_ = false;
  Bytes size_;
  std::function<Bytes()> room_;
  std::optional<Bytes> capacity_;
  Bytes given_;                     // of it, so far
  std::vector<std::byte> content_;  // of a short pipe
  bool in_memory_ = false;
};

}  // namespace larder::real
