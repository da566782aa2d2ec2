#pragma once

// Boost.Asio, compiled once in asio.cpp. Only for sources: no header of ours that others include
// includes this one.

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "real/rpc/socket.h"

namespace larder::real {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using SystemError = boost::system::error_code;

// The same connected socket, in the hands of Asio.
Tcp::socket connected(asio::io_context& context, Socket socket);

}  // namespace larder::real
