#pragma once

#include <cstdint>
#include <memory_resource>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "sim/kernel/event.h"
#include "sim/kernel/instant.h"

namespace larder::sim {

// A discrete-event world: virtual time, and the events that are to come. Events fire in the order
// of (instant, arming), one at a time, and everything random is drawn from forks of one seed: the
// same seed and the same calls give the same world, and the same hash().
//
// Confined to one thread. Kernels share nothing, so several worlds can run on several threads.
// Arming, moving and cancelling cost O(log n) of the armed events.
class Kernel {
 public:
  explicit Kernel(std::uint64_t seed) : random_(seed) {}
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel();

  Instant now() const { return now_; }

  // The random stream of one component: a function of the seed and the name alone, so that one
  // component drawing more numbers changes no other. Number several of a kind with `index`.
  Random random(std::string_view component, std::uint64_t index = 0) const;

  // Fires `event` at `at`, or at once (but not from inside this call) if that has passed. Moves it
  // if it is armed; equal instants fire in the order of their last arming. instant_never: cancels.
  // Precondition: it is not armed in another kernel.
  void arm(Event& event, Instant at);
  void arm_in(Event& event, Duration delay) { arm(event, later(now_, delay)); }
  void cancel(Event& event) noexcept;

  // Calls `function` once, at `at`. It cannot be cancelled: what it points at must live until then.
  template <class Function>
  void post(Instant at, std::uint32_t label, Function&& function);

  // Fires the next event. False if there is none.
  bool step();
  // Fires everything due up to and including `end`; then now() is `end`. Gives the number fired.
  std::uint64_t run_until(Instant end);
  // Fires events until none is left or `events_max` have fired. Gives the number fired.
  std::uint64_t run(std::uint64_t events_max);

  // When the next event is due; instant_never if there is none.
  Instant next_due() const { return heap_.empty() ? instant_never : heap_.front().at; }
  std::size_t armed_events() const { return heap_.size(); }
  std::uint64_t fired_events() const { return fired_; }

  // Adds a fact about the state of the world to its hash: what was delivered, decided, read.
  void note(std::uint64_t fact) { hash_.add(fact); }
  // Of every event that fired (instant, order of arming, label) and every fact noted, in order.
  std::uint64_t hash() const { return hash_.value(); }

 private:
  friend class Event;

  struct Entry {
    Instant at;
    std::uint64_t order;
    Event* event;
    bool before(const Entry& other) const {
      return at != other.at ? at < other.at : order < other.order;
    }
  };
  template <class Function>
  class Once;

  void put(std::size_t place, const Entry& entry);
  void sift_up(std::size_t place, const Entry& entry);
  void sift_down(std::size_t place, const Entry& entry);
  // Takes the entry out of the heap and disarms its event.
  Entry take(std::size_t place) noexcept;

  Instant now_{};
  std::uint64_t arming_ = 0;
  std::uint64_t fired_ = 0;
  std::vector<Entry> heap_;  // four children each: half the levels of a binary one
  Random random_;
  Digest hash_;
  std::pmr::unsynchronized_pool_resource memory_;  // of posted functions
};

template <class Function>
class Kernel::Once final : public Event {
 public:
  Once(Kernel& kernel, std::uint32_t label, Function function)
      : Event(label), owner_(kernel), function_(std::move(function)) {}

 private:
  void fire() override {
    Function function = std::move(function_);  // it may post again, into this memory
    drop();
    function();
  }
  void drop() noexcept override {
    std::pmr::memory_resource& memory = owner_.memory_;
    this->~Once();
    memory.deallocate(this, sizeof(Once), alignof(Once));
  }

  Kernel& owner_;
  Function function_;
};

template <class Function>
void Kernel::post(Instant at, std::uint32_t label, Function&& function) {
  using Posted = Once<std::decay_t<Function>>;
  void* place = memory_.allocate(sizeof(Posted), alignof(Posted));
  arm(*new (place) Posted(*this, label, std::forward<Function>(function)), at);
}

}  // namespace larder::sim
