#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/assert.h"
#include "core/catalog/replica.h"

namespace larder {

// The replicas of one object, in their order. Most have one, which stands in place; several are on
// the heap, as many as there are. As large as one replica: which case it is stands where a replica
// has its segment. Adding and erasing move what a pointer points to.
class Replicas {
 public:
  Replicas() : one_{.segment = no_replica} {}
  ~Replicas() { clear(); }
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  std::size_t size() const {
    if (one_.segment == several) return several_.count;
    return one_.segment == no_replica ? 0 : 1;
  }
  bool empty() const { return size() == 0; }
  Replica* begin() { return one_.segment == several ? several_.list : &one_; }
  Replica* end() { return begin() + size(); }
  const Replica* begin() const { return one_.segment == several ? several_.list : &one_; }
  const Replica* end() const { return begin() + size(); }
  Replica& operator[](std::size_t i) { return begin()[i]; }
  const Replica& operator[](std::size_t i) const { return begin()[i]; }

  void push_back(const Replica& replica) {
    if (empty()) {
      one_ = replica;
      return;
    }
    const std::size_t count = size();
    auto* const longer = new Replica[count + 1];
    std::copy(begin(), end(), longer);
    longer[count] = replica;
    clear();
    several_ = {.segment = several, .count = static_cast<std::uint32_t>(count + 1), .list = longer};
  }
  void erase(const Replica* replica) {
    LARDER_ASSERT(replica >= begin() && replica < end());
    Replica* const at = begin() + (replica - begin());
    std::copy(at + 1, end(), at);
    if (size() == 1) return clear();
    --several_.count;
    if (several_.count > 1) return;
    const Replica left = several_.list[0];
    clear();
    one_ = left;
  }
  void clear() {
    if (one_.segment == several) delete[] several_.list;
    one_ = {.segment = no_replica};
  }

 private:
  static constexpr SegmentIndex no_replica = no_segment - 1;
  static constexpr SegmentIndex several = no_segment - 2;
  struct Several {
    SegmentIndex segment;
    std::uint32_t count;
    Replica* list;
  };
  union {
    Replica one_;
    Several several_;
  };
};
static_assert(sizeof(Replicas) == sizeof(Replica));

}  // namespace larder
