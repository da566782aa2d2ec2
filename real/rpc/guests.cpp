#include "real/rpc/guests.h"

#include <array>
#include <boost/intrusive/list.hpp>
#include <string>

#include "real/rpc/asio.h"
#include "real/rpc/endpoint.h"
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

struct Guests::State {
  struct Guest;
  using Hook = boost::intrusive::list_base_hook<>;
  using All = boost::intrusive::list<Guest, boost::intrusive::base_hook<Hook>>;

  State(Loop& l, GuestsConfig c, Doors& d) : loop(l), config(c), doors(d) {}

  Loop& loop;
  GuestsConfig config;
  Doors& doors;
  std::uint64_t came_too_late = 0;
  std::uint64_t made_way = 0;
  All all;  // in the order in which they came; each keeps itself alive
};

// Its socket is open as long as it is one of `all`.
struct Guests::State::Guest : Hook, std::enable_shared_from_this<Guest> {
  Guest(std::shared_ptr<State> guests, Socket s)
      : state(std::move(guests)),
        socket(connected(state->loop.context(), std::move(s))),
        peer(peer_of(socket)),
        timer(state->loop.context()) {
    state->all.push_back(*this);
  }
  ~Guest() {
    if (is_here()) state->all.erase(state->all.iterator_to(*this));  // its loop is gone
  }

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
    timer.expires_after(state->config.deadline);
    timer.async_wait([self = shared_from_this()](SystemError error) {
      if (error || !self->is_here()) return;
      ++self->state->came_too_late;
      self->turn_away("it did not say in time what it wants");
    });
    asio::async_read(socket, asio::buffer(head),
                     [self = shared_from_this()](SystemError error, std::size_t) {
                       if (!self->is_here()) return;
                       // A port that was only tried, as health checks do, is worth no line.
                       if (error) return self->leave();
                       self->read_text();
                     });
  }

  bool is_here() const { return is_linked(); }

  void read_text() {
    const auto decoded = decode_hello(head);
    if (!decoded) return enter_other();
    hello = decoded->hello;
    hello.text.resize(decoded->text_length);
    asio::async_read(socket, asio::buffer(hello.text),
                     [self = shared_from_this()](SystemError error, std::size_t) {
                       if (!self->is_here()) return;
                       if (error) return self->turn_away("its handshake broke off");
                       self->reply();
                     });
  }

  void enter_other() {
    Socket taken(socket.release());
    leave();
    const std::string_view first(reinterpret_cast<const char*>(head.data()), head.size());
    if (!state->doors.enter_other(taken, first)) say("its first bytes are no handshake of ours");
  }

  void reply() {
    const Role role{hello.code};
    Hello out{.code = static_cast<std::uint8_t>(Welcome::accepted)};
    if (const Status version = check_version(hello.version, "the caller"); !version) {
      out.code = static_cast<std::uint8_t>(Welcome::version_refused);
      out.text = version.error().facts().detail;
    } else if (const Status admitted = state->doors.admits(role); !admitted) {
      const bool busy = admitted.error().code() == ErrorCode::busy;
      out.code = static_cast<std::uint8_t>(busy ? Welcome::busy : Welcome::role_refused);
      out.text = admitted.error().facts().detail;
    }
    const bool accepted = out.text.empty();
    if (!accepted) {
      log(LogLevel::warn, "rpc", "refused a caller",
          {{"caller", hello.text.substr(0, 64)}, {"peer", peer}, {"why", out.text}});
    }
    answer = encode(out);
    asio::async_write(socket, asio::buffer(answer),
                      [self = shared_from_this(), role, accepted](SystemError error, std::size_t) {
                        if (!self->is_here()) return;
                        if (error || !accepted) return self->leave();
                        Socket taken(self->socket.release());
                        self->leave();
                        self->state->doors.enter(role, std::move(taken), std::move(self->hello));
                      });
  }

  void turn_away(std::string_view why) {
    say(why);
    leave();
  }

  void say(std::string_view why) const {
    log(LogLevel::warn, "rpc", "closed a connection", {{"peer", peer}, {"why", std::string(why)}});
  }

  void leave() {
    const auto self = shared_from_this();
    state->all.erase(state->all.iterator_to(*this));
    SystemError ignored;
    socket.close(ignored);
    timer.cancel();
  }
};

Guests::Guests(Loop& loop, GuestsConfig config, Doors& doors)
    : state_(std::make_shared<State>(loop, config, doors)) {}

Guests::~Guests() {
  while (!state_->all.empty()) state_->all.front().leave();
}

void Guests::welcome(Socket socket) {
  if (state_->all.size() >= state_->config.max) give_up_oldest();
  std::make_shared<State::Guest>(state_, std::move(socket))->start();
}

bool Guests::give_up_oldest() {
  if (state_->all.empty()) return false;
  ++state_->made_way;
  state_->all.front().turn_away("it has not said yet what it wants, and others came");
  return true;
}

std::size_t Guests::size() const { return state_->all.size(); }
std::uint64_t Guests::came_too_late() const { return state_->came_too_late; }
std::uint64_t Guests::made_way() const { return state_->made_way; }

}  // namespace larder::real
