#include "real/rpc/dial.h"

#include <boost/asio/connect.hpp>

#include "real/rpc/asio.h"

namespace larder::real {

struct Dial::State : std::enable_shared_from_this<State> {
  State(Loop& loop, DialTarget t, std::move_only_function<void(Result<Socket>)> d)
      : target(std::move(t)),
        done(std::move(d)),
        resolver(loop.context()),
        socket(loop.context()),
        alarm(loop, [this] { fail(ErrorCode::rpc_fail, "no connection in time"); }) {}

  DialTarget target;
  std::move_only_function<void(Result<Socket>)> done;  // null once it has been called
  Tcp::resolver resolver;
  Tcp::socket socket;
  Alarm alarm;
  std::string hello;
  std::array<std::byte, hello_size> head{};
  HelloHead welcome;

  void start() {
    SystemError error;
    const asio::ip::address address = asio::ip::make_address(target.endpoint.host, error);
    if (!error) return connect(Tcp::endpoint(address, target.endpoint.port));
    resolver.async_resolve(
        target.endpoint.host, std::to_string(target.endpoint.port),
        [self = shared_from_this()](SystemError failure, const Tcp::resolver::results_type& found) {
          if (!self->done) return;
          if (failure) return self->fail(ErrorCode::rpc_fail, "unknown host: " + failure.message());
          asio::async_connect(self->socket, found,
                              [self](SystemError e, const Tcp::endpoint&) { self->connected(e); });
        });
  }

  void connect(const Tcp::endpoint& address) {
    socket.async_connect(address,
                         [self = shared_from_this()](SystemError e) { self->connected(e); });
  }

  void connected(SystemError error) {
    if (!done) return;
    if (error) return fail(ErrorCode::rpc_fail, "cannot connect: " + error.message());
    socket.set_option(Tcp::no_delay(true), error);
    hello = encode(Hello{.code = static_cast<std::uint8_t>(target.role), .text = target.who});
    asio::async_write(socket, asio::buffer(hello),
                      [self = shared_from_this()](SystemError e, std::size_t) {
                        if (self->done && e) self->broken(e);
                      });
    asio::async_read(socket, asio::buffer(head),
                     [self = shared_from_this()](SystemError e, std::size_t) {
                       if (!self->done) return;
                       if (e) return self->broken(e);
                       self->read_text();
                     });
  }

  void read_text() {
    const auto decoded = decode_hello(head);
    if (!decoded) return fail(ErrorCode::rpc_fail, "what answers there is no Larder process");
    welcome = *decoded;
    welcome.hello.text.resize(welcome.text_length);
    asio::async_read(socket, asio::buffer(welcome.hello.text),
                     [self = shared_from_this()](SystemError e, std::size_t) {
                       if (!self->done) return;
                       if (e) return self->broken(e);
                       self->judge();
                     });
  }

  void judge() {
    if (const Status version = check_version(welcome.hello.version, "the other side"); !version) {
      return fail(ErrorCode::invalid_version, version.error().facts().detail);
    }
    switch (Welcome{welcome.hello.code}) {
      case Welcome::accepted:
        return finish(Socket(socket.release()));
      case Welcome::version_refused:
        return fail(ErrorCode::invalid_version, "refused: " + welcome.hello.text);
      case Welcome::role_refused:
      case Welcome::busy:
        break;
    }
    fail(ErrorCode::rpc_fail, "refused: " + welcome.hello.text);
  }

  void broken(const SystemError& error) {
    fail(ErrorCode::rpc_fail, "the handshake broke off: " + error.message());
  }

  void fail(ErrorCode code, std::string detail) {
    finish(
        std::unexpected(Error(code, std::move(detail)).with_endpoint(to_string(target.endpoint))));
  }

  void finish(Result<Socket> result) {
    const auto self = shared_from_this();
    auto call = std::move(done);
    cancel();
    call(std::move(result));
  }

  void cancel() {
    done = nullptr;
    alarm.cancel();
    resolver.cancel();
    SystemError ignored;
    socket.close(ignored);
  }
};

Dial::Dial(Loop& loop, DialTarget target, Time deadline,
           std::move_only_function<void(Result<Socket>)> done)
    : state_(std::make_shared<State>(loop, std::move(target), std::move(done))) {
  state_->alarm.set(deadline);
  state_->start();
}

Dial::~Dial() { state_->cancel(); }

}  // namespace larder::real
