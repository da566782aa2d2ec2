#include "real/http/http_server.h"

#include <algorithm>
#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>
#include <set>

#include "real/rpc/asio.h"

namespace larder::real {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

constexpr std::uint32_t header_bytes_max = 8192;

HttpAnswer text(unsigned status, std::string sentence) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = sentence + "\n"};
}

}  // namespace

bool begins_as_http(std::string_view first) {
  constexpr std::array<std::string_view, 7> methods{"GET ",    "HEAD ",    "POST ", "PUT ",
                                                    "DELETE ", "OPTIONS ", "PATCH "};
  return std::ranges::any_of(methods,
                             [&](std::string_view method) { return first.starts_with(method); });
}

struct HttpServer::State {
  struct Connection;

  State(Loop& l, HttpServerConfig c, HttpPages& p) : loop(l), config(c), pages(p) {}

  Loop& loop;
  HttpServerConfig config;
  HttpPages& pages;
  bool closed = false;
  std::set<Connection*> connections;

  bool make_room();
};

struct HttpServer::State::Connection : std::enable_shared_from_this<Connection> {
  Connection(std::shared_ptr<State> s, Tcp::socket socket, std::string_view first)
      : state(std::move(s)), stream(std::move(socket)), buffer(std::size_t{2} * header_bytes_max) {
    state->connections.insert(this);
    const auto room = buffer.prepare(first.size());
    std::ranges::copy(first, static_cast<char*>(room.data()));
    buffer.commit(first.size());
  }
  ~Connection() { state->connections.erase(this); }

  std::shared_ptr<State> state;
  beast::tcp_stream stream;
  beast::flat_buffer buffer;
  std::optional<http::request_parser<http::empty_body>> parser;
  http::response<http::string_body> response;
  Time waits_since = time_never;  // for a request; never: it is being answered
  bool given_up = false;

  void read() {
    waits_since = state->loop.now();
    parser.emplace();
    parser->header_limit(header_bytes_max);
    stream.expires_after(state->config.request_deadline);
    http::async_read(stream, buffer, *parser,
                     [self = shared_from_this()](SystemError error, std::size_t) {
                       self->waits_since = time_never;
                       if (self->state->closed || self->given_up) return;
                       if (!error) return self->reply(self->answer());
                       if (error == http::error::end_of_stream || error == asio::error::eof ||
                           error == beast::error::timeout) {
                         return;
                       }
                       self->parser->get().keep_alive(false);
                       self->reply(text(400, "this is no request: " + error.message()));
                     });
  }

  void give_up() {
    given_up = true;
    state->connections.erase(this);
    stream.close();
  }

  HttpAnswer answer() {
    const auto& request = parser->get();
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      return text(405, "there is only GET and HEAD here");
    }
    const std::string_view target(request.target().data(), request.target().size());
    return state->pages.page(target.substr(0, target.find('?')));
  }

  void reply(HttpAnswer answer) {
    const auto& request = parser->get();
    response = {};
    response.version(request.version() == 10 ? 10 : 11);
    response.result(answer.status);
    response.set(http::field::content_type, answer.content_type);
    response.set(http::field::cache_control, "no-store");
    if (answer.status == 405) response.set(http::field::allow, "GET, HEAD");
    response.keep_alive(request.keep_alive() && answer.status != 400);
    const std::size_t length = answer.body.size();
    if (request.method() != http::verb::head) response.body() = std::move(answer.body);
    response.content_length(length);
    stream.expires_after(state->config.request_deadline);
    http::async_write(stream, response,
                      [self = shared_from_this()](SystemError error, std::size_t) {
                        if (error || self->state->closed) return;
                        if (self->response.keep_alive()) return self->read();
                        SystemError ignored;
                        self->stream.socket().shutdown(Tcp::socket::shutdown_send, ignored);
                      });
  }
};

// Whether there is room for one more, or somebody had to go for it.
bool HttpServer::State::make_room() {
  if (connections.size() < config.connections_max) return true;
  const auto longest = std::ranges::min_element(connections, {}, &Connection::waits_since);
  if (longest == connections.end() || (*longest)->waits_since == time_never) return false;
  (*longest)->give_up();
  return true;
}

HttpServer::HttpServer(Loop& loop, HttpServerConfig config, HttpPages& pages)
    : state_(std::make_shared<State>(loop, config, pages)) {}

HttpServer::~HttpServer() {
  state_->closed = true;
  for (State::Connection* connection : state_->connections) connection->stream.close();
}

void HttpServer::adopt(Socket socket, std::string_view first) {
  if (!state_->make_room()) return;
  std::make_shared<State::Connection>(state_, connected(state_->loop.context(), std::move(socket)),
                                      first)
      ->read();
}

}  // namespace larder::real
