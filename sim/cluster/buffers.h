#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "sim/fabric/content.h"

namespace larder::sim {

// The buffers that an application puts from and gets into, used again and again. One that is back
// is scribbled over at once, as an application would use it for something else; whoever reads it
// late gets the scribble, and whoever writes it late is found when it is taken out next.
class BufferPool {
 public:
  // Of no put. Seen in a value, it says that a buffer was read after its call.
  static constexpr WriteId scribble{(std::uint64_t{1} << 40) - 1};

  // Without content, buffers are addresses that nobody may look at.
  explicit BufferPool(bool content) : content_(content) {}

  class Buffer {
   public:
    Buffer(BufferPool& pool, Bytes size);
    Buffer(Buffer&&) noexcept = default;
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer();

    std::span<std::byte> bytes();
    // The same in one to three pieces.
    std::vector<std::span<std::byte>> slices(Random& random);

   private:
    BufferPool* pool_;
    Bytes size_;
    std::unique_ptr<std::byte[]> memory_;
  };

  // Buffers that were written after they had come back. Each is counted once.
  std::uint64_t late_writes() const { return late_writes_; }

 private:
  static constexpr std::size_t kept_max = 64;  // of each size

  bool content_;
  std::uint64_t late_writes_ = 0;
  std::map<Bytes, std::vector<std::unique_ptr<std::byte[]>>> free_;
};

}  // namespace larder::sim
