#include "core/node/extent_map.h"

#include <algorithm>

#include "core/base/time.h"

namespace larder {

StoredRecord::StoredRecord(Time now, const ObjectRecord& record)
    : size_(record.size),
      soft_pin_until_(record.soft_pin > Duration(0) ? later(now, record.soft_pin) : Time::min()),
      expires_(record.time_to_live > Duration(0) ? later(now, record.time_to_live) : time_never),
      hard_pin_(record.hard_pin) {
  const std::array texts{record.tenant, record.key, record.group, record.parent};
  std::size_t total = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    lengths_[i] = static_cast<std::uint16_t>(texts[i].size());
    total += texts[i].size();
  }
  texts_ = std::make_unique_for_overwrite<char[]>(total);
  char* next = texts_.get();
  for (const std::string_view text : texts) next = std::copy(text.begin(), text.end(), next);
}

ObjectRecord StoredRecord::at(Time now) const {
  const bool soft = soft_pin_until_ > now;
  const bool ends = expires_ != time_never;
  return {.tenant = text(0),
          .key = text(1),
          .group = text(2),
          .parent = text(3),
          .size = size_,
          .soft_pin = soft ? soft_pin_until_ - now : Duration(0),
          .time_to_live = ends ? std::max(expires_ - now, Duration(1)) : Duration(0),
          .hard_pin = hard_pin_};
}

std::string_view StoredRecord::text(std::size_t index) const {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < index; ++i) begin += lengths_[i];
  return {texts_.get() + begin, lengths_[index]};
}

const ExtentMap::value_type* StoredSegment::overlapping(Bytes offset, Bytes length) const {
  auto next = extents.lower_bound({.offset = offset, .put_id = {}});
  if (next != extents.end() && next->first.offset < offset + length) return &*next;
  if (next == extents.begin()) return nullptr;
  const auto& before = *std::prev(next);
  return before.first.offset + before.second.length() > offset ? &before : nullptr;
}

}  // namespace larder
