#include "real/rpc/listener.h"

#include <array>
#include <string>

#include "real/rpc/asio.h"
#include "real/rpc/log.h"

namespace larder::real {
namespace {

std::string peer_of(const Tcp::socket& socket) {
  SystemError error;
  const Tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return "a peer that is gone";
  return to_string(Endpoint{.host = peer.address().to_string(), .port = peer.port()});
}

}  // namespace

struct Listener::State : std::enable_shared_from_this<State> {
  struct Guest;

  State(Loop& l, ListenerConfig c, Doors& d)
      : loop(l), config(std::move(c)), doors(d), acceptor(l.context()), pause(l.context()) {}

  Loop& loop;
  ListenerConfig config;
  Doors& doors;
  Tcp::acceptor acceptor;
  asio::steady_timer pause;
  std::size_t guests = 0;
  RateLimitedLog log;
  bool closed = false;

  Status open();
  std::unexpected<Error> refused(const SystemError& error) const;
  void accept();
  void welcome(Tcp::socket socket);
};

// A connection that has not said yet what it wants.
struct Listener::State::Guest : std::enable_shared_from_this<Guest> {
  Guest(std::shared_ptr<State> listener, Tcp::socket s)
      : state(std::move(listener)),
        socket(std::move(s)),
        peer(peer_of(socket)),
        timer(state->loop.context()) {
    ++state->guests;
  }
  ~Guest() { --state->guests; }

  std::shared_ptr<State> state;
  Tcp::socket socket;
  std::string peer;
  asio::steady_timer timer;
  std::array<std::byte, hello_size> head{};
  Hello hello;
  std::string answer;

  void start() {
    SystemError ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    timer.expires_after(state->config.handshake_deadline);
    timer.async_wait([self = shared_from_this()](SystemError error) {
      if (!error) self->turn_away("it did not say in time what it wants");
    });
    asio::async_read(socket, asio::buffer(head),
                     [self = shared_from_this()](SystemError error, std::size_t) {
                       if (!error) return self->read_text();
                       // A port that was only tried, as health checks do, is worth no line.
                       self->timer.cancel();
                     });
  }

  void read_text() {
    const auto decoded = decode_hello(head);
    if (!decoded) return turn_away("its first bytes are no handshake of ours");
    hello = decoded->hello;
    hello.text.resize(decoded->text_length);
    asio::async_read(socket, asio::buffer(hello.text),
                     [self = shared_from_this()](SystemError error, std::size_t) {
                       if (error) return self->turn_away("its handshake broke off");
                       self->reply();
                     });
  }

  void reply() {
    const Role role{hello.code};
    Hello out{.code = static_cast<std::uint8_t>(Welcome::accepted)};
    if (const Status version = check_version(hello.version, "the caller"); !version) {
      out.code = static_cast<std::uint8_t>(Welcome::version_refused);
      out.text = version.error().facts().detail;
    } else if ((role != Role::control && role != Role::data) || !state->doors.serves(role)) {
      out.code = static_cast<std::uint8_t>(Welcome::role_refused);
      out.text = role == Role::data ? "no node listens here" : "no master listens here";
    }
    const bool accepted = out.text.empty();
    if (!accepted) {
      state->log.warn(state->loop.now(),
                      "refused " + hello.text.substr(0, 64) + " at " + peer + ": " + out.text);
    }
    answer = encode(out);
    asio::async_write(socket, asio::buffer(answer),
                      [self = shared_from_this(), role, accepted](SystemError error, std::size_t) {
                        self->timer.cancel();
                        if (error || !accepted || self->state->closed) return;
                        self->state->doors.enter(role, Socket(self->socket.release()),
                                                 std::move(self->hello));
                      });
  }

  void turn_away(std::string_view why) {
    if (!socket.is_open()) return;
    state->log.warn(state->loop.now(), "closed a connection of " + peer + ": " + std::string(why));
    SystemError ignored;
    socket.close(ignored);
    timer.cancel();
  }
};

std::unexpected<Error> Listener::State::refused(const SystemError& error) const {
  std::string detail = "cannot listen: " + error.message();
  if (error == asio::error::address_in_use) detail += "; --listen 127.0.0.1:0 takes a free port";
  return std::unexpected(
      Error(ErrorCode::rpc_fail, std::move(detail)).with_endpoint(to_string(config.endpoint)));
}

Status Listener::State::open() {
  SystemError error;
  Tcp::resolver resolver(loop.context());
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
    if (self->closed) return;
    if (!error) {
      self->welcome(std::move(socket));
      return self->accept();
    }
    // Out of descriptors, most likely: waiting lets some connection go.
    self->log.warn(self->loop.now(), "cannot accept a connection: " + error.message());
    self->pause.expires_after(std::chrono::milliseconds(100));
    self->pause.async_wait([self](SystemError) {
      if (!self->closed) self->accept();
    });
  });
}

void Listener::State::welcome(Tcp::socket socket) {
  if (guests >= config.handshakes_max) {
    return log.warn(loop.now(), "closed a connection of " + peer_of(socket) +
                                    ": too many have not said yet what they want");
  }
  std::make_shared<Guest>(shared_from_this(), std::move(socket))->start();
}

Listener::Listener(std::shared_ptr<State> state) : state_(std::move(state)) {}

Listener::~Listener() {
  state_->closed = true;
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

}  // namespace larder::real
