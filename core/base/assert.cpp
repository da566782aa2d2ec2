#include "core/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace larder {
namespace {

void print_and_abort(const char* condition, const char* message, std::source_location where) {
  std::fprintf(stderr, "larder: broken invariant at %s:%u in %s: %s%s%s\n", where.file_name(),
               static_cast<unsigned>(where.line()), where.function_name(), condition,
               *message != '\0' ? ": " : "", message);
  std::fflush(stderr);
  std::abort();
}

AssertionHandler handler = print_and_abort;

}  // namespace

AssertionHandler set_assertion_handler(AssertionHandler next) noexcept {
  AssertionHandler previous = handler;
  handler = next;
  return previous;
}

void assertion_failed(const char* condition, const char* message, std::source_location where) {
  handler(condition, message, where);
  print_and_abort(condition, message, where);
  std::abort();
}

}  // namespace larder
