#include "sim/fabric/content.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/base/assert.h"

namespace larder::sim {

namespace {

constexpr std::uint64_t word_bytes = 8;
constexpr unsigned write_bits = 40;

std::uint64_t word_of(WriteId write, std::uint64_t index) {
  return write.value | index << write_bits;
}

// Calls whole(first byte, word) for every word that lies in the range as a whole, and part(bytes,
// bytes of the word that should be there) for the up to two others, until one gives false. Whole
// words are by far the most, and a fixed size makes them single loads and stores.
template <class Byte, class Whole, class Part>
void for_each_word(std::span<Byte> bytes, WriteId write, Bytes position, Whole&& whole,
                   Part&& part) {
  for (std::uint64_t done = 0; done < bytes.size();) {
    const std::uint64_t place = position.value + done;
    const std::uint64_t word = word_of(write, place / word_bytes);
    const std::uint64_t skip = place % word_bytes;
    const std::uint64_t length = std::min(word_bytes - skip, bytes.size() - done);
    if (length == word_bytes) {
      if (!whole(bytes.data() + done, word)) return;
    } else {
      std::byte expected[word_bytes];
      std::memcpy(expected, &word, word_bytes);
      if (!part(bytes.subspan(done, length), expected + skip)) return;
    }
    done += length;
  }
}

}  // namespace

void write_content(std::span<std::byte> into, WriteId write, Bytes position) {
  for_each_word(
      into, write, position,
      [](std::byte* target, std::uint64_t word) {
        std::memcpy(target, &word, word_bytes);
        return true;
      },
      [](std::span<std::byte> target, const std::byte* expected) {
        std::memcpy(target.data(), expected, target.size());
        return true;
      });
}

bool holds_content(std::span<const std::byte> bytes, WriteId write, Bytes position) {
  bool equal = true;
  for_each_word(
      bytes, write, position,
      [&equal](const std::byte* found, std::uint64_t word) {
        std::uint64_t value = 0;
        std::memcpy(&value, found, word_bytes);
        return equal = value == word;
      },
      [&equal](std::span<const std::byte> found, const std::byte* expected) {
        return equal = std::memcmp(found.data(), expected, found.size()) == 0;
      });
  return equal;
}

std::vector<ContentRun> describe_content(std::span<const std::byte> bytes) {
  std::vector<ContentRun> runs;
  const auto append = [&runs](const ContentRun& run) {
    if (!runs.empty() && runs.back().write == run.write &&
        runs.back().position + runs.back().length == run.position) {
      runs.back().length += run.length;
    } else {
      runs.push_back(run);
    }
  };
  std::uint64_t at = 0;
  for (; at + word_bytes <= bytes.size(); at += word_bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, word_bytes);
    append({.at = {at},
            .length = {word_bytes},
            .write = {word & ((std::uint64_t{1} << write_bits) - 1)},
            .position = {(word >> write_bits) * word_bytes}});
  }
  if (at == bytes.size()) return runs;
  ContentRun tail{.at = {at}, .length = {bytes.size() - at}};
  if (!runs.empty()) {
    const Bytes position = runs.back().position + runs.back().length;
    if (holds_content(bytes.subspan(at), runs.back().write, position)) {
      tail.write = runs.back().write;
      tail.position = position;
    }
  }
  append(tail);
  return runs;
}

std::string content_text(std::span<const ContentRun> runs) {
  std::string text;
  for (const ContentRun& run : runs) {
    if (!text.empty()) text += "; ";
    text += "[" + std::to_string(run.at.value) + ", " +
            std::to_string((run.at + run.length).value) + ") of write " +
            std::to_string(run.write.value) + " from " + std::to_string(run.position.value);
  }
  return text;
}

void StampMap::write(const Stamp& stamp) {
  if (stamp.length == 0_B) return;
  erase(stamp.at, stamp.length);
  Bytes at = stamp.at;
  Run run{.length = stamp.length, .put = stamp.put, .position = stamp.position};
  auto next = runs_.lower_bound(at);
  if (next != runs_.end() && next->first == at + run.length && next->second.put == run.put &&
      next->second.position == run.position + run.length) {
    run.length += next->second.length;
    next = runs_.erase(next);
  }
  if (next != runs_.begin()) {
    const auto before = std::prev(next);
    Run& earlier = before->second;
    if (before->first + earlier.length == at && earlier.put == run.put &&
        earlier.position + earlier.length == run.position) {
      earlier.length += run.length;
      return;
    }
  }
  runs_.emplace_hint(next, at, run);
}

void StampMap::erase(Bytes at, Bytes length) {
  if (length == 0_B) return;  // or it would cut a stamp in two
  const Bytes end = at + length;
  auto run = runs_.lower_bound(at);
  if (run != runs_.begin()) {
    const auto [begin, before] = *std::prev(run);
    const Bytes its_end = begin + before.length;
    if (its_end > at) {
      std::prev(run)->second.length = at - begin;
      if (its_end > end) {
        runs_.emplace_hint(run, end,
                           Run{.length = its_end - end,
                               .put = before.put,
                               .position = before.position + (end - begin)});
        return;
      }
    }
  }
  while (run != runs_.end() && run->first < end) {
    const auto [begin, cut] = *run;
    run = runs_.erase(run);
    if (begin + cut.length <= end) continue;
    runs_.emplace_hint(run, end,
                       Run{.length = begin + cut.length - end,
                           .put = cut.put,
                           .position = cut.position + (end - begin)});
    return;
  }
}

std::vector<Stamp> StampMap::read(Bytes at, Bytes length) const {
  std::vector<Stamp> stamps;
  const Bytes end = at + length;
  auto run = runs_.upper_bound(at);
  if (run != runs_.begin()) --run;
  for (; run != runs_.end() && run->first < end; ++run) {
    const auto& [begin, found] = *run;
    const Bytes from = std::max(begin, at);
    const Bytes to = std::min(begin + found.length, end);
    if (from >= to) continue;
    stamps.push_back({.at = from,
                      .length = to - from,
                      .put = found.put,
                      .position = found.position + (from - begin)});
  }
  return stamps;
}

TrackedMemory::TrackedMemory(Bytes size)
    : size_(size), memory_(static_cast<std::byte*>(std::calloc(size.value, 1))) {
  LARDER_ASSERT(memory_ != nullptr, "no memory for a simulated segment");
}

void TrackedMemory::Free::operator()(std::byte* memory) const { std::free(memory); }

std::span<std::byte> TrackedMemory::bytes(Bytes at, Bytes length) {
  LARDER_ASSERT(at <= size_ && length <= size_ - at);
  return {memory_.get() + at.value, length.value};
}

std::span<const std::byte> TrackedMemory::bytes(Bytes at, Bytes length) const {
  LARDER_ASSERT(at <= size_ && length <= size_ - at);
  return {memory_.get() + at.value, length.value};
}

void TrackedMemory::write(const Stamp& stamp, std::span<const std::byte> from) {
  LARDER_ASSERT(from.size() == stamp.length.value);
  std::ranges::copy(from, bytes(stamp.at, stamp.length).begin());
  forget_flips(stamp.at, stamp.length);
  stamps_.write(stamp);
}

void TrackedMemory::write_plain(Bytes at, std::span<const std::byte> from) {
  std::ranges::copy(from, bytes(at, {from.size()}).begin());
  forget_flips(at, {from.size()});
  stamps_.erase(at, {from.size()});
}

void TrackedMemory::flip(Bytes at, unsigned bit) {
  bytes(at, 1_B)[0] ^= std::byte{1} << bit;
  flipped_.insert(at);
}

bool TrackedMemory::intact(Bytes at, Bytes length) const {
  const auto first = flipped_.lower_bound(at);
  return first == flipped_.end() || *first >= at + length;
}

void TrackedMemory::forget_flips(Bytes at, Bytes length) {
  if (flipped_.empty()) return;
  flipped_.erase(flipped_.lower_bound(at), flipped_.lower_bound(at + length));
}

}  // namespace larder::sim
