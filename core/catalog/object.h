#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/id.h"
#include "core/base/time.h"
#include "core/catalog/lease.h"
#include "core/catalog/replicas.h"
#include "core/eviction/evictable.h"

namespace larder {

using TenantId = std::uint16_t;
using PutSlot = std::uint32_t;  // the master's record of an unfinished put
inline constexpr PutSlot no_put = 0xffffffff;
inline constexpr std::uint32_t no_extras = 0xffffffff;  // else a slot of Extras

// What eviction takes as a whole and what a lease protects: a lone object or a group.
struct Unit : Evictable {
  std::uint32_t slot = 0;  // in the store of its kind
  Lease lease;
  bool is_group = false;
};

// One version of one key: COMPLETE, or not finished yet. As a Unit it counts only while it has no
// group. It is made by an ObjectStore, which keeps the text of the key behind it, so that a lookup
// finds all that it needs in one place. What few objects have is kept apart (Extras).
struct Object : Unit {
  bool hard_pin = false;
  bool has_checksum = false;
  bool upsert = false;  // its put replaces older versions, and is answered when they are retired
  TenantId tenant = 0;
  std::uint16_t key_length = 0;
  PutId put_id;
  Bytes size;
  std::uint64_t checksum = 0;
  Replicas replicas;
  PutSlot put = no_put;  // of an unfinished version
  std::uint32_t extras = no_extras;

  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_length}; }
  bool unfinished() const { return put != no_put; }
};
static_assert(sizeof(Object) == 152, "it is part of the bytes that each key costs the master");

using GroupHook =
    boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;

struct Group;

// Of an object with a group, a pin, a time to live or an unfinished version beside it.
struct Extras {
  Extras() = default;  // until it is loaded
  explicit Extras(Object& of) : object(&of) {}

  Object* object = nullptr;
  Group* group = nullptr;
  GroupHook in_group;
  Object* newer = nullptr;  // of a COMPLETE version: the unfinished one of the same key
  Time soft_pin_end = Time::min();
  Time expires = time_never;
};

// Objects that live and die together.
struct Group : Unit {
  TenantId tenant = 0;
  std::string name;
  std::uint64_t name_hash = 0;
  using Members =
      boost::intrusive::list<Extras,
                             boost::intrusive::member_hook<Extras, GroupHook, &Extras::in_group>>;
  Members members;                // in the order in which they joined
  std::uint32_t complete = 0;     // members that are COMPLETE
  std::uint32_t hard_pinned = 0;  // COMPLETE members with a hard pin
  std::uint32_t soft_pins = 0;    // COMPLETE members with a soft pin that has not ended
};

}  // namespace larder
