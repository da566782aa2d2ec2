#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "core/protocol/footer.h"
#include "core/protocol/object.h"
#include "core/protocol/request.h"

namespace larder {

// The bytes of a node's segments, as far as the node itself writes them: mapped memory in real/,
// tracked content in sim/.
class SegmentMemory {
 public:
  // Writes 64 bytes at `at`, a multiple of 64 inside the segment. When it returns, every reader
  // that starts to read there sees them whole, and after what the driver filled before the call.
  // All-zero bytes end the footer that stood there.
  virtual void write_footer(ReplicaLocation at, const FooterBytes& footer) = 0;

 protected:
  ~SegmentMemory() = default;
};

// A connection of a writer. The driver counts them and never gives a number twice.
struct ConnectionId {
  std::uint64_t value = 0;
  auto operator<=>(const ConnectionId&) const = default;
};

// One part of one fill on its way into an extent, and one read of an extent on its way out. Never
// given twice in the life of a Node; 0 is none.
struct FillId {
  std::uint64_t value = 0;
  auto operator<=>(const FillId&) const = default;
};
struct ReadId {
  std::uint64_t value = 0;
  auto operator<=>(const ReadId&) const = default;
};

// What a call asks of the driver, to be carried out in the order in which the parts stand. Calls
// append; the driver empties it. Texts of `send` are views into the node and last until the next
// call of it: encode them, or keep an OwnedRequest.
struct NodeEffects {
  // End these physically (close the connection, flush the QP), then call end_fill. Until then the
  // extent counts as occupied.
  std::vector<FillId> abort_fills;
  // The same for reads that took longer than Timing::allowed; then call end_read.
  std::vector<ReadId> abort_reads;
  // Hash the payload of each and call verified.
  struct Verify {
    ReadId id;
    ExtentName extent;
    Bytes size;
  };
  std::vector<Verify> verify;
  // To the master, over the present connection, in this order. Each has one answer, which comes
  // back through answered() under its ticket; on a broken connection none comes.
  struct Send {
    std::uint64_t ticket = 0;
    Request request;
  };
  std::vector<Send> send;
  // The master at the other end does not lead (any more), is not the one that this node obeys, or
  // does not answer: close the connection and look for one again.
  bool reconnect = false;
  // A master gave this incarnation up, everything is retired and nothing is in flight: destroy the
  // Node and make another, with a new incarnation and new segment ids.
  bool finished = false;

  void clear() {
    abort_fills.clear();
    abort_reads.clear();
    verify.clear();
    send.clear();
    reconnect = false;
    finished = false;
  }
};

}  // namespace larder
