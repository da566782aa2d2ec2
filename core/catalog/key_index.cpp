#include "core/catalog/key_index.h"

#include <algorithm>
#include <utility>

#include "core/base/assert.h"

namespace larder {

std::size_t KeyIndex::Part::find(std::uint32_t tag, std::uint32_t slot) const {
  std::size_t at = first(tag);
  while (entries[at].slot != slot) {
    LARDER_ASSERT(entries[at].is(tag), "the slot is there");
    ++at;
  }
  return at;
}

void KeyIndex::Part::insert(Entry entry) {
  if (size >= std::uint64_t{4} * home_places / 5) grow();
  std::size_t at = first(entry.tag);
  while (entries[at].is(entry.tag)) ++at;
  std::size_t vacant = at;
  while (entries[vacant].slot != none) ++vacant;
  if (vacant + 1 == entries.size()) {
    // By less than the vector would do on its own.
    if (entries.size() == entries.capacity())
      entries.reserve(entries.size() + entries.size() / 8 + 1);
    entries.emplace_back();
  }
  const auto begin = entries.begin();
  std::move_backward(begin + static_cast<std::ptrdiff_t>(at),
                     begin + static_cast<std::ptrdiff_t>(vacant),
                     begin + static_cast<std::ptrdiff_t>(vacant) + 1);
  entries[at] = entry;
  ++size;
}

void KeyIndex::Part::erase(std::size_t at) {
  // Whatever stands behind its home may come one nearer.
  for (; entries[at + 1].slot != none && home(entries[at + 1].tag) <= at; ++at) {
    entries[at] = entries[at + 1];
  }
  entries[at] = {};
  --size;
}

// The home of a hash grows with the table, so the larger one is this one once more, in order.
void KeyIndex::Part::grow() {
  constexpr std::size_t overhang = 6;  // seldom is there more
  const std::vector<Entry> before = std::move(entries);
  home_places = std::max(home_places_min, home_places + home_places / 4);
  entries = std::vector<Entry>(home_places + overhang);
  std::size_t place = 0;
  for (const Entry& entry : before) {
    if (entry.slot == none) continue;
    place = std::max(place, home(entry.tag));
    if (place + 2 > entries.size()) entries.resize(place + 2);
    entries[place++] = entry;
  }
}

void KeyIndex::insert(std::uint64_t hash, std::uint32_t slot) {
  LARDER_ASSERT(slot != none);
  const std::uint32_t tag = tag_of(hash);
  part_of(tag).insert({.tag = tag, .slot = slot});
}

void KeyIndex::erase(std::uint64_t hash, std::uint32_t slot) {
  const std::uint32_t tag = tag_of(hash);
  Part& part = part_of(tag);
  part.erase(part.find(tag, slot));
}

void KeyIndex::replace(std::uint64_t hash, std::uint32_t slot, std::uint32_t by) {
  const std::uint32_t tag = tag_of(hash);
  Part& part = part_of(tag);
  part.entries[part.find(tag, slot)].slot = by;
}

std::size_t KeyIndex::size() const {
  std::size_t size = 0;
  for (const Part& part : parts_) size += part.size;
  return size;
}

bool KeyIndex::Part::is_whole() const {
  return !entries.empty() && entries.back().slot == none && home_places < entries.size() &&
         size < entries.size();
}

void KeyIndex::archive(Archive& archive) {
  bool whole = true;
  for (Part& part : parts_) {
    archive(part.home_places, part.size, part.entries);
    whole &= part.is_whole();
  }
  if (!archive.require(whole, "this is no index of keys")) *this = {};
}

void KeyIndex::Part::check_invariants(std::size_t number) const {
  LARDER_ASSERT(is_whole());
  std::size_t seen = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].slot == none) continue;
    ++seen;
    LARDER_ASSERT(entries[i].tag >> (32 - part_bits) == number, "it is in its part");
    const std::size_t at = home(entries[i].tag);
    LARDER_ASSERT(at <= i, "no entry stands before its home");
    if (at == i) continue;
    const Entry& before = entries[i - 1];
    LARDER_ASSERT(before.slot != none && before.tag <= entries[i].tag, "in order, without gaps");
  }
  LARDER_ASSERT(seen == size);
}

void KeyIndex::check_invariants() const {
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].check_invariants(i);
}

}  // namespace larder
