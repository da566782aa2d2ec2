#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/error.h"

namespace larder::real {

// Anonymous memory of which every page is there, so that there is no page fault in service and a
// full machine or cgroup is an error at the start, not a signal later.
class MappedMemory {
 public:
  // Told now and then, on the caller's thread, how much is there; false gives it up.
  using Progress = std::function<bool(Bytes done)>;

  // Several threads populate it. `size` is a multiple of 4 KiB. Errors: no_available_handle, with
  // what was asked for and what there is; cancelled.
  static Result<MappedMemory> make(Bytes size, const Progress& progress);
  MappedMemory() = default;
  MappedMemory(MappedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedMemory();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedMemory(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

// What this process can still get, as far as the kernel says: the least of what the machine has and
// what each cgroup above this process allows.
Bytes available_memory();

}  // namespace larder::real
