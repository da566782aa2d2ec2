#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "workloads/trace.h"

namespace larder::workloads {

// What sessions of one kind look like. All lengths and counts are means of an exponential
// distribution (cut at eight times the mean, and at least 1), but for the system prompt's, which is
// exact, since it is the same text each time.
struct SessionShape {
  std::uint32_t weight = 0;  // of all new sessions, weight / sum of the weights are this kind
  std::uint32_t system_prompts = 1;  // how many different ones; a session begins with one of them
  std::uint64_t system_tokens = 0;
  std::uint64_t requests = 1;      // of a session
  std::uint64_t first_tokens = 1;  // of the first input, after the system prompt
  std::uint64_t added_tokens = 1;  // that each later request brings
  std::uint64_t output_tokens = 1;
  Duration think_time{0};  // from an answer to the session's next request
  // Whether an input holds the earlier inputs and answers of its session; if not, only the system
  // prompt and the first tokens, as with several questions about one document.
  bool accumulates = true;
};

enum class SessionKind : std::uint8_t { chat, agent, document };
inline constexpr std::array session_kinds{SessionKind::chat, SessionKind::agent,
                                          SessionKind::document};
std::string_view session_kind_name(SessionKind kind);

struct GeneratorOptions {
  std::uint64_t seed = 1;
  std::uint64_t requests = 1'000;
  double requests_per_second = 2;  // once the first sessions are under way
  std::uint32_t block_tokens = 512;
  std::uint64_t context_tokens_max = 131'072;   // a session ends before an input would be longer
  std::uint64_t output_tokens_per_second = 50;  // how long an answer takes

  SessionShape chat{.weight = 6,
                    .system_prompts = 1,
                    .system_tokens = 700,
                    .requests = 5,
                    .first_tokens = 1'200,
                    .added_tokens = 300,
                    .output_tokens = 350,
                    .think_time = std::chrono::seconds(40)};
  SessionShape agent{.weight = 1,
                     .system_prompts = 3,
                     .system_tokens = 6'000,
                     .requests = 15,
                     .first_tokens = 2'000,
                     .added_tokens = 1'200,
                     .output_tokens = 250,
                     .think_time = std::chrono::seconds(4)};
  SessionShape document{.weight = 3,
                        .system_prompts = 1,
                        .system_tokens = 0,
                        .requests = 2,
                        .first_tokens = 12'000,
                        .added_tokens = 80,
                        .output_tokens = 400,
                        .think_time = std::chrono::seconds(60),
                        .accumulates = false};

  SessionShape& shape(SessionKind kind);
  const SessionShape& shape(SessionKind kind) const;
};

// A made trace of `requests` requests: sessions begin at random instants (a Poisson process) and
// send one request after the other. It is a true prefix tree, with ceil(input / block) ids per
// request that are numbered 0, 1, 2 ... by first use, as in the published mooncake traces; arrivals
// are whole milliseconds. The same options give the same trace on every machine: only whole-number
// arithmetic decides, but for one division for the rate. Memory is that of the sessions under way.
// Options that no trace can have are an error.
Result<std::unique_ptr<TraceReader>> generate_trace(const GeneratorOptions& options);

}  // namespace larder::workloads
