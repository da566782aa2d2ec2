#pragma once

#include <coroutine>

#include "core/ports/clock.h"
#include "core/ports/transport.h"

// Ports as things to await. Each is one suspension point at which its coroutine can be destroyed.

namespace larder {

// `co_await Sleep(timers, until)`.
class Sleep final : public Completion {
 public:
  Sleep(Timers& timers, Time until) : timers_(timers), until_(until) {}
  Sleep(const Sleep&) = delete;
  Sleep& operator=(const Sleep&) = delete;
  ~Sleep() {
    if (waiter_) timers_.disarm(*this);
  }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    timers_.arm(until_, *this);
  }
  void await_resume() const noexcept {}
  void complete(Status) override { std::exchange(waiter_, nullptr).resume(); }

 private:
  Timers& timers_;
  Time until_;
  std::coroutine_handle<> waiter_;
};

// `Status whole = co_await Moved(transport, transfer, deadline)`. When it is over, or this is
// destroyed, nothing can touch the slices and result pointers of the transfer any more.
class Moved final : public Completion {
 public:
  Moved(Transport& transport, Transfer transfer, Time deadline)
      : transport_(transport), transfer_(std::move(transfer)), deadline_(deadline) {}
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;
  ~Moved() {
    if (waiter_) transport_.abandon(*this, nullptr);
  }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    transport_.submit(std::move(transfer_), deadline_, *this);
  }
  Status await_resume() { return std::move(status_); }
  void complete(Status status) override {
    status_ = std::move(status);
    std::exchange(waiter_, nullptr).resume();
  }

 private:
  Transport& transport_;
  Transfer transfer_;
  Time deadline_;
  std::coroutine_handle<> waiter_;
  Status status_;
};

}  // namespace larder
