#include "real/client/pool_state.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>

#include "core/base/assert.h"
#include "core/base/printable.h"
#include "core/protocol/limits.h"
#include "real/embedded/embedded_pool.h"
#include "real/rpc/client_link.h"
#include "real/rpc/log.h"
#include "real/system/machine.h"
#include "real/transport/tcp_transport.h"

namespace larder {
namespace real {
namespace {

constexpr Duration close_deadline = std::chrono::milliseconds(200);
constexpr Duration keep_alive_check = std::chrono::milliseconds(250);
constexpr std::uint16_t master_port = 7700;

class TcpPorts final : public PoolPorts {
 public:
  TcpPorts(Loop& loop, const Endpoint& master, const std::string& who, TcpOptions tcp)
      : link_(loop, {.master = master, .who = who}),
        transport_(loop, {.who = who, .tcp = std::move(tcp)}) {}
  MasterLink& master() override { return link_; }
  Transport& transport() override { return transport_; }

 private:
  ClientLink link_;
  TcpTransport transport_;
};

class EmbeddedPorts final : public PoolPorts {
 public:
  explicit EmbeddedPorts(std::unique_ptr<EmbeddedPool> pool) : pool_(std::move(pool)) {}
  MasterLink& master() override { return pool_->master(); }
  Transport& transport() override { return pool_->transport(); }

 private:
  std::unique_ptr<EmbeddedPool> pool_;
};

Result<ClientConfig> client_config(std::string tenant, std::string name, bool checksum) {
  if (tenant.empty() || tenant.size() > tenant_bytes_max) {
    return failed(ErrorCode::invalid_params, "a tenant has 1 to " +
                                                 std::to_string(tenant_bytes_max) + " bytes, not " +
                                                 std::to_string(tenant.size()));
  }
  if (name.size() > name_bytes_max) {
    return failed(ErrorCode::invalid_params, "a client's name has at most " +
                                                 std::to_string(name_bytes_max) + " bytes, not " +
                                                 std::to_string(name.size()));
  }
  Random random = system_random();
  return ClientConfig{
      .session = draw_id<SessionId>(random),
      .tenant = std::move(tenant),
      .name = name.empty() ? "client " + std::to_string(::getpid()) : std::move(name),
      .host = machine_name(),
      .checksum = checksum,
      .seed = random.next()};
}

}  // namespace

// Refused before anything was asked of the master: then no time has passed.
void name_master(Error& error, const std::string& master) {
  const ErrorFacts& facts = error.facts();
  if (facts.endpoint.empty() && facts.elapsed > Duration(0)) {
    error = std::move(error).with_endpoint(master);
  }
}

}  // namespace real

Result<Pool> Pool::open(PoolConfig config) {
  LARDER_TRY(const real::Endpoint master, real::parse_endpoint(config.master, real::master_port));
  if (config.transport == "auto") {
    config.transport = "tcp";
    real::log(real::LogLevel::info, "client",
              "transport auto: tcp, which is all there is to a pool of other processes");
  } else if (config.transport != "tcp") {
    return failed(ErrorCode::not_supported,
                  "there is no transport " + in_quotes(config.transport) +
                      " to a pool of other processes; there are: tcp, and auto, which is tcp");
  }
  real::TcpOptions tcp{.congestion = std::move(config.tcp_congestion)};
  LARDER_CHECK(check(tcp));
  LARDER_TRY(ClientConfig client, real::client_config(std::move(config.tenant),
                                                      std::move(config.name), config.checksum));
  auto state = std::make_shared<State>(std::move(client), to_string(master), config.timeout);
  state->run(
      std::make_unique<real::TcpPorts>(state->loop, master, state->config.name, std::move(tcp)));
  return Pool(std::move(state));
}

Result<Pool> Pool::embedded(EmbeddedConfig config) {
  LARDER_TRY(ClientConfig client,
             real::client_config(std::move(config.tenant), {}, config.checksum));
  auto state = std::make_shared<State>(std::move(client), "this process", config.timeout);
  LARDER_TRY(auto pool, real::EmbeddedPool::make(
                            state->loop, {.memory = config.memory, .policy = config.policy}));
  state->run(std::make_unique<real::EmbeddedPorts>(std::move(pool)));
  return Pool(std::move(state));
}

Pool::State::State(ClientConfig the_config, std::string the_master, Duration the_timeout)
    : process(::getpid()),
      config(std::move(the_config)),
      master(std::move(the_master)),
      timeout(the_timeout) {}

void Pool::State::run(std::unique_ptr<real::PoolPorts> the_ports) {
  ports = std::move(the_ports);
  client.emplace(ClientPorts{.clock = loop.clock(),
                             .timers = loop,
                             .master = ports->master(),
                             .transport = ports->transport()},
                 config);
  alarm.emplace(loop, [this] { keep_alive(); });
  alarm->set(loop.now() + real::keep_alive_check);
  // Signals are for the user's threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([self = shared_from_this()] {
    ::pthread_setname_np(::pthread_self(), "larder");
    self->loop.run();
  });
  thread_id = thread.get_id();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Pool::State::close() {
  {
    const std::scoped_lock lock(mutex);
    if (!closed) loop.post([this] { shut_down(); });
    closed = true;
  }
  const std::scoped_lock lock(joining);
  if (!thread.joinable()) return;
  if (thread_id == std::this_thread::get_id()) return thread.detach();  // it keeps this
  thread.join();
}

Time Pool::State::deadline(Duration asked, std::optional<Bytes> moved) const {
  if (asked == Duration(0)) asked = timeout;
  if (asked == Duration(0)) {
    asked = moved ? Timing::allowed(*moved) : config.timing.control_deadline;
  }
  return later(loop.now(), asked);
}

Status Pool::State::open_here() const {
  if (process == ::getpid()) return {};
  return failed(ErrorCode::unavailable_in_current_status,
                "this process was forked from process " + std::to_string(process) +
                    ", which opened the pool: open one here");
}

Status Pool::State::may_wait() const {
  LARDER_CHECK(open_here());
  if (std::this_thread::get_id() != thread_id) return {};
  return failed(ErrorCode::unavailable_in_current_status,
                "a synchronous call from a handler on the pool's own thread would wait for itself: "
                "use the asynchronous one");
}

void Pool::State::begin(std::unique_ptr<real::PoolCall> call) {
  real::PoolCall& begun = *call;
  calls.emplace(begun.number, std::move(call));
  begun.begin(*client);
}

// Not from inside its coroutine.
void Pool::State::ended(std::uint64_t number) {
  loop.post([this, number] { complete(number, Error(ErrorCode::internal_error)); });
}

void Pool::State::complete(std::uint64_t number, const Error& error) {
  const auto found = calls.find(number);
  if (found == calls.end()) return;
  const std::unique_ptr<real::PoolCall> call = std::move(found->second);
  calls.erase(found);
  call->complete(error);
}

void Pool::State::keep_alive() {
  if (renewal && renewal.done()) renewal = {};
  const Time now = loop.now();
  if (!renewal && client->next_keep_alive() <= now) {
    renewal = client->keep_alive(client->control_deadline());
    renewal.start();
  }
  alarm->set(now + real::keep_alive_check);
}

void Pool::State::shut_down() {
  alarm->cancel();
  renewal = {};
  while (!calls.empty()) {
    complete(calls.begin()->first, Error(ErrorCode::cancelled, "the pool was closed"));
  }
  const auto say_farewell = [](State& state) -> Task<Done> {
    static_cast<void>(co_await state.client->close(state.loop.now() + real::close_deadline));
    state.loop.stop();
    co_return Done{};
  };
  closing = say_farewell(*this);
  closing.start();
}

}  // namespace larder
