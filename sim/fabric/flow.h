#pragma once

#include <cstdint>
#include <vector>

#include "sim/fabric/host.h"
#include "sim/kernel/event.h"

namespace larder::sim {

class Network;

// A transfer that takes time. Its bytes arrive chunk by chunk: each chunk is copied at a moment of
// its own, in an order that is drawn from the seed, so that whoever changes source or target
// meanwhile is mixed into the result as on real hardware. Destroying a flow ends it: not one more
// byte is copied.
class Flow : private Event {
 public:
  struct Plan {
    Route route;
    Bytes length;
    bool shuffled = true;  // false: the chunks come in order, as on a TCP stream
  };

  Flow(Network& network, const Plan& plan);
  ~Flow() override;

  // Begins to move it. The first byte arrives after the route's latency. Once in a flow's life.
  void start();
  // Nothing moves while it is paused; for processes that are stopped. May be called at any time.
  void pause();
  void resume();

  bool ended() const { return stage_ == Stage::ended; }
  Bytes length() const { return plan_.length; }
  // Copied so far.
  Bytes moved() const { return copied_; }

 private:
  friend class Network;
  enum class Stage : std::uint8_t { created, travelling, moving, ended };

  // The bytes [offset, offset + length) arrive now. Must not destroy the flow.
  virtual void copy(Bytes offset, Bytes length) = 0;
  // One byte of what has just been copied is another one where it arrives. Must not destroy the
  // flow.
  virtual void corrupt(Bytes offset) = 0;
  // The last byte has been copied. May destroy the flow.
  virtual void finish() = 0;

  void fire() override;
  void copy_chunk();
  // Holds the flow, or lets it go on, after `paused_` or the network's block matrix changed.
  void reconsider();
  void set_rate(Bytes per_second);
  void arm_next_chunk();
  Bytes chunk_length(std::uint64_t chunk) const;

  Network& network_;
  Plan plan_;
  Stage stage_ = Stage::created;
  bool paused_ = false;
  bool in_rate_model_ = false;
  std::uint32_t number_ = 0;          // in the network's table
  std::vector<std::uint32_t> order_;  // of the chunks; empty: as they stand
  std::uint64_t chunks_ = 0;
  std::uint64_t next_chunk_ = 0;
  Bytes chunk_size_;
  Bytes copied_;
  Bytes left_of_chunk_;  // of the next chunk, at `since_`
  Bytes per_second_;
  Instant since_{};
};

}  // namespace larder::sim
