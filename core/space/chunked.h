#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace larder {

// An array that grows at its end and never moves or over-allocates by more than one chunk: a vector
// that doubles stops its owner for the copy of all, and may be half empty. One load more than a
// vector to reach an element.
template <class T>
class Chunked {
 public:
  T& operator[](std::size_t i) { return chunks_[i / per_chunk][i % per_chunk]; }
  const T& operator[](std::size_t i) const { return chunks_[i / per_chunk][i % per_chunk]; }
  std::size_t size() const { return size_; }
  // A default one.
  T& grow() {
    if (size_ % per_chunk == 0) chunks_.push_back(std::make_unique<T[]>(per_chunk));
    return (*this)[size_++];
  }

 private:
  static constexpr std::size_t per_chunk = 256;
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace larder
