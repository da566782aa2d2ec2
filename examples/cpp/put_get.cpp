// Stores a value and reads it back: in a pool inside this process, or in the one whose master's
// address is given.
#include <larder/pool.h>

#include <iostream>
#include <string>

int fail(const larder::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

int main(int argc, char** argv) {
  auto pool = argc > 1 ? larder::Pool::open({.master = argv[1]}) : larder::Pool::embedded();
  if (!pool) return fail(pool.error());

  const std::string page = "the keys and values of 512 tokens";
  const auto stored = pool->put("layer 0/page 1", std::as_bytes(std::span(page)));
  if (!stored) return fail(stored.error());

  const auto read = pool->get("layer 0/page 1");
  if (!read) return fail(read.error());
  std::cout << "read " << read->size() << " bytes back\n";

  const auto missing = pool->get("layer 0/page 2");
  if (missing || missing.error().code() != larder::ErrorCode::object_not_found) return 1;
  std::cout << missing.error().message() << '\n';
}
