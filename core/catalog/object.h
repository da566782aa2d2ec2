#pragma once

#include <boost/container/small_vector.hpp>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/id.h"
#include "core/base/time.h"
#include "core/catalog/lease.h"
#include "core/catalog/replica.h"
#include "core/eviction/evictable.h"

namespace larder {

struct Group;
struct Put;

using TenantId = std::uint16_t;

// What eviction takes as a whole and what a lease protects: a lone object or a group.
struct Unit : Evictable {
  Lease lease;
  bool is_group = false;
};

using GroupHook =
    boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;

// One version of one key: COMPLETE, or not finished yet. As a Unit it counts only while it has no
// group. Addresses are stable.
struct Object : Unit {
  std::uint32_t slot = 0;
  TenantId tenant = 0;
  bool hard_pin = false;
  bool has_checksum = false;
  bool upsert = false;  // its put replaces older versions, and is answered when they are retired
  std::uint16_t key_length = 0;
  std::unique_ptr<char[]> key_text;
  std::uint64_t key_hash = 0;
  PutId put_id;
  Bytes size;
  std::uint64_t checksum = 0;
  boost::container::small_vector<Replica, 1> replicas;
  Group* group = nullptr;
  GroupHook in_group;
  Object* newer = nullptr;  // of a COMPLETE version: the unfinished one of the same key
  Put* put = nullptr;       // of an unfinished version
  Time soft_pin_end = Time::min();
  Time expires = time_never;

  std::string_view key() const { return {key_text.get(), key_length}; }
  bool unfinished() const { return put != nullptr; }
};

// Objects that live and die together.
struct Group : Unit {
  std::uint32_t slot = 0;
  TenantId tenant = 0;
  std::string name;
  std::uint64_t name_hash = 0;
  using Members =
      boost::intrusive::list<Object,
                             boost::intrusive::member_hook<Object, GroupHook, &Object::in_group>>;
  Members members;                // in the order in which they joined
  std::uint32_t complete = 0;     // members that are COMPLETE
  std::uint32_t hard_pinned = 0;  // COMPLETE members with a hard pin
  std::uint32_t soft_pins = 0;    // COMPLETE members with a soft pin that has not ended
};

}  // namespace larder
