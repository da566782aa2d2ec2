#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/space/space.h"
#include "workloads/request.h"

namespace larder::sim {

// A page of KV as the pool stores it.
struct PageShape {
  Bytes token;  // of all objects of a page together
  std::uint32_t tokens = 512;
  std::uint32_t objects = 1;  // of equal size: K and V, or one
  // Whether a page that a prompt ends in takes the place of its own tokens only. Else it takes that
  // of a whole page, as in the simulated pool.
  bool cut = false;

  // Of one object of a page that holds so many tokens.
  Bytes object_bytes(std::uint64_t filled) const { return token * filled / objects; }
  Bytes bytes() const { return token * tokens; }
};

// Where the bytes of a full segment are, as shares of it. They sum to 1.
struct PackingShares {
  double payload = 0;    // KV of tokens
  double tails = 0;      // of pages whose last tokens are none
  double footers = 0;    // and
  double rounding = 0;   // of payloads up to 64 bytes before them
  double alignment = 0;  // from the end of an extent to where the next one may begin
  double unused = 0;     // free, and in no piece of the size that was asked for
};

// Puts the pages of a trace into one segment, with the production allocator (core/space), and looks
// where its bytes are whenever a page finds no room. Then the pages that came first leave until it
// does. What is there already is not put again.
//
// Memory grows with the pages of the segment, not with the trace. Deterministic.
class PackingMeter {
 public:
  // Errors: invalid_params for a page without tokens or objects, or that the empty segment has no
  // room for; with the numbers.
  static Result<PackingMeter> make(const PageShape& shape, Bytes segment);

  // The pages of one request, in their order. Errors: those of pages_of() (sim/serving/serving.h).
  Status add(const workloads::Request& request);

  Bytes segment() const { return space_.capacity(); }
  std::uint64_t pages() const { return pages_; }  // that were put
  std::size_t kept() const { return kept_.size(); }
  std::uint64_t refusals() const { return refusals_; }
  // The means over all times when a page found no room. Nothing: there was none, the trace does not
  // fill the segment.
  std::optional<PackingShares> shares() const;

 private:
  struct Kept {
    std::uint64_t id = 0;
    std::uint64_t tokens = 0;
    std::vector<ExtentId> extents;
  };

  PackingMeter(const PageShape& shape, Bytes segment) : shape_(shape), space_(segment) {}
  void put(std::uint64_t id, std::uint64_t tokens);
  bool place(Kept& page);
  void drop_first();
  void note_refusal();
  Bytes object_bytes(const Kept& page) const {
    return shape_.object_bytes(shape_.cut ? page.tokens : shape_.tokens);
  }

  PageShape shape_;
  Space space_;
  std::deque<Kept> kept_;                         // in the order in which they came
  boost::unordered_flat_set<std::uint64_t> ids_;  // of those
  std::vector<std::uint64_t> of_request_;
  std::uint64_t pages_ = 0;
  std::uint64_t refusals_ = 0;
  // Of what is kept: KV of tokens, all that was asked for, and from ends of extents to where the
  // next ones may begin.
  Bytes payload_;
  Bytes stored_;
  Bytes alignment_;
  PackingShares sums_;  // over refusals
};

// The same of whole pages that follow each other, twice as many as the segment holds: what is known
// without a trace. Errors: those of PackingMeter::make().
Result<PackingShares> whole_pages_packed(const PageShape& shape, Bytes segment);

}  // namespace larder::sim
