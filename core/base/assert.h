#pragma once

#include <source_location>

namespace larder {

// Called with the text of a broken invariant. Must not return: it aborts, exits or throws.
using AssertionHandler = void (*)(const char* condition, const char* message,
                                  std::source_location where);

// Replaces the handler (the default prints to stderr and aborts) and returns the one before, so
// that a property test can turn a broken invariant into an exception and shrink it. Call it before
// any other thread uses Larder.
AssertionHandler set_assertion_handler(AssertionHandler handler) noexcept;

[[noreturn]] void assertion_failed(const char* condition, const char* message,
                                   std::source_location where = std::source_location::current());

}  // namespace larder

// An invariant of ours, checked in every build type. Bad input from outside is never an assertion:
// that is an Error.
#define LARDER_ASSERT(condition, ...)                         \
  do {                                                        \
    if (!(condition)) [[unlikely]]                            \
      ::larder::assertion_failed(#condition, "" __VA_ARGS__); \
  } while (false)
