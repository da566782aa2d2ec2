#pragma once

#include <boost/asio/dispatch.hpp>
#include <boost/asio/system_executor.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/client/client.h"
#include "real/client/pool.h"
#include "real/rpc/asio.h"
#include "real/rpc/loop.h"

// What is behind a Pool. Internal to real/client.

namespace larder {
namespace real {

// The master and the transport that a pool's client works with.
class PoolPorts {
 public:
  virtual ~PoolPorts() = default;
  virtual MasterLink& master() = 0;
  virtual Transport& transport() = 0;
};

// A call of a user, from its begin on the pool's thread to its completion there.
class PoolCall {
 public:
  virtual ~PoolCall() = default;
  virtual void begin(Client& client) = 0;
  // Completes it: with its result if it has one, else everything under way ends and `error` is the
  // result of each item.
  virtual void complete(const Error& error) = 0;

  std::uint64_t number = 0;
};

// One kind of call with its arguments.
template <class T>
struct CallPlan {
  std::move_only_function<Task<T>(Client&)> run;
  std::move_only_function<T(const Error&)> all_failed;
  bool changes_the_pool = false;
};

// Adds to an error that came from the master where that is.
void name_master(Error& error, const std::string& master);
template <class T>
void name_master(Result<T>& result, const std::string& master) {
  if (!result) name_master(result.error(), master);
}
template <class T>
void name_master(std::vector<T>& results, const std::string& master) {
  for (T& result : results) name_master(result, master);
}

}  // namespace real

struct Pool::State : std::enable_shared_from_this<Pool::State> {
  State(ClientConfig config, std::string master, Duration timeout);

  // The last step of making one: from here on everything happens on its thread.
  void run(std::unique_ptr<real::PoolPorts> the_ports);
  void close();

  Time deadline(Duration timeout, std::optional<Bytes> moved) const;

  // Why no call can be made from here now: after fork(), or closed.
  Status open_here() const;
  // The same for one that blocks.
  Status may_wait() const;

  template <class T>
  void start(Handler<T> handler, real::CallPlan<T> plan);
  template <class T>
  T wait(real::CallPlan<T> plan);

  // ---- on the pool's thread ----
  void begin(std::unique_ptr<real::PoolCall> call);
  void ended(std::uint64_t number);  // its result is there
  void complete(std::uint64_t number, const Error& error);
  void keep_alive();
  void shut_down();

  const int process;  // that opened the pool
  const ClientConfig config;
  const std::string master;  // its endpoint, for errors
  const Duration timeout;
  real::Loop loop;
  std::unique_ptr<real::PoolPorts> ports;
  std::optional<Client> client;
  std::map<std::uint64_t, PutWriter> writers;  // of the PartedPuts that there are
  std::uint64_t last_writer = 0;
  std::map<std::uint64_t, std::unique_ptr<real::PoolCall>> calls;  // that have begun
  Task<Status> renewal;
  Task<Done> closing;
  std::optional<real::Alarm> alarm;

  mutable std::mutex mutex;
  bool closed = false;            // by `mutex`
  std::uint64_t last_number = 0;  // by `mutex`
  std::mutex joining;
  std::thread thread;
  std::thread::id thread_id;  // also when it has ended
};

struct PartedPut::Held {
  std::shared_ptr<Pool::State> pool;
  std::uint64_t writer = 0;
  bool already_stored = false;
};

namespace real {

template <class T>
class CallOf final : public PoolCall {
 public:
  using Handler = asio::any_completion_handler<void(T)>;

  CallOf(Pool::State& state, Handler handler, CallPlan<T> plan)
      : state_(state),
        plan_(std::move(plan)),
        executor_(asio::prefer(
            asio::get_associated_executor(handler, state.loop.context().get_executor()),
            asio::execution::outstanding_work.tracked)),
        handler_(std::move(handler)) {}

  void begin(Client& client) override {
    task_ = run(client);
    task_.start();
  }

  void complete(const Error& error) override {
    task_ = {};
    if (!result_) result_.emplace(plan_.all_failed(error));
    name_master(*result_, state_.master);
    deliver(executor_, std::move(handler_), std::move(*result_));
  }

  // May run the handler now, if its executor does.
  template <class Executor>
  static void deliver(const Executor& executor, Handler handler, T result) {
    asio::dispatch(executor, [handler = std::move(handler), result = std::move(result)]() mutable {
      asio::get_associated_cancellation_slot(handler).clear();
      std::move(handler)(std::move(result));
    });
  }

 private:
  Task<Done> run(Client& client) {
    result_.emplace(co_await plan_.run(client));
    state_.ended(number);
    co_return Done{};
  }

  Pool::State& state_;
  CallPlan<T> plan_;
  asio::any_completion_executor executor_;
  Handler handler_;
  std::optional<T> result_;
  Task<Done> task_;
};

}  // namespace real

template <class T>
void Pool::State::start(Handler<T> handler, real::CallPlan<T> plan) {
  namespace asio = real::asio;
  const auto refuse = [&](const Error& error) {
    // Never from inside this call, and not over threads that a child of fork() may only believe to
    // have: one of its own.
    auto executor =
        asio::prefer(asio::get_associated_executor(
                         handler, asio::any_completion_executor(asio::system_executor())),
                     asio::execution::outstanding_work.tracked);
    std::thread([executor = std::move(executor), handler = std::move(handler),
                 result = plan.all_failed(error)]() mutable {
      real::CallOf<T>::deliver(executor, std::move(handler), std::move(result));
    }).detach();
  };
  if (const Status open = open_here(); !open) return refuse(open.error());
  const std::unique_lock lock(mutex);
  if (closed) return refuse(Error(ErrorCode::cancelled, "the pool is closed"));
  const std::uint64_t number = ++last_number;
  if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
    slot.assign([weak = weak_from_this(), number,
                 changes = plan.changes_the_pool](asio::cancellation_type type) {
      using Type = asio::cancellation_type;
      if (changes && (type & (Type::terminal | Type::partial)) == Type::none) return;
      const auto state = weak.lock();
      if (!state) return;
      state->loop.post([state = state.get(), number] {
        state->complete(number, Error(ErrorCode::cancelled, "cancelled by the caller"));
      });
    });
  }
  auto call = std::make_unique<real::CallOf<T>>(*this, std::move(handler), std::move(plan));
  call->number = number;
  loop.post([this, call = std::move(call)]() mutable { begin(std::move(call)); });
}

template <class T>
T Pool::State::wait(real::CallPlan<T> plan) {
  if (const Status free = may_wait(); !free) return plan.all_failed(free.error());
  std::mutex ending;
  std::condition_variable ended;
  std::optional<T> result;
  start(Handler<T>([&](T outcome) {
          const std::scoped_lock lock(ending);
          result.emplace(std::move(outcome));
          ended.notify_one();  // with the lock held: afterwards nothing here may be touched
        }),
        std::move(plan));
  std::unique_lock lock(ending);
  ended.wait(lock, [&] { return result.has_value(); });
  return std::move(*result);
}

}  // namespace larder
