#include "real/client/pool_client.h"

#include <unistd.h>

#include "real/rpc/client_link.h"
#include "real/system/machine.h"
#include "real/transport/tcp_transport.h"

namespace larder::real {
namespace {

constexpr Duration close_deadline = std::chrono::milliseconds(200);
constexpr Duration keep_alive_check = std::chrono::milliseconds(250);

ClientConfig client_config(const PoolClientConfig& config) {
  Random random = system_random();
  return {.session = draw_id<SessionId>(random),
          .tenant = config.tenant,
          .name = config.name,
          .host = machine_name(),
          .seed = random.next()};
}

PoolClientConfig named(PoolClientConfig config) {
  if (config.name.empty()) config.name = "client " + std::to_string(::getpid());
  return config;
}

}  // namespace

struct PoolClient::State {
  explicit State(PoolClientConfig given)
      : config(named(std::move(given))),
        link(loop, {.master = config.master, .who = config.name}),
        transport(loop, {.who = config.name}),
        client({.clock = loop.clock(), .timers = loop, .master = link, .transport = transport},
               client_config(config)),
        alarm(loop, [this] { keep_alive(); }) {
    alarm.set(loop.now() + keep_alive_check);
  }

  void keep_alive() {
    if (renewal && renewal.done()) renewal = {};
    const Time now = loop.now();
    if (!renewal && client.next_keep_alive() <= now) {
      renewal = client.keep_alive(client.control_deadline());
      renewal.start();
    }
    alarm.set(now + keep_alive_check);
  }

  PoolClientConfig config;
  Loop loop;
  ClientLink link;
  TcpTransport transport;
  Client client;
  Task<Status> renewal;
  Alarm alarm;
};

PoolClient::PoolClient(PoolClientConfig config)
    : state_(std::make_unique<State>(std::move(config))) {}

PoolClient::~PoolClient() {
  state_->alarm.cancel();
  state_->renewal = {};
  Task<Status> close = state_->client.close(state_->loop.now() + close_deadline);
  close.start();
  serve_until([&] { return close.done(); });
}

Client& PoolClient::client() const { return state_->client; }
const Clock& PoolClient::clock() const { return state_->loop.clock(); }

void PoolClient::serve_until(const std::function<bool()>& done) {
  state_->loop.run_until(done, time_never);
}

}  // namespace larder::real
