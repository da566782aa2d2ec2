#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/cluster/observer.h"
#include "sim/explore/scenario.h"
#include "sim/kernel/instant.h"
#include "sim/kernel/kernel.h"

namespace larder::sim {

// What must hold in every run; ARCHITECTURE.md has the list with its reasons.
enum class Invariant : std::uint8_t {
  whole_bytes,     // I1: a get that reports success returned exactly the bytes of one put
  own_key,         // I2: and that put was of this key, with this size
  not_superseded,  // I3: and no removal, revocation or upsert acknowledged before the get began
                   // took it back
  machine,         // I4: a machine's own invariants, the world's footers, a buffer's silence
  operations_end,  // I5: once faults stop, every operation ends
  space_returns,   // I6: once faults stop, all space of the dead is back and the books agree
  pool_serves,     // I7: once faults stop, what is there can be read, and a fresh put succeeds
  repeatable,      // I8: the same scenario does the same again
};
std::string_view to_string(Invariant invariant);

struct Violation {
  Invariant invariant;
  Instant when;
  std::string what;
};
// "I1 whole bytes: get 8 of 'key9' returned ...": for one line, of some 200 bytes at most.
std::string to_text(const Violation& violation);

// What became of operations. Those that began = succeeded + failed + lost + those under way.
struct OperationCounts {
  std::uint64_t began = 0;
  std::uint64_t succeeded = 0;  // for each of their items
  std::uint64_t failed = 0;     // for at least one
  std::uint64_t lost = 0;       // with their client
  std::uint64_t gets_ok = 0;    // items
  std::uint64_t puts_ok = 0;
  std::uint64_t removes_ok = 0;
  std::uint64_t not_begun = 0;                 // steps whose client was dead then
  std::map<ErrorCode, std::uint64_t> reasons;  // of `failed`: of the first item that did

  OperationCounts& operator+=(const OperationCounts& other);
  bool operator==(const OperationCounts&) const = default;
};

// Follows every operation of every key of one world and finds what the pool must not do. The
// instants at which operations begin and end are those of the virtual world, which no machine sees.
class History final : public Observer {
 public:
  explicit History(Promises promises) : promises_(promises) {}
  void watch(const Kernel& kernel) { kernel_ = &kernel; }

  // The application has begun an operation.
  void begins(OperationId id);
  void upsert_begins(OperationId id);
  // It would have, if its client were alive.
  void not_begun() { ++counts_.not_begun; }

  void put_began(OperationId, std::span<const PutWanted>, WriteId first) override;
  void put_ended(OperationId, std::span<const PutSeen>) override;
  void get_ended(OperationId, std::span<const GetSeen>) override;
  void exists_ended(OperationId, std::span<const std::string_view>,
                    std::span<const Result<Existence>>) override;
  void remove_ended(OperationId, std::span<const std::string_view>,
                    std::span<const Status>) override;
  void operation_lost(OperationId) override;
  void master_answered(const MasterProcess&, const Request&, std::uint32_t index,
                       const Answer&) override;
  void violation(const std::string&) override;

  void report(Invariant invariant, std::string what);

  // What can still be found, apart from how it came about: which puts are acknowledged and which
  // are replaced by now, and were when what is under way began. O(puts * operations).
  std::uint64_t identity() const;

  const OperationCounts& counts() const { return counts_; }
  const std::vector<Violation>& violations() const { return violations_; }
  // Items of gets that broke I1, I2 or I3; all of them, also where the list above ends.
  std::uint64_t wrong_reads() const { return wrong_reads_; }
  // From now on what was promised always holds: removals and upserts that are acknowledged later
  // stay.
  void all_promised();
  // From now on codes() knows how operations ended.
  void keep_codes() { keeps_codes_ = true; }
  // For each item, none: OK. Empty if it has not ended.
  std::vector<std::optional<ErrorCode>> codes(OperationId id) const;

 private:
  struct Write {
    std::string key;
    Bytes size;
    Instant began{};
    Instant acknowledged = instant_never;  // the put reported success
    OperationId operation;                 // whose item it is
  };
  // An acknowledged removal or upsert: older values of the key must not be read after `end`.
  struct Replacement {
    Instant begin;
    Instant end;
    WriteId by;  // zero: a removal
  };

  Instant now() const { return kernel_->now(); }
  struct Fault {
    Invariant invariant;
    std::string what;
  };
  std::string name_of(WriteId write) const;
  std::string content_of(std::span<const std::byte> bytes) const;
  std::vector<WriteId> writes_of(const GetSeen& seen) const;
  const Replacement* replacement_of(WriteId written, Instant before) const;
  std::optional<Fault> fault_of(OperationId id, const GetSeen& seen, WriteId written) const;
  void check_read(OperationId id, const GetSeen& seen);
  void wrong_read(Invariant invariant, std::string what);
  Instant begin_of(OperationId id) const;
  template <class Items, class Failure>
  void end(OperationId id, const Items& items, Failure&& failure);

  Promises promises_;
  const Kernel* kernel_ = nullptr;
  OperationCounts counts_;
  std::vector<Violation> violations_;
  std::uint64_t wrong_reads_ = 0;
  std::map<WriteId, Write> writes_;
  std::map<OperationId, Instant> begins_;  // of all under way
  std::set<OperationId> upserts_;          // among them
  std::map<std::string, std::vector<Replacement>, std::less<>> replacements_;
  std::map<PutId, Instant> revoked_;  // since when
  bool keeps_codes_ = false;
  std::map<OperationId, std::vector<std::optional<ErrorCode>>> codes_;
};

}  // namespace larder::sim
