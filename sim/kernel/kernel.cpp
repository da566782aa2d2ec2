#include "sim/kernel/kernel.h"

#include <algorithm>

#include "core/base/assert.h"

namespace larder::sim {

namespace {
constexpr std::size_t children = 4;
}  // namespace

Event::~Event() {
  if (kernel_ != nullptr) kernel_->cancel(*this);
}

Instant Event::due() const { return armed() ? kernel_->heap_[place_].at : instant_never; }

Kernel::~Kernel() {
  // Dropping one may cancel or destroy others, so the heap is kept whole meanwhile.
  while (!heap_.empty()) take(heap_.size() - 1).event->drop();
}

Random Kernel::random(std::string_view component, std::uint64_t index) const {
  return random_.fork(Digest().add(component).add(index).value());
}

void Kernel::arm(Event& event, Instant at) {
  LARDER_ASSERT(event.kernel_ == nullptr || event.kernel_ == this);
  if (at == instant_never) return cancel(event);
  const Entry entry{.at = std::max(at, now_), .order = arming_++, .event = &event};
  if (event.kernel_ == nullptr) {
    event.kernel_ = this;
    heap_.push_back(entry);
    sift_up(heap_.size() - 1, entry);
  } else if (entry.before(heap_[event.place_])) {
    sift_up(event.place_, entry);
  } else {
    sift_down(event.place_, entry);
  }
}

void Kernel::cancel(Event& event) noexcept {
  if (event.kernel_ == this) take(event.place_);
}

bool Kernel::step() {
  if (heap_.empty()) return false;
  const Entry next = take(0);
  now_ = next.at;
  ++fired_;
  hash_.add(static_cast<std::uint64_t>(next.at.time_since_epoch().count()));
  hash_.add(next.order << 16 ^ next.event->label_);
  next.event->fire();
  return true;
}

std::uint64_t Kernel::run_until(Instant end) {
  const std::uint64_t before = fired_;
  while (next_due() <= end && step()) {
  }
  now_ = std::max(now_, end);
  return fired_ - before;
}

std::uint64_t Kernel::run(std::uint64_t events_max) {
  const std::uint64_t before = fired_;
  while (fired_ - before < events_max && step()) {
  }
  return fired_ - before;
}

void Kernel::put(std::size_t place, const Entry& entry) {
  heap_[place] = entry;
  entry.event->place_ = place;
}

void Kernel::sift_up(std::size_t place, const Entry& entry) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / children;
    if (!entry.before(heap_[parent])) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, entry);
}

void Kernel::sift_down(std::size_t place, const Entry& entry) {
  for (std::size_t first = place * children + 1; first < heap_.size();
       first = place * children + 1) {
    const std::size_t end = std::min(first + children, heap_.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (heap_[child].before(heap_[least])) least = child;
    }
    if (!heap_[least].before(entry)) break;
    put(place, heap_[least]);
    place = least;
  }
  put(place, entry);
}

Kernel::Entry Kernel::take(std::size_t place) noexcept {
  const Entry taken = heap_[place];
  taken.event->kernel_ = nullptr;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (place < heap_.size()) {
    if (last.before(taken)) {
      sift_up(place, last);
    } else {
      sift_down(place, last);
    }
  }
  return taken;
}

}  // namespace larder::sim
