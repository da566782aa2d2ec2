#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/time.h"

namespace larder {

// What went wrong. Where Mooncake has the same error, the name and the number are Mooncake's, so
// that its callers understand ours; the names below -2000 are Larder's own.
enum class ErrorCode : std::int32_t {
  internal_error = -1,
  buffer_overflow = -10,  // the caller's buffer is full or too small; not the pool
  segment_not_found = -101,
  segment_already_exists = -102,
  client_not_found = -103,     // no such session
  no_available_handle = -200,  // the pool has no room
  invalid_version = -300,      // the peer speaks a protocol that we do not
  invalid_key = -400,
  write_fail = -500,
  invalid_params = -600,
  illegal_client = -601,  // the put belongs to another session
  invalid_write = -700,   // the put is not unfinished (any more)
  invalid_read = -701,
  invalid_replica = -702,
  replica_is_not_ready = -703,
  object_not_found = -704,
  object_already_exists = -705,
  object_has_lease = -706,
  lease_expired = -707,
  replica_not_found = -710,
  replica_is_gone = -712,
  transfer_fail = -800,
  checksum_mismatch = -801,
  rpc_fail = -900,
  rpc_timeout = -901,
  unavailable_in_current_status = -1010,
  not_supported = -1012,
  file_not_found = -1100,
  file_open_fail = -1101,
  file_read_fail = -1102,
  file_write_fail = -1103,

  put_in_flight = -2000,     // OBJECT_ALREADY_EXISTS, but the other put has not ended: not stored
  epoch_superseded = -2001,  // a newer master leads
  node_lost = -2002,         // this incarnation was given up and must retire everything
  busy = -2003,              // a bounded queue is full: try again later
  fill_refused = -2004,      // the node will never take this fill; `detail` says why
  cancelled = -2005,
  bad_file = -2006,  // a file's content is not what it must be; `detail` has the place
};

// The name as Mooncake's users know it, such as "OBJECT_NOT_FOUND".
std::string_view error_name(ErrorCode code);
// False for numbers that are none of ours (from a peer's message).
bool is_error_code(std::int32_t number);

// The facts that a person needs to act on an error. Unset ones are empty or zero.
struct ErrorFacts {
  std::string detail;  // a sentence with the numbers in it, printable, 4 KiB at most
  std::string key;
  std::string endpoint;
  Bytes size;
  Duration elapsed{0};
};

// A code, and facts where there are any. Two words wide; making one without facts allocates
// nothing.
class [[nodiscard]] Error {
 public:
  explicit Error(ErrorCode code) : code_(code) {}
  Error(ErrorCode code, std::string detail);
  Error(const Error& other);
  Error(Error&&) noexcept = default;
  Error& operator=(const Error& other);
  Error& operator=(Error&&) noexcept = default;
  ~Error() = default;

  ErrorCode code() const { return code_; }
  const ErrorFacts& facts() const;

  // Adds a fact; later ones replace earlier ones.
  Error with_key(std::string_view key) &&;
  Error with_size(Bytes size) &&;
  Error with_endpoint(std::string_view endpoint) &&;
  Error with_elapsed(Duration elapsed) &&;

  // One line with the name, the number and every fact.
  std::string message() const;

  friend bool operator==(const Error& a, const Error& b) { return a.code_ == b.code_; }

 private:
  ErrorFacts& own_facts();

  ErrorCode code_;
  std::unique_ptr<ErrorFacts> facts_;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

inline std::unexpected<Error> failed(ErrorCode code) { return std::unexpected(Error(code)); }
inline std::unexpected<Error> failed(ErrorCode code, std::string detail) {
  return std::unexpected(Error(code, std::move(detail)));
}

}  // namespace larder

#define LARDER_TRY_JOIN_(a, b) a##b
#define LARDER_TRY_JOIN(a, b) LARDER_TRY_JOIN_(a, b)
#define LARDER_TRY_IMPL(result, target, expression)               \
  auto result = (expression);                                     \
  if (!result) return std::unexpected(std::move(result).error()); \
  target = *std::move(result)

// LARDER_TRY(auto x, f()): x is f's value, or its error is returned from here.
#define LARDER_TRY(target, ...) \
  LARDER_TRY_IMPL(LARDER_TRY_JOIN(larder_try_, __LINE__), target, (__VA_ARGS__))
// LARDER_CHECK(f()): for a Status.
#define LARDER_CHECK(...)                                       \
  do {                                                          \
    if (auto larder_status = (__VA_ARGS__); !larder_status)     \
      return std::unexpected(std::move(larder_status).error()); \
  } while (false)
