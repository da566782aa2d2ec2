#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/kernel/instant.h"

namespace larder::sim {

class Kernel;

// Something that happens at an instant. Its owner arms it in a kernel, moves it and cancels it as
// often as it likes; no memory is allocated. Destroying an armed event cancels it, so a process
// whose events are members dies without a trace in the queue. Neither copied nor moved, since the
// kernel points at it.
class Event {
 public:
  // `label` says what kind of event it is; it goes into the state hash.
  explicit Event(std::uint32_t label) : label_(label) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event();

  bool armed() const { return kernel_ != nullptr; }
  // When it will fire; instant_never if it is not armed.
  Instant due() const;

 private:
  friend class Kernel;

  // Disarmed already: may arm itself again, or destroy itself.
  virtual void fire() = 0;
  // The kernel goes away while the event is armed in it. Disarmed already.
  virtual void drop() noexcept {}

  Kernel* kernel_ = nullptr;
  std::size_t place_ = 0;  // in the kernel's heap
  std::uint32_t label_;
};

}  // namespace larder::sim
