#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/time.h"

namespace larder::workloads {

// Stands for one block of tokens *and* everything before it: equal ids mean equal prefixes up to
// the end of the block. Any 64-bit number.
struct BlockId {
  std::uint64_t value = 0;
  constexpr auto operator<=>(const BlockId&) const = default;
};

// Whose turn a request is: an agent of a session. Agent 0 is the session's own, the others are the
// sub-agents that it started, numbered in the order of the file.
struct Speaker {
  std::uint32_t session = 0;
  std::uint32_t agent = 0;
  constexpr auto operator<=>(const Speaker&) const = default;
};

// The largest number of tokens that a request may state; sums over a trace then fit into 64 bits.
inline constexpr std::uint64_t request_tokens_max = 0xffff'ffff;

// One request of a trace. `blocks` belongs to whoever handed the request out.
struct Request {
  Duration arrival{0};                 // since the start of the trace
  std::optional<Speaker> speaker;      // none where the trace does not tell
  std::optional<Duration> think_time;  // since the answer before it to the same speaker
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint32_t block_tokens = 0;   // of a full block; the last one may be partial
  std::span<const BlockId> blocks;  // of the input, from its start

  // The input tokens that the first `count` blocks hold.
  std::uint64_t tokens_of(std::size_t count) const {
    return std::min<std::uint64_t>(count * std::uint64_t{block_tokens}, input_tokens);
  }
};

}  // namespace larder::workloads
