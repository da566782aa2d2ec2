#include "core/base/error.h"

#include <algorithm>
#include <array>

#include "core/base/percent.h"
#include "core/base/printable.h"

namespace larder {
namespace {

constexpr std::size_t detail_bytes_max = 4096;  // as a message carries it
constexpr std::size_t endpoint_shown_max = 300;

struct Name {
  ErrorCode code;
  std::string_view text;
};

constexpr std::array names{
    Name{ErrorCode::internal_error, "INTERNAL_ERROR"},
    Name{ErrorCode::buffer_overflow, "BUFFER_OVERFLOW"},
    Name{ErrorCode::segment_not_found, "SEGMENT_NOT_FOUND"},
    Name{ErrorCode::segment_already_exists, "SEGMENT_ALREADY_EXISTS"},
    Name{ErrorCode::client_not_found, "CLIENT_NOT_FOUND"},
    Name{ErrorCode::no_available_handle, "NO_AVAILABLE_HANDLE"},
    Name{ErrorCode::invalid_version, "INVALID_VERSION"},
    Name{ErrorCode::invalid_key, "INVALID_KEY"},
    Name{ErrorCode::write_fail, "WRITE_FAIL"},
    Name{ErrorCode::invalid_params, "INVALID_PARAMS"},
    Name{ErrorCode::illegal_client, "ILLEGAL_CLIENT"},
    Name{ErrorCode::invalid_write, "INVALID_WRITE"},
    Name{ErrorCode::invalid_read, "INVALID_READ"},
    Name{ErrorCode::invalid_replica, "INVALID_REPLICA"},
    Name{ErrorCode::replica_is_not_ready, "REPLICA_IS_NOT_READY"},
    Name{ErrorCode::object_not_found, "OBJECT_NOT_FOUND"},
    Name{ErrorCode::object_already_exists, "OBJECT_ALREADY_EXISTS"},
    Name{ErrorCode::object_has_lease, "OBJECT_HAS_LEASE"},
    Name{ErrorCode::lease_expired, "LEASE_EXPIRED"},
    Name{ErrorCode::replica_not_found, "REPLICA_NOT_FOUND"},
    Name{ErrorCode::replica_is_gone, "REPLICA_IS_GONE"},
    Name{ErrorCode::transfer_fail, "TRANSFER_FAIL"},
    Name{ErrorCode::checksum_mismatch, "CHECKSUM_MISMATCH"},
    Name{ErrorCode::rpc_fail, "RPC_FAIL"},
    Name{ErrorCode::rpc_timeout, "RPC_TIMEOUT"},
    Name{ErrorCode::unavailable_in_current_status, "UNAVAILABLE_IN_CURRENT_STATUS"},
    Name{ErrorCode::not_supported, "NOT_SUPPORTED"},
    Name{ErrorCode::file_not_found, "FILE_NOT_FOUND"},
    Name{ErrorCode::file_open_fail, "FILE_OPEN_FAIL"},
    Name{ErrorCode::file_read_fail, "FILE_READ_FAIL"},
    Name{ErrorCode::file_write_fail, "FILE_WRITE_FAIL"},
    Name{ErrorCode::put_in_flight, "PUT_IN_FLIGHT"},
    Name{ErrorCode::epoch_superseded, "EPOCH_SUPERSEDED"},
    Name{ErrorCode::node_lost, "NODE_LOST"},
    Name{ErrorCode::busy, "BUSY"},
    Name{ErrorCode::fill_refused, "FILL_REFUSED"},
    Name{ErrorCode::cancelled, "CANCELLED"},
    Name{ErrorCode::bad_file, "BAD_FILE"},
};

const ErrorFacts no_facts;

}  // namespace

std::string_view error_name(ErrorCode code) {
  for (const Name& name : names) {
    if (name.code == code) return name.text;
  }
  return "UNKNOWN_ERROR";
}

bool is_error_code(std::int32_t number) {
  for (const Name& name : names) {
    if (static_cast<std::int32_t>(name.code) == number) return true;
  }
  return false;
}

Error::Error(ErrorCode code, std::string detail) : code_(code) {
  const bool plain = std::ranges::all_of(detail, [](char c) { return c >= ' ' && c <= '~'; });
  own_facts().detail = plain && detail.size() <= detail_bytes_max
                           ? std::move(detail)
                           : printable(detail, detail_bytes_max - 3);
}

Error::Error(const Error& other)
    : code_(other.code_),
      facts_(other.facts_ ? std::make_unique<ErrorFacts>(*other.facts_) : nullptr) {}

Error& Error::operator=(const Error& other) {
  if (this != &other) *this = Error(other);
  return *this;
}

const ErrorFacts& Error::facts() const { return facts_ ? *facts_ : no_facts; }

ErrorFacts& Error::own_facts() {
  if (!facts_) facts_ = std::make_unique<ErrorFacts>();
  return *facts_;
}

Error Error::with_key(std::string_view key) && {
  own_facts().key = key;
  return std::move(*this);
}

Error Error::with_size(Bytes size) && {
  own_facts().size = size;
  return std::move(*this);
}

Error Error::with_endpoint(std::string_view endpoint) && {
  own_facts().endpoint = endpoint;
  return std::move(*this);
}

Error Error::with_elapsed(Duration elapsed) && {
  own_facts().elapsed = elapsed;
  return std::move(*this);
}

std::string Error::message() const {
  std::string text(error_name(code_));
  text += " (" + std::to_string(static_cast<std::int32_t>(code_)) + ")";
  const ErrorFacts& known = facts();
  if (!known.detail.empty()) text += ": " + known.detail;
  if (!known.key.empty()) text += "; key '" + percent_escaped(known.key) + "'";
  if (known.size.value != 0) text += "; " + std::to_string(known.size.value) + " bytes";
  if (!known.endpoint.empty()) text += "; at " + printable(known.endpoint, endpoint_shown_max);
  if (known.elapsed.count() != 0) {
    text += "; after " + std::to_string(known.elapsed.count() / 1'000'000) + " ms";
  }
  return text;
}

}  // namespace larder
