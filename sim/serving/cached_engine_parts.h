#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/kernel/event.h"
#include "sim/serving/cached_engine.h"

// What CachedEngine is made of; only its sources include this.

namespace larder::sim {

class CachedEngine::Timer final : public Event {
 public:
  Timer(CachedEngine& engine, std::uint32_t label, void (CachedEngine::*fired)())
      : Event(label), engine_(engine), fired_(fired) {}

 private:
  void fire() override { (engine_.*fired_)(); }
  CachedEngine& engine_;
  void (CachedEngine::*fired_)();
};

// One request on the engine. As an event: its prefetch is given up.
class CachedEngine::Job final : public Event, PagePool::Lookup, PagePool::Read {
 public:
  static constexpr std::uint32_t label = 0x5e2;
  enum class Prefetch : std::uint8_t {
    none,     // the tree has what was fetched; nothing is reserved
    looking,  // the pool is being asked
    reading,
    ended,  // what has come waits to be put into the tree
  };

  explicit Job(CachedEngine& owner) : Event(label), engine(owner) {}
  PagePool::Lookup& lookup() { return *this; }
  PagePool::Read& read() { return *this; }

  CachedEngine& engine;
  ServedRequest* request = nullptr;

  Prefetch prefetch = Prefetch::none;
  Instant asked{};
  std::vector<BlockTree::Node> anchor;  // what was here when the pool was asked; locked on the host
  std::size_t leading = 0;              // that the pool has behind it, and so many are reserved
  std::vector<std::uint8_t> has;        // by page behind the anchor: it has come
  std::size_t came = 0;
  MissReason late = MissReason::timed_out;  // why those that have not come are missing
  std::size_t fetched = 0;                  // that were put into the tree, and were not there

  // From the begin of its computation on:
  std::vector<BlockTree::Node> path;  // locked
  std::size_t hits = 0;               // blocks
  std::uint64_t reserved = 0;         // GPU blocks that are not in the tree
  std::uint64_t done = 0;             // tokens of the input whose KV there is
  std::uint64_t left = 0;             // tokens to compute
  std::uint32_t load = 0;             // the copy to the GPUs that it needs

 private:
  void fire() override { engine.wake(); }
  void found(std::size_t count, MissReason reason) override {
    engine.looked_up(*this, count, reason);
  }
  void arrived(std::size_t index) override {
    has[index] = 1;
    ++came;
  }
  void ended(MissReason reason) override {
    late = reason;
    engine.prefetched(*this);
  }
};

// Blocks on their way from the GPUs to the host, and then to the pool.
class CachedEngine::Write final : public PagePool::Put {
 public:
  explicit Write(CachedEngine& owner) : engine(owner) {}

  CachedEngine& engine;
  bool in_use = false;
  bool putting = false;
  std::uint32_t number = 0;            // of the copy
  std::vector<BlockTree::Node> path;   // locked while it is copied
  std::vector<BlockTree::Node> nodes;  // that are copied; locked on the host while they are put

 private:
  void ended() override { engine.put_ended(*this); }
};

}  // namespace larder::sim
