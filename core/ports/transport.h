#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/slice.h"
#include "core/base/time.h"
#include "core/ports/completion.h"
#include "core/protocol/fill.h"
#include "core/protocol/object.h"

namespace larder {

struct TransportTraits {
  const char* name = "";             // "local", "tcp", "shm", "verbs", "sim"
  Bytes transfer_bytes_max = 1_GiB;  // larger ranges are split by the caller
  bool one_sided = false;            // the reader checks footers itself (design: §5.4)
};

// Bytes of one replica into the caller's slices, from `offset` in the payload on; the slices' total
// is the range's length.
struct ReadRange {
  PutId put_id;
  SegmentDescription const* segment = nullptr;
  Bytes extent_offset;  // of the extent in the segment
  Bytes payload_size;   // of the whole object
  Bytes offset;
  std::span<const Slice> into;
  // Set by the transport before it completes.
  Status* result = nullptr;
  std::optional<std::uint64_t>* checksum = nullptr;  // of the whole payload, if the source sent one
  // Of the bytes of this range as they lie in `into`, from a transport that can hash them while
  // they are still in the cache; it leaves it empty otherwise. Null: not wanted.
  std::optional<std::uint64_t>* computed = nullptr;
  // One-sided transports deliver the footer here, read after the payload. Null: not wanted.
  std::array<std::byte, 64>* footer = nullptr;
};
struct Read {
  std::vector<ReadRange> ranges;  // of one node
};

// Asks one node to fill its extents from the caller's slices, item by item (design: §4, Put).
struct FillRange {
  FillItem item;
  std::span<const ConstSlice> from;  // total: item.part_length
  Status* result = nullptr;          // OK: sealed (or, of a part, taken). Set before completion
};
struct Fill {
  SegmentDescription const* segment = nullptr;  // any of the node's: its endpoint is what counts
  std::vector<FillRange> ranges;
};

using Transfer = std::variant<Read, Fill>;

// Moves bytes; knows nothing of keys. Confined to one strand.
class Transport {
 public:
  virtual TransportTraits traits() const = 0;

  // Starts the transfer. `completion` is called exactly once and not before nothing can touch the
  // slices and result pointers any more; results of single items are in place by then. The overall
  // status is an error only if the whole transfer failed (endpoint dead, deadline); items that were
  // never tried then hold that error too. Past `deadline` the transport ends the transfer
  // physically within a tenth of the time that was given. Everything that the transfer points at
  // must live until the completion, or until abandon() hands it over.
  virtual void submit(Transfer transfer, Time deadline, Completion& completion) = 0;

  // The caller goes away: `completion` will not be called any more, and the transfer is ended. What
  // the transfer points at stays with `keep_alive` until nothing can touch it. Where the memory is
  // the user's own, this call ends the transfer before it returns (`keep_alive` null).
  virtual void abandon(Completion& completion, std::shared_ptr<void> keep_alive) noexcept = 0;

 protected:
  ~Transport() = default;
};

}  // namespace larder
