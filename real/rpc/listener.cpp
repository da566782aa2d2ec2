#include "real/rpc/listener.h"

#include <optional>
#include <string>

#include "real/rpc/asio.h"
#include "real/rpc/log.h"

namespace larder::real {

struct Listener::State : std::enable_shared_from_this<State> {
  State(Loop& loop, ListenerConfig c, Doors& doors)
      : context(loop.context()),
        config(std::move(c)),
        acceptor(context),
        pause(context),
        guests(std::in_place, loop, config.guests, doors) {}

  asio::io_context& context;
  ListenerConfig config;
  Tcp::acceptor acceptor;
  asio::steady_timer pause;
  std::optional<Guests> guests;  // none: the port is closed

  Status open();
  std::unexpected<Error> refused(const SystemError& error) const;
  void accept();
  void wait_and_accept(const SystemError& error);
};

std::unexpected<Error> Listener::State::refused(const SystemError& error) const {
  std::string detail = "cannot listen: " + error.message();
  if (error == asio::error::address_in_use) detail += "; --listen 127.0.0.1:0 takes a free port";
  return std::unexpected(
      Error(ErrorCode::rpc_fail, std::move(detail)).with_endpoint(to_string(config.endpoint)));
}

Status Listener::State::open() {
  SystemError error;
  Tcp::resolver resolver(context);
  const auto found = resolver.resolve(config.endpoint.host, std::to_string(config.endpoint.port),
                                      Tcp::resolver::passive, error);
  if (error || found.empty()) return refused(error);
  const Tcp::endpoint address = *found.begin();
  acceptor.open(address.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(address, error);
  if (!error) acceptor.listen(4096, error);
  if (error) return refused(error);
  config.endpoint.port = acceptor.local_endpoint().port();
  return {};
}

void Listener::State::accept() {
  acceptor.async_accept([self = shared_from_this()](SystemError error, Tcp::socket socket) {
    if (!self->guests) return;
    if (error) return self->wait_and_accept(error);
    self->guests->welcome(Socket(socket.release()));
    self->accept();
  });
}

// Out of descriptors, most likely. Whoever has said nothing yet makes way first; without such a one
// waiting lets some connection go.
void Listener::State::wait_and_accept(const SystemError& error) {
  log(LogLevel::warn, "rpc", "cannot accept a connection", {{"why", error.message()}});
  if (guests->give_up_oldest()) return accept();
  pause.expires_after(std::chrono::milliseconds(100));
  pause.async_wait([self = shared_from_this()](SystemError) {
    if (self->guests) self->accept();
  });
}

Listener::Listener(std::shared_ptr<State> state) : state_(std::move(state)) {}

Listener::~Listener() {
  state_->guests.reset();
  SystemError ignored;
  state_->acceptor.close(ignored);
  state_->pause.cancel();
}

Result<std::unique_ptr<Listener>> Listener::make(Loop& loop, ListenerConfig config, Doors& doors) {
  auto state = std::make_shared<State>(loop, std::move(config), doors);
  LARDER_CHECK(state->open());
  state->accept();
  return std::unique_ptr<Listener>(new Listener(std::move(state)));
}

Endpoint Listener::endpoint() const { return state_->config.endpoint; }
const Guests& Listener::guests() const { return *state_->guests; }

}  // namespace larder::real
