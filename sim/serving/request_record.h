#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/kernel/instant.h"
#include "sim/serving/page_pool.h"
#include "workloads/request.h"

namespace larder::sim {

// What became of a request. Each that came in has exactly one.
enum class Outcome : std::uint8_t {
  completed,
  too_long,     // rejected: input and output are longer than the model's context
  too_large,    // rejected: its KV is more than the engine's GPUs hold
  queue_full,   // rejected: so many requests wait for its engine already
  engine_lost,  // failed: its engine was lost, or none was there
};
inline constexpr std::size_t outcomes = 5;
std::string_view outcome_name(Outcome outcome);
constexpr bool is_rejected(Outcome outcome) {
  return outcome == Outcome::too_long || outcome == Outcome::too_large ||
         outcome == Outcome::queue_full;
}

// One request, after its end. Instants that it did not reach are instant_never.
struct RequestRecord {
  std::uint64_t number = 0;  // place in the trace
  std::uint32_t engine = 0;  // none was asked if the outcome is too_long
  std::optional<workloads::Speaker> speaker;
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  Outcome outcome = Outcome::completed;

  Instant arrival = instant_never;
  Instant prefetch_end = instant_never;   // nothing more was waited for from the pool
  Instant prefill_begin = instant_never;  // of the first pass that computes some of it
  Instant first_token = instant_never;
  Instant end = instant_never;  // the last token; the first where decoding is elsewhere

  // Of its blocks, when it began to be computed: where they were, or why they had to be computed.
  std::uint32_t blocks = 0;
  std::uint32_t gpu_hits = 0;
  std::uint32_t host_hits = 0;
  std::uint32_t pool_hits = 0;  // that it fetched itself; what others fetched is on the host
  std::array<std::uint32_t, miss_reasons> misses{};
  std::uint64_t computed_tokens = 0;

  std::uint32_t hits() const { return gpu_hits + host_hits + pool_hits; }
  std::uint32_t computed_blocks() const { return blocks - hits(); }
  // Time to first token.
  std::optional<Duration> ttft() const {
    if (first_token == instant_never) return std::nullopt;
    return first_token - arrival;
  }
  bool operator==(const RequestRecord&) const = default;
};

}  // namespace larder::sim
