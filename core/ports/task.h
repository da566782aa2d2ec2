#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/assert.h"

namespace larder {

template <class T>
class JoinAll;

// A coroutine that starts when it is awaited (or started) and gives one T. Destroying a Task
// destroys the coroutine where it stands, with everything that it awaits: that is how an operation
// is given up, and how a test crashes a client at a suspension point. Only a suspended coroutine
// may be destroyed. Confined to one strand. An exception that leaves the coroutine ends the
// process: errors are values here. Awaiting and ending are symmetric transfers: a chain of tasks of
// any length that end at once uses no stack.
template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::optional<T> value;
    std::coroutine_handle<> continuation = std::noop_coroutine();
    std::size_t* running = nullptr;  // of a JoinAll: the last to end goes on with `continuation`

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Resume {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
          promise_type& promise = self.promise();
          if (promise.running && --*promise.running != 0) return std::noop_coroutine();
          return promise.continuation;
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
  friend class JoinAll<T>;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// Runs all tasks at the same time: `std::vector<T> results = co_await JoinAll(std::move(tasks));`,
// in order, when the last has ended. Destroying the waiter destroys the tasks where they stand.
template <class T>
class [[nodiscard]] JoinAll {
 public:
  explicit JoinAll(std::vector<Task<T>> tasks) : tasks_(std::move(tasks)) {}
  JoinAll(const JoinAll&) = delete;
  JoinAll& operator=(const JoinAll&) = delete;

  bool await_ready() const noexcept { return tasks_.empty(); }
  bool await_suspend(std::coroutine_handle<> waiter) {
    // One more than there are tasks, so that none of those that end at once resumes the waiter
    // while others have not begun.
    running_ = tasks_.size() + 1;
    for (Task<T>& task : tasks_) {
      task.handle_.promise().continuation = waiter;
      task.handle_.promise().running = &running_;
      task.handle_.resume();
    }
    return --running_ != 0;
  }
  std::vector<T> await_resume() {
    std::vector<T> results;
    results.reserve(tasks_.size());
    for (Task<T>& task : tasks_) results.push_back(std::move(task.result()));
    return results;
  }

 private:
  std::vector<Task<T>> tasks_;
  std::size_t running_ = 0;
};

}  // namespace larder
