#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/cluster/observer.h"
#include "sim/kernel/instant.h"
#include "sim/kernel/kernel.h"

namespace larder::sim {

// What must hold in every run; ARCHITECTURE.md has the list with its reasons.
enum class Invariant : std::uint8_t {
  whole_bytes,     // I1: a get that reports success returned exactly the bytes of one put
  own_key,         // I2: and that put was of this key, with this size
  not_superseded,  // I3: and no removal or upsert acknowledged before the get began replaced it
  machine,         // I4: a machine's own invariants, the world's footers, a buffer's silence
  operations_end,  // I5: once faults stop, every operation ends
  space_returns,   // I6: once faults stop, all space of the dead is back and the books agree
  pool_serves,     // I7: once faults stop, a fresh put succeeds and can be read
};
std::string_view to_string(Invariant invariant);

struct Violation {
  Invariant invariant;
  Instant when;
  std::string what;
};

// Follows every operation of every key of one world and finds what the pool must not do. The
// instants at which operations begin and end are those of the virtual world, which no machine sees.
class History final : public Observer {
 public:
  void watch(const Kernel& kernel) { kernel_ = &kernel; }

  // The application has begun an operation.
  void begins(OperationId id);
  void upsert_begins(OperationId id);

  void put_began(OperationId, std::span<const PutWanted>, WriteId first) override;
  void put_ended(OperationId, std::span<const PutSeen>) override;
  void get_ended(OperationId, std::span<const GetSeen>) override;
  void exists_ended(OperationId, std::span<const std::string_view>,
                    std::span<const Result<Existence>>) override;
  void remove_ended(OperationId, std::span<const std::string_view>,
                    std::span<const Status>) override;
  void operation_lost(OperationId) override;
  void violation(const std::string&) override;

  void report(Invariant invariant, std::string what);

  struct Counts {
    std::uint64_t began = 0;
    std::uint64_t ended = 0;
    std::uint64_t lost = 0;  // with their client
    std::uint64_t gets_ok = 0;
    std::uint64_t puts_ok = 0;
    std::uint64_t removes_ok = 0;
  };
  const Counts& counts() const { return counts_; }
  const std::vector<Violation>& violations() const { return violations_; }
  // Whether the put or get ended well for every item.
  bool succeeded(OperationId id) const { return succeeded_.contains(id); }

 private:
  struct Write {
    std::string key;
    Bytes size;
    Instant began{};
    Instant acknowledged = instant_never;  // the put reported success
  };
  // An acknowledged removal or upsert: older values of the key must not be read after `end`.
  struct Replacement {
    Instant begin;
    Instant end;
    WriteId by;  // zero: a removal
  };

  Instant now() const { return kernel_->now(); }
  void check_read(OperationId id, const GetSeen& seen);
  Instant begin_of(OperationId id) const;
  void end(OperationId id);

  const Kernel* kernel_ = nullptr;
  Counts counts_;
  std::vector<Violation> violations_;
  std::map<WriteId, Write> writes_;
  std::map<OperationId, Instant> begins_;  // of all under way
  std::set<OperationId> upserts_;          // among them
  std::map<std::string, std::vector<Replacement>, std::less<>> replacements_;
  std::set<OperationId> succeeded_;
};

}  // namespace larder::sim
