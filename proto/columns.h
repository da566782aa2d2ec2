#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/repeated_field.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/assert.h"
#include "core/base/error.h"
#include "core/protocol/limits.h"
#include "core/protocol/object.h"
#include "proto/codec.h"
#include "proto/larder.pb.h"

// Columns of a message: how they are written and, with every check, read. Only for the codec's own
// sources, since it needs Protobuf.

namespace larder::columns {

template <class T>
using Repeated = google::protobuf::RepeatedField<T>;

template <class Size>
int to_int(Size n) {
  return static_cast<int>(n);
}

// A message with all its parts in one piece of memory, so that a small one costs no allocation (on
// the stack) or one; what does not fit is allocated in larger blocks.
template <class Message>
class InArena {
 public:
  InArena() : arena_(options_of(block_, sizeof(block_))) {
    message_ = google::protobuf::Arena::CreateMessage<Message>(&arena_);
  }
  InArena(const InArena&) = delete;
  InArena& operator=(const InArena&) = delete;

  Message& operator*() { return *message_; }
  Message* operator->() { return message_; }

 private:
  static google::protobuf::ArenaOptions options_of(char* block, std::size_t size) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block;
    options.initial_block_size = size;
    options.start_block_size = 4096;
    return options;
  }

  // With the rest below the 1,032 bytes up to which malloc is fastest.
  alignas(std::max_align_t) char block_[832];
  google::protobuf::Arena arena_;
  Message* message_;
};

// ---- writing -----------------------------------------------------------------------------------

// get(item) is the text of the item. Left out if no item has one, unless it is the column that
// counts the items.
enum class Presence : bool { optional, always };
template <class Items, class Get>
void put_texts(const Items& items, Get get, wire::Texts& column, Presence presence) {
  std::size_t total = 0;
  for (const auto& item : items) total += std::string_view(get(item)).size();
  if (total == 0 && presence == Presence::optional) return;
  std::string& joined = *column.mutable_joined();
  joined.reserve(total);
  column.mutable_lengths()->Resize(to_int(std::size(items)), 0);
  std::uint32_t* length = column.mutable_lengths()->mutable_data();
  for (const auto& item : items) {
    const std::string_view text = get(item);
    joined.append(text);
    *length++ = static_cast<std::uint32_t>(text.size());
  }
}

template <class Items, class T, class Get>
void put_numbers(const Items& items, Get get, Repeated<T>& column, T if_absent = 0) {
  if (std::ranges::all_of(items, [&](const auto& item) { return get(item) == if_absent; })) return;
  column.Resize(to_int(std::size(items)), 0);
  T* number = column.mutable_data();
  for (const auto& item : items) *number++ = get(item);
}

template <class Items, class Has>
void put_flag(const Items& items, Has has, Repeated<std::uint32_t>& column) {
  std::uint32_t index = 0;
  for (const auto& item : items) {
    if (has(item)) column.Add(index);
    ++index;
  }
}

// Two halves for each item.
struct Halves {
  std::uint64_t high;
  std::uint64_t low;
};
template <class Tag>
Halves halves(const Id<Tag>& id) {
  return {id.high, id.low};
}
inline Halves halves(PutId id) { return {id.epoch.value, id.counter}; }

template <class Items, class Get>
void put_ids(const Items& items, Get get, Repeated<std::uint64_t>& column) {
  column.Resize(to_int(std::size(items) * 2), 0);
  std::uint64_t* half = column.mutable_data();
  for (const auto& item : items) {
    const Halves id = halves(get(item));
    *half++ = id.high;
    *half++ = id.low;
  }
}

inline std::uint64_t wire_duration(Duration duration) {
  return static_cast<std::uint64_t>(duration.count());
}

template <class Items, class Get>
void put_checksums(const Items& items, Get get, wire::Checksums& column) {
  if (std::ranges::none_of(items, [&](const auto& item) { return get(item).has_value(); })) return;
  put_flag(items, [&](const auto& item) { return !get(item).has_value(); }, *column.mutable_none());
  column.mutable_values()->Resize(to_int(std::size(items)), 0);
  std::uint64_t* value = column.mutable_values()->mutable_data();
  for (const auto& item : items) *value++ = get(item).value_or(0);
}

template <class Items, class Get>
void put_extents(const Items& items, Get get, wire::Extents& column) {
  put_ids(items, [&](const auto& item) { return get(item).put_id; }, *column.mutable_put_ids());
  put_ids(
      items, [&](const auto& item) { return get(item).location.segment; },
      *column.mutable_segments());
  put_numbers(
      items, [&](const auto& item) { return get(item).location.offset.value; },
      *column.mutable_offsets());
}

template <class Tag>
void put_id(const Id<Tag>& id, wire::Id& out) {
  out.set_high(id.high);
  out.set_low(id.low);
}

inline void put_cursor(const ListCursor& cursor, wire::ListCursor& out) {
  out.set_epoch(cursor.epoch.value);
  out.set_next(cursor.next);
  out.set_end(cursor.end);
}
inline ListCursor take_cursor(const wire::ListCursor& in) {
  return {.epoch = {in.epoch()}, .next = in.next(), .end = in.end()};
}

inline constexpr auto itself = [](const auto& item) -> const auto& { return item; };

// ---- reading -----------------------------------------------------------------------------------

// A reader of the columns of one message, which holds `count` items.
class Reader {
 public:
  Reader(std::string_view message, std::size_t count) : message_(message), count_(count) {}

  std::size_t count() const { return count_; }

  // set(index, text). `longest` bounds each text.
  struct TextRule {
    std::string_view column;
    std::size_t longest;
  };
  template <class Set>
  Status texts(TextRule rule, const wire::Texts& column, Set set) const {
    std::string_view rest = column.joined();
    if (column.lengths().empty() && rest.empty()) return {};
    LARDER_CHECK(entries(rule.column, column.lengths_size(), count_));
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint32_t length = column.lengths(to_int(i));
      if (length > rule.longest) return text_too_long(rule, i, length);
      if (length > rest.size()) return texts_disagree(rule, column);
      set(i, rest.substr(0, length));
      rest.remove_prefix(length);
    }
    if (!rest.empty()) return texts_disagree(rule, column);
    return {};
  }

  // set(index, number); not called if the column is absent.
  template <class T, class Set>
  Status numbers(std::string_view name, const Repeated<T>& column, Set set) const {
    if (column.empty()) return {};
    LARDER_CHECK(entries(name, column.size(), count_));
    for (std::size_t i = 0; i < count_; ++i) set(i, column.Get(to_int(i)));
    return {};
  }

  template <class Set>
  Status durations(std::string_view name, const Repeated<std::uint64_t>& column, Set set) const {
    if (column.empty()) return {};
    LARDER_CHECK(entries(name, column.size(), count_));
    for (std::size_t i = 0; i < count_; ++i) {
      LARDER_TRY(const Duration duration, this->duration(name, column.Get(to_int(i))));
      set(i, duration);
    }
    return {};
  }

  // set(index) for each item that has the flag.
  template <class Set>
  Status flag(std::string_view name, const Repeated<std::uint32_t>& column, Set set) const {
    std::size_t next = 0;
    for (const std::uint32_t index : column) {
      if (index < next || index >= count_) return bad_flag(name, index);
      next = std::size_t{index} + 1;
      set(std::size_t{index});
    }
    return {};
  }

  // set(index, halves). Never absent.
  template <class Set>
  Status ids(std::string_view name, const Repeated<std::uint64_t>& column, Set set) const {
    LARDER_CHECK(entries(name, column.size(), 2 * count_));
    const std::uint64_t* half = column.data();
    for (std::size_t i = 0; i < count_; ++i, half += 2) set(i, Halves{half[0], half[1]});
    return {};
  }

  // set(index, checksum) for each item that has one.
  template <class Set>
  Status checksums(const wire::Checksums& column, Set set) const {
    if (column.values().empty() && column.none().empty()) return {};
    LARDER_CHECK(entries("checksums", column.values_size(), count_));
    auto without = column.none().begin();
    LARDER_CHECK(flag("checksums.none", column.none(), [](std::size_t) {}));
    for (std::size_t i = 0; i < count_; ++i) {
      if (without != column.none().end() && *without == i) {
        ++without;
      } else {
        set(i, column.values(to_int(i)));
      }
    }
    return {};
  }

  // get(index) is an ExtentName& to fill in.
  template <class Get>
  Status extents(const wire::Extents& column, Get get) const {
    LARDER_CHECK(ids("put_ids", column.put_ids(),
                     [&](std::size_t i, Halves id) { get(i).put_id = {{id.high}, id.low}; }));
    LARDER_CHECK(ids("segments", column.segments(), [&](std::size_t i, Halves id) {
      get(i).location.segment = {id.high, id.low};
    }));
    return numbers("offsets", column.offsets(),
                   [&](std::size_t i, std::uint64_t offset) { get(i).location.offset = {offset}; });
  }

  Result<Duration> duration(std::string_view name, std::uint64_t nanoseconds) const;
  // A single text that stands for itself.
  Result<std::string_view> text(TextRule rule, std::string_view value) const;

  Status entries(std::string_view column, int found, std::size_t expected) const;
  std::unexpected<Error> malformed(std::string detail) const;

 private:
  std::unexpected<Error> text_too_long(TextRule rule, std::size_t index, std::size_t length) const;
  std::unexpected<Error> texts_disagree(TextRule rule, const wire::Texts& column) const;
  std::unexpected<Error> bad_flag(std::string_view name, std::uint32_t index) const;

  std::string_view message_;
  std::size_t count_;
};

// A reader for a message whose items are counted by a column; refuses more than one call may carry.
Result<Reader> reader(std::string_view message, std::int64_t count);
// The same, counted by a column of ids.
Result<Reader> reader_of_ids(std::string_view message, int halves);

// Parses the whole of `bytes`.
Status parse(FrameBytes bytes, std::string_view message, google::protobuf::MessageLite& out);
void append(const google::protobuf::MessageLite& message, std::string& frame);

template <class Tag>
Id<Tag> take_id(const wire::Id& id) {
  return {id.high(), id.low()};
}

// A list of ids without anything else.
template <class IdType>
Status take_ids(std::string_view message, const Repeated<std::uint64_t>& column,
                std::vector<IdType>& out) {
  LARDER_TRY(const Reader read, reader_of_ids(message, column.size()));
  out.resize(read.count());
  return read.ids("ids", column, [&](std::size_t i, Halves id) { out[i] = {id.high, id.low}; });
}

// ---- structures that several messages share ----------------------------------------------------

template <class Items, class Get>
void put_objects(const Items& items, Get get, wire::Objects& out) {
  const auto texts = [&](auto field, wire::Texts& column, Presence presence) {
    put_texts(items, [&](const auto& item) { return field(get(item)); }, column, presence);
  };
  const auto numbers = [&](auto field, Repeated<std::uint64_t>& column) {
    put_numbers(items, [&](const auto& item) { return field(get(item)); }, column);
  };
  using Object = std::decay_t<decltype(get(*std::begin(items)))>;
  if constexpr (requires(Object o) { o.tenant; }) {
    texts([](auto& o) { return o.tenant; }, *out.mutable_tenants(), Presence::optional);
  }
  texts([](auto& o) { return o.key; }, *out.mutable_keys(), Presence::always);
  texts([](auto& o) { return o.group; }, *out.mutable_groups(), Presence::optional);
  texts([](auto& o) { return o.parent; }, *out.mutable_parents(), Presence::optional);
  numbers([](auto& o) { return o.size.value; }, *out.mutable_sizes());
  numbers([](auto& o) { return wire_duration(o.soft_pin); }, *out.mutable_soft_pins());
  numbers([](auto& o) { return wire_duration(o.time_to_live); }, *out.mutable_times_to_live());
  put_flag(items, [&](const auto& item) { return get(item).hard_pin; }, *out.mutable_hard_pinned());
}

// get(index) is the ObjectRecord (or PutStart::Item) to fill in.
template <class Get>
Status take_objects(const Reader& read, const wire::Objects& in, Get get) {
  using Object = std::decay_t<decltype(get(std::size_t{}))>;
  if constexpr (requires(Object o) { o.tenant; }) {
    LARDER_CHECK(read.texts({"tenants", tenant_bytes_max}, in.tenants(),
                            [&](std::size_t i, std::string_view text) { get(i).tenant = text; }));
  }
  LARDER_CHECK(read.texts({"keys", key_bytes_max}, in.keys(),
                          [&](std::size_t i, std::string_view text) { get(i).key = text; }));
  LARDER_CHECK(read.texts({"groups", key_bytes_max}, in.groups(),
                          [&](std::size_t i, std::string_view text) { get(i).group = text; }));
  LARDER_CHECK(read.texts({"parents", key_bytes_max}, in.parents(),
                          [&](std::size_t i, std::string_view text) { get(i).parent = text; }));
  LARDER_CHECK(read.numbers("sizes", in.sizes(),
                            [&](std::size_t i, std::uint64_t n) { get(i).size = {n}; }));
  LARDER_CHECK(read.durations("soft_pins", in.soft_pins(),
                              [&](std::size_t i, Duration d) { get(i).soft_pin = d; }));
  LARDER_CHECK(read.durations("times_to_live", in.times_to_live(),
                              [&](std::size_t i, Duration d) { get(i).time_to_live = d; }));
  return read.flag("hard_pinned", in.hard_pinned(), [&](std::size_t i) { get(i).hard_pin = true; });
}

Result<SegmentKind> take_kind(std::uint32_t kind);

}  // namespace larder::columns
