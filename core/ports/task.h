#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "core/base/assert.h"

namespace larder {

// A coroutine that starts when it is awaited (or started) and gives one T. Destroying a Task
// destroys the coroutine where it stands, with everything that it awaits: that is how an operation
// is given up, and how a test crashes a client at a suspension point. Confined to one strand. An
// exception that leaves the coroutine ends the process: errors are values here.
template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::optional<T> value;
    std::coroutine_handle<> continuation = std::noop_coroutine();

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Resume {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
          return self.promise().continuation;
        }
        void await_resume() noexcept {}
      };
      return Resume{};
    }
    void return_value(T result) { value.emplace(std::move(result)); }
    void unhandled_exception() noexcept { std::terminate(); }
  };

  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Runs it until it first waits for something. For the outermost caller; everyone else awaits.
  void start() { handle_.resume(); }
  bool done() const { return handle_ && handle_.done(); }
  explicit operator bool() const { return static_cast<bool>(handle_); }
  // Precondition: done().
  T& result() {
    LARDER_ASSERT(done());
    return *handle_.promise().value;
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) noexcept {
    handle_.promise().continuation = waiter;
    return handle_;
  }
  T await_resume() { return std::move(*handle_.promise().value); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace larder
