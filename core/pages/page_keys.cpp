#include "core/pages/page_keys.h"

#include <array>
#include <utility>

#include "core/base/assert.h"
#include "core/base/hash.h"
#include "core/base/percent.h"
#include "core/base/printable.h"
#include "core/protocol/limits.h"

namespace larder {
namespace {

constexpr std::size_t hash_digits = 32;

// A name as one part of a path: nothing in it is a '/'.
std::string one_part(std::string_view name) {
  std::string part;
  for (const char c : percent_escaped(name)) {
    if (c == '/') {
      part += "%2F";
    } else {
      part += c;
    }
  }
  return part;
}

std::string rank_text(std::string_view kind, std::optional<std::uint32_t> rank,
                      std::uint32_t size) {
  return std::string(kind) + (rank ? std::to_string(*rank) : "*") + "." + std::to_string(size);
}

void append_hexadecimal(std::uint64_t value, std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) text += digits[value >> shift & 15];
}

void append_little_endian(std::uint64_t value, std::size_t bytes, std::string& text) {
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255);
}

Status check_rank(std::string_view kind, std::uint32_t rank, std::uint32_t size) {
  if (rank < size) return {};
  return failed(ErrorCode::invalid_params, std::string(kind) + " rank " + std::to_string(rank) +
                                               " of " + std::to_string(size) +
                                               ": ranks count from 0 and are below the size");
}

}  // namespace

PageHash page_hash(PageHash before, std::span<const std::uint32_t> tokens) {
  std::string bytes;
  bytes.reserve(16 + tokens.size() * 4);
  append_little_endian(before.low, 8, bytes);
  append_little_endian(before.high, 8, bytes);
  for (const std::uint32_t token : tokens) append_little_endian(token, 4, bytes);
  const Fingerprint hash = fingerprint({}, bytes);
  return {.high = hash.high, .low = hash.low};
}

Result<PageKeys> PageKeys::make(const PageSpace& space) {
  const std::array needed{std::pair("model", &space.model), std::pair("revision", &space.revision),
                          std::pair("KV type", &space.kv_type), std::pair("layout", &space.layout)};
  for (const auto& [what, name] : needed) {
    if (name->empty()) {
      return failed(ErrorCode::invalid_params, "pages without a " + std::string(what));
    }
  }
  if (space.page_tokens == 0) return failed(ErrorCode::invalid_params, "pages of no tokens");
  LARDER_CHECK(check_rank("TP", space.tp_rank.value_or(0), space.tp_size));
  LARDER_CHECK(check_rank("PP", space.pp_rank, space.pp_size));
  std::string prefix = "kv/";
  for (const std::string& part :
       {one_part(space.tenant), one_part(space.model), one_part(space.revision),
        one_part(space.kv_type), std::to_string(space.page_tokens), one_part(space.layout),
        rank_text("tp", space.tp_rank, space.tp_size),
        rank_text("pp", space.pp_rank, space.pp_size)}) {
    prefix += part + "/";
  }
  PageKeys keys(std::move(prefix), space.keys_and_values);
  if (keys.key_bytes() > key_bytes_max) {
    return failed(ErrorCode::invalid_params,
                  "the names of model " + in_quotes(space.model) + " and its pages make keys of " +
                      std::to_string(keys.key_bytes()) + " bytes: at most " +
                      std::to_string(key_bytes_max));
  }
  return keys;
}

std::size_t PageKeys::key_bytes() const {
  return prefix_.size() + hash_digits + (keys_and_values_ ? 2 : 3);
}

void PageKeys::append_group(PageHash page, std::string& text) const {
  text += prefix_;
  append_hexadecimal(page.high, text);
  append_hexadecimal(page.low, text);
}

void PageKeys::append_key(PageHash page, std::size_t object, std::string& text) const {
  LARDER_ASSERT(object < objects());
  append_group(page, text);
  text += keys_and_values_ ? (object == 0 ? "/k" : "/v") : "/kv";
}

}  // namespace larder
