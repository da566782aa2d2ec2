#pragma once

#include "core/eviction/departed.h"
#include "core/eviction/policy.h"

namespace larder {

// Most units are used once, and should leave before they have cost the others their place: new ones
// wait in a small queue, a tenth of all; what was used twice there goes on to the main queue, and
// so does what comes back while its name is still remembered; in the main queue each use, up to
// three, earns one more turn (Yang et al., FIFO queues are all you need for cache eviction,
// SOSP'23). What a round passed over begins again in the small queue. O(1).
//
// It keeps 6 bytes for each unit besides.
class S3FifoPolicy final : public EvictionPolicy {
 public:
  using EvictionPolicy::EvictionPolicy;

 private:
  struct Queue {
    UnitList units;  // by stamp
    std::size_t size = 0;
  };
  Queue& queue_of(const Evictable& unit) {
    return unit.line == Evictable::Line::first ? small_ : main_;
  }
  // From which the next victim is to come.
  Queue& next_queue();

  void admit(Evictable& unit, const Evictable* parent) override;
  void link(Evictable& unit) override;
  void unlink(Evictable& unit) override;
  Evictable* front() const override { return small_.units.front(); }
  Evictable* next(std::uint32_t& looks) override;
  void left(Evictable& unit, bool was_front) override;
  void append_line(std::vector<Evictable*>& units) const override;
  void archive_rest(Archive& archive) override { archive(departed_); }
  void add_rest(Identity& identity) const override;
  void check_line() const override;

  Queue small_;
  Queue main_;
  Departed departed_;  // from the small queue
};

}  // namespace larder
