#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "real/rpc/loop.h"
#include "real/rpc/socket.h"

namespace larder::real {

struct HttpAnswer {
  unsigned status = 200;
  std::string content_type;
  std::string body;
};

// What there is to see. Called on the server's loop; must not take long, since the process does its
// work there too.
class HttpPages {
 public:
  // 404 for a path that is not there. `path` is without the query.
  virtual HttpAnswer page(std::string_view path) = 0;

 protected:
  ~HttpPages() = default;
};

struct HttpServerConfig {
  std::size_t connections_max = 64;  // for another one, the one that has waited longest is closed
  Duration request_deadline = std::chrono::seconds(10);  // also of the pause between two requests
};

// Serves GET and HEAD over connections that speak HTTP/1, by Boost.Beast. Every request gets an
// answer that says what is wrong with it, or the page; a header of more than 8 KiB, a body and what
// is no HTTP end the connection.
class HttpServer {
 public:
  HttpServer(Loop& loop, HttpServerConfig config, HttpPages& pages);
  ~HttpServer();  // closes all connections
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Takes a connection of which `first` was read already.
  void adopt(Socket socket, std::string_view first);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Whether a connection that begins so speaks HTTP.
bool begins_as_http(std::string_view first);

}  // namespace larder::real
