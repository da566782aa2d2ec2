#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/id.h"

// Who wrote which byte. In runs that look at the life of objects, objects are small and their bytes
// are real: the production code (checksums, footers, slices) runs on them unchanged. Two things
// make mixed content visible:
//
// - every value that an application puts has a number, and its bytes say so: each aligned 8-byte
//   word of a value names the write and its own place in the value. A torn buffer shows which
//   writes it holds, whatever way the bytes took;
// - segment memory keeps beside the bytes which put wrote them (StampMap), which tells apart two
//   puts of equal bytes.
//
// Capacity runs use neither: segments have no memory, nothing is copied, checksums are off, and
// slices are addresses that nobody looks at.

namespace larder::sim {

// Numbers the values that were ever put in one world, from 1. Zero: never written.
struct WriteId {
  std::uint64_t value = 0;
  auto operator<=>(const WriteId&) const = default;
};

// The bytes [position, position + into.size()) of the value that `write` put. A word is the write
// (the low 40 bits) and the word's index (the high 24), little endian: values of up to 128 MiB.
void write_content(std::span<std::byte> into, WriteId write, Bytes position = {});
// Whether all the bytes are those.
bool holds_content(std::span<const std::byte> bytes, WriteId write, Bytes position = {});

// `length` bytes that stand at `at` of a buffer and are those of `write` from `position` on.
struct ContentRun {
  Bytes at;
  Bytes length;
  WriteId write;
  Bytes position;
  bool operator==(const ContentRun&) const = default;
};
// What a buffer holds that begins at a word of a value, in order. One run: it is whole. Bytes
// behind the last full word belong to the run before them if they fit, else to write 0.
std::vector<ContentRun> describe_content(std::span<const std::byte> bytes);
// For people: "[0, 64) of write 7 from 0; [64, 128) of write 9 from 64".
std::string content_text(std::span<const ContentRun> runs);

// `length` bytes at `at` that `put` wrote, from `position` of its payload on.
struct Stamp {
  Bytes at;
  Bytes length;
  PutId put;
  Bytes position;
  bool operator==(const Stamp&) const = default;
};

// Which put wrote which bytes of a range, to the byte. Neighbours that continue each other are one
// stamp, so a whole payload is one. O(log n) for each stamp that is touched.
class StampMap {
 public:
  // Replaces what was known of these bytes.
  void write(const Stamp& stamp);
  // Nobody's any more.
  void erase(Bytes at, Bytes length);
  // All stamps of the range, in order and cut to it. Bytes that no put wrote have none.
  std::vector<Stamp> read(Bytes at, Bytes length) const;
  // Whether the range is exactly the payload of `put` from `position` on.
  bool holds(const Stamp& stamp) const {
    return read(stamp.at, stamp.length) == std::vector{stamp};
  }
  std::size_t size() const { return runs_.size(); }

 private:
  struct Run {
    Bytes length;
    PutId put;
    Bytes position;
  };
  std::map<Bytes, Run> runs_;  // by where they begin; they do not overlap
};

// The memory of one segment of one incarnation of a node: bytes, and who wrote them. Begins as
// zeroes; untouched pages cost nothing.
class TrackedMemory {
 public:
  explicit TrackedMemory(Bytes size);

  // Precondition, of all: the range is inside.
  std::span<std::byte> bytes(Bytes at, Bytes length);
  std::span<const std::byte> bytes(Bytes at, Bytes length) const;
  void write(const Stamp& stamp, std::span<const std::byte> from);
  // Bytes that are no payload, such as footers.
  void write_plain(Bytes at, std::span<const std::byte> from);
  // The hardware changes a bit.
  void flip(Bytes at, unsigned bit);
  // Whether the hardware changed none of these bytes since they were written.
  bool intact(Bytes at, Bytes length) const;

  Bytes size() const { return size_; }
  const StampMap& stamps() const { return stamps_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  Bytes size_;
  std::unique_ptr<std::byte[], Free> memory_;
  void forget_flips(Bytes at, Bytes length);
  StampMap stamps_;
  std::set<Bytes> flipped_;
};

}  // namespace larder::sim
