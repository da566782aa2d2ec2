#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/topology/topology.h"

namespace larder::sim {

// One page of KV as an engine sees it: a block of a request's prompt, which stands for itself and
// for all blocks before it (equal ids have equal prefixes).
struct PoolPage {
  std::uint64_t id = 0;      // as the trace has it, all 64 bits
  std::uint64_t parent = 0;  // the page before it; `id` itself for the first page of a prompt
  std::uint32_t depth = 0;   // pages before it
};

// Why a page that was asked for did not come from the pool. Each miss has exactly one reason.
enum class MissReason : std::uint8_t {
  cold,           // it was never put
  evicted,        // it was put, and evicted since
  not_visible,    // a put of it was under way
  lost,           // it was on a node, or behind a NIC, that is gone
  refused,        // its put found no room: quota, pins, or nothing that may be evicted yet
  fragmented,     // its put found room enough, but not in one piece
  timed_out,      // it was there, and did not come in time
  behind_a_miss,  // it was there, but a page before it was not
  not_asked,      // the engine asked no pool: too few pages, or no host memory to read them into
};
inline constexpr std::size_t miss_reasons = 9;
std::string_view miss_reason_name(MissReason reason);  // "not_visible" ...

// The pool, as the engines of a simulated cluster use it. Each call takes virtual time: the way to
// the master and its queue, and for reads and puts the way of the bytes over the fabric. What is
// asked for is an object that its caller owns, and which it gives up by give_up(); nothing is told
// from inside a call. Confined to its kernel's thread.
class PagePool {
 public:
  // How many leading pages of a prompt the pool has now.
  class Lookup {
   public:
    virtual ~Lookup() = default;
    // `leading` pages are there; the one behind them, if there is one, is missing for `reason`.
    virtual void found(std::size_t leading, MissReason reason) = 0;
  };

  // Pages on their way into the memory `into` of an engine's host, in their order as far as the
  // fabric allows.
  class Read {
   public:
    virtual ~Read() = default;
    // Page number `index` is there, whole. They are told in any order.
    virtual void arrived(std::size_t index) = 0;
    // Nothing more will come. Pages that did not arrive are missing for `reason`.
    virtual void ended(MissReason reason) = 0;
  };

  // Pages on their way from the memory `from` of an engine's host into the pool.
  class Put {
   public:
    virtual ~Put() = default;
    // Each page is in the pool, was there already, or was refused. `from` may be used again.
    virtual void ended() = 0;
  };

  virtual ~PagePool() = default;

  // Each begins one operation. `pages` need not outlive the call; the operation must live until it
  // has ended (`found` ends a lookup) or give_up() was called for it.
  virtual void look_up(PartId host_memory, std::span<const PoolPage> pages, Lookup& lookup) = 0;
  virtual void read(PartId into, std::span<const PoolPage> pages, Read& read) = 0;
  virtual void put(PartId from, std::span<const PoolPage> pages, Put& put) = 0;
  // Why a page is missing; nothing if it is there. Takes no time: it is for reports, since a lookup
  // tells only of the first missing page.
  virtual std::optional<MissReason> why_missing(const PoolPage& page) const = 0;

  virtual void give_up(Lookup& lookup) = 0;
  virtual void give_up(Read& read) = 0;
  virtual void give_up(Put& put) = 0;
};

}  // namespace larder::sim
