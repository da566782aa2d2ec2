#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/assert.h"
#include "sim/kernel/event.h"
#include "sim/kernel/kernel.h"
#include "sim/serving/page_pool.h"

namespace larder::sim {

// A pool of so many pages, the least recently used of which leave. Calls take the times that it is
// given: a lookup `lookup`, and reads and puts `page` for each page, one page after the other.
class MemoryPool final : public PagePool {
 public:
  struct Times {
    Duration lookup{0};
    Duration page{0};
  };
  MemoryPool(Kernel& kernel, std::size_t pages_max, Times page_times)
      : times(page_times), kernel_(kernel), pages_max_(pages_max) {}

  Times times;
  std::vector<std::uint64_t> reads;  // the pages that were asked for, in order; for tests
  bool keeps_reads = false;
  std::uint64_t puts = 0;
  std::uint64_t given_up = 0;

  bool has(std::uint64_t id) const {
    const auto at = known_.find(id);
    return at != known_.end() && at->second.state == State::there;
  }
  void store(std::uint64_t id) { keep(id); }
  std::size_t under_way() const { return ops_.size() - free_.size(); }

  void look_up(PartId, std::span<const PoolPage> pages, Lookup& lookup) override {
    Op& op = take(pages);
    op.lookup = &lookup;
    kernel_.arm_in(op, times.lookup);
  }
  void read(PartId, std::span<const PoolPage> pages, Read& read) override {
    Op& op = take(pages);
    op.read = &read;
    if (keeps_reads) {
      for (const PoolPage& page : pages) reads.push_back(page.id);
    }
    kernel_.arm_in(op, times.page);
  }
  void put(PartId, std::span<const PoolPage> pages, Put& put) override {
    Op& op = take(pages);
    op.put = &put;
    puts += pages.size();
    for (const PoolPage& page : pages) {
      Page& known = known_.try_emplace(page.id).first->second;
      if (known.state != State::there) known.state = State::coming;
    }
    kernel_.arm_in(op, times.page * static_cast<std::int64_t>(pages.size()));
  }
  std::optional<MissReason> why_missing(const PoolPage& page) const override {
    const auto at = known_.find(page.id);
    if (at == known_.end()) return MissReason::cold;
    switch (at->second.state) {
      case State::there:
        return std::nullopt;
      case State::coming:
        return MissReason::not_visible;
      case State::evicted:
        return MissReason::evicted;
    }
    return MissReason::cold;
  }
  void give_up(Lookup& lookup) override { drop(&Op::lookup, lookup); }
  void give_up(Read& read) override { drop(&Op::read, read); }
  void give_up(Put& put) override { drop(&Op::put, put); }

 private:
  enum class State : std::uint8_t { coming, there, evicted };
  struct Page {
    State state = State::coming;
    std::list<std::uint64_t>::iterator place;
  };
  struct Op final : Event {
    explicit Op(MemoryPool& owner) : Event(0x7e57), pool(owner) {}
    void fire() override { pool.go_on(*this); }
    MemoryPool& pool;
    bool free = false;
    Lookup* lookup = nullptr;
    Read* read = nullptr;
    Put* put = nullptr;
    std::vector<PoolPage> pages;
    std::size_t next = 0;
  };

  Op& take(std::span<const PoolPage> pages) {
    LARDER_ASSERT(!pages.empty());
    if (free_.empty()) {
      ops_.push_back(std::make_unique<Op>(*this));
      free_.push_back(ops_.back().get());
    }
    Op& op = *free_.back();
    free_.pop_back();
    op.free = false;
    op.lookup = nullptr;
    op.read = nullptr;
    op.put = nullptr;
    op.pages.assign(pages.begin(), pages.end());
    op.next = 0;
    return op;
  }
  void release(Op& op) {
    kernel_.cancel(op);
    op.free = true;
    free_.push_back(&op);
  }
  template <class Target>
  void drop(Target* Op::* member, Target& target) {
    for (const std::unique_ptr<Op>& op : ops_) {
      if (op->free || op.get()->*member != &target) continue;
      ++given_up;
      return release(*op);
    }
    LARDER_ASSERT(false, "given up, but not under way");
  }

  void go_on(Op& op) {
    if (op.lookup != nullptr) return answer(op);
    if (op.read != nullptr) {
      Read& read = *op.read;
      const std::size_t index = op.next++;
      const bool last = op.next == op.pages.size();
      if (!has(op.pages[index].id)) {
        const MissReason why = why_missing(op.pages[index]).value_or(MissReason::lost);
        release(op);
        return read.ended(why);
      }
      keep(op.pages[index].id);
      if (!last) kernel_.arm_in(op, times.page);
      if (last) release(op);
      read.arrived(index);
      if (last) read.ended(MissReason::lost);
      return;
    }
    Put& put = *op.put;
    for (const PoolPage& page : op.pages) keep(page.id);
    release(op);
    put.ended();
  }
  void answer(Op& op) {
    std::size_t leading = 0;
    while (leading < op.pages.size() && has(op.pages[leading].id)) ++leading;
    MissReason reason = MissReason::cold;
    if (leading < op.pages.size()) reason = *why_missing(op.pages[leading]);
    Lookup& lookup = *op.lookup;
    release(op);
    lookup.found(leading, reason);
  }
  void keep(std::uint64_t id) {
    Page& page = known_.try_emplace(id).first->second;
    if (page.state == State::there) {
      recent_.splice(recent_.end(), recent_, page.place);
      return;
    }
    page = {.state = State::there, .place = recent_.insert(recent_.end(), id)};
    if (recent_.size() <= pages_max_) return;
    known_.at(recent_.front()).state = State::evicted;
    recent_.pop_front();
  }

  Kernel& kernel_;
  std::size_t pages_max_;
  boost::unordered_flat_map<std::uint64_t, Page> known_;
  std::list<std::uint64_t> recent_;
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<Op*> free_;
};

}  // namespace larder::sim
