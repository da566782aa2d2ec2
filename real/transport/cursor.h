#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/bytes.h"

namespace larder::real {

// Where a transfer stands in a list of pieces of memory. `Byte` is std::byte or const std::byte.
template <class Byte>
class Cursor {
 public:
  using Piece = std::span<Byte>;

  void add(Piece piece) {
    if (piece.empty()) return;
    pieces_.push_back(piece);
    left_ += piece.size();
  }
  void clear() { *this = {}; }

  std::uint64_t left() const { return left_; }
  bool done() const { return left_ == 0; }

  // The next pieces, of at most `bytes` in all and `count` in number.
  struct Window {
    std::size_t bytes;
    std::size_t count;
  };
  template <class Buffers>
  void next(Window most, Buffers& out) const {
    out.clear();
    std::size_t skip = offset_;
    for (std::size_t i = index_; i < pieces_.size() && most.count > 0 && most.bytes > 0; ++i) {
      const Piece piece =
          pieces_[i].subspan(skip).first(std::min(pieces_[i].size() - skip, most.bytes));
      out.emplace_back(piece.data(), piece.size());
      most.bytes -= piece.size();
      --most.count;
      skip = 0;
    }
  }

  // Moves on by `bytes`, which are at most left(); calls seen(piece) for what is passed.
  template <class Seen>
  void advance(std::size_t bytes, Seen seen) {
    left_ -= bytes;
    while (bytes > 0) {
      const Piece rest = pieces_[index_].subspan(offset_);
      const Piece passed = rest.first(std::min(rest.size(), bytes));
      seen(passed);
      bytes -= passed.size();
      offset_ += passed.size();
      if (offset_ == pieces_[index_].size()) {
        ++index_;
        offset_ = 0;
      }
    }
  }
  void advance(std::size_t bytes) {
    advance(bytes, [](Piece) {});
  }

 private:
  std::vector<Piece> pieces_;
  std::size_t index_ = 0;   // of the piece
  std::size_t offset_ = 0;  // in it
  std::uint64_t left_ = 0;
};

template <class Slices>
std::uint64_t total_bytes(const Slices& slices) {
  std::uint64_t total = 0;
  for (const auto& slice : slices) total += slice.size();
  return total;
}

}  // namespace larder::real
