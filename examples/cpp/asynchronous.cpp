// Two pages are put at the same time, and read in one call by a coroutine.
#include <larder/pool.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <iostream>
#include <string>

namespace asio = boost::asio;

// Items, keys and slices live in the coroutine, and so until the call has ended.
asio::awaitable<bool> read_both(larder::Pool& pool) {
  std::string first(3, ' ');
  std::string second(3, ' ');
  const larder::Slice into[] = {std::as_writable_bytes(std::span(first)),
                                std::as_writable_bytes(std::span(second))};
  const larder::GetItem wanted[] = {{.key = "page 1", .into = {&into[0], 1}},
                                    {.key = "page 2", .into = {&into[1], 1}}};
  const auto results = co_await pool.async_get(wanted, asio::use_awaitable);
  for (const auto& result : results) {
    if (!result) std::cerr << result.error().message() << '\n';
  }
  std::cout << first << ' ' << second << '\n';
  co_return results[0] && results[1];
}

int main(int argc, char** argv) {
  auto pool = argc > 1 ? larder::Pool::open({.master = argv[1]}) : larder::Pool::embedded();
  if (!pool) {
    std::cerr << pool.error().message() << '\n';
    return 1;
  }
  const std::string one = "one";
  const std::string two = "two";
  const larder::ConstSlice values[] = {std::as_bytes(std::span(one)),
                                       std::as_bytes(std::span(two))};
  const larder::PutItem first{.key = "page 1", .value = {&values[0], 1}};
  const larder::PutItem second{.key = "page 2", .value = {&values[1], 1}};
  auto put_first = pool->async_put({&first, 1}, asio::use_future);
  auto put_second = pool->async_put({&second, 1}, asio::use_future);
  if (!put_first.get().front() || !put_second.get().front()) return 1;

  asio::io_context context;
  auto read = asio::co_spawn(context, read_both(*pool), asio::use_future);
  context.run();
  return read.get() ? 0 : 1;
}
