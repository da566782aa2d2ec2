#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/printable.h"
#include "sim/cli/commands.h"
#include "sim/cli/split.h"
#include "sim/cli/trace_arguments.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "workloads/generate.h"
#include "workloads/mooncake.h"
#include "workloads/output_file.h"
#include "workloads/statistics.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;
using terminal::add_number;
using terminal::as_percent;
using terminal::parse_number;
using terminal::print;
using terminal::with_thousands;
using namespace workloads;

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// ---- stats

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json lengths_json(const std::optional<LengthSummary>& lengths) {
  if (!lengths) return nullptr;
  return {{"p50", lengths->p50}, {"p90", lengths->p90}, {"max", lengths->max}};
}

std::uint64_t used_once(const TraceStatistics& sum) {
  return sum.reuse.empty() ? 0 : sum.reuse.front().blocks;
}

ordered_json to_json(const TraceStatistics& sum) {
  ordered_json reuse = ordered_json::array();
  for (const ReuseBucket& bucket : sum.reuse) {
    reuse.push_back(
        {{"uses_min", bucket.uses_min}, {"uses_max", bucket.uses_max}, {"blocks", bucket.blocks}});
  }
  const ordered_json infinite_pool{
      {"block_hits", sum.block_hits},
      {"block_hit_ratio", or_null(ratio(sum.block_hits, sum.block_accesses))},
      {"leading_block_hits", sum.leading_block_hits},
      {"leading_block_hit_ratio", or_null(ratio(sum.leading_block_hits, sum.block_accesses))},
      {"leading_token_hits", sum.leading_token_hits},
      {"leading_token_hit_ratio", or_null(ratio(sum.leading_token_hits, sum.input_tokens))}};
  return {{"requests", sum.requests},
          {"sessions", sum.sessions},
          {"agents", sum.agents},
          {"first_arrival_s", in_seconds(sum.first_arrival)},
          {"last_arrival_s", in_seconds(sum.last_arrival)},
          {"distinct_timestamps", sum.distinct_timestamps},
          {"input_tokens", sum.input_tokens},
          {"output_tokens", sum.output_tokens},
          {"block_accesses", sum.block_accesses},
          {"unique_blocks", sum.unique_blocks},
          {"trie_violations", sum.trie_violations},
          {"infinite_pool", infinite_pool},
          {"used_once_ratio", or_null(ratio(used_once(sum), sum.unique_blocks))},
          {"reuse", reuse},
          {"input_length", lengths_json(sum.input_lengths)},
          {"output_length", lengths_json(sum.output_lengths)},
          {"blocks_per_request", lengths_json(sum.blocks_per_request)}};
}

std::string line(std::string_view name, std::string_view value, std::string_view note = "") {
  return fmt::format("  {:<28}{:>16}{}{}\n", name, value, note.empty() ? "" : "   ", note);
}

std::string line(std::string_view name, std::uint64_t value, std::string_view note = "") {
  return line(name, with_thousands(value), note);
}

std::string lengths_text(std::string_view name, const std::optional<LengthSummary>& lengths) {
  if (!lengths) return fmt::format("  {:<28}{:>12}\n", name, "no data");
  return fmt::format("  {:<28}{:>12}{:>12}{:>12}\n", name, with_thousands(lengths->p50),
                     with_thousands(lengths->p90), with_thousands(lengths->max));
}

std::string to_text(const TraceStatistics& sum) {
  std::string text = "Trace\n";
  text += line("requests", sum.requests);
  if (sum.sessions > 0) {
    text += line("sessions", sum.sessions);
    text += line("agents", sum.agents);
  }
  text += line("first arrival", fmt::format("{:.3f} s", in_seconds(sum.first_arrival)));
  text += line("last arrival", fmt::format("{:.3f} s", in_seconds(sum.last_arrival)));
  text += line("distinct timestamps", sum.distinct_timestamps);
  text += line("input tokens", sum.input_tokens);
  text += line("output tokens", sum.output_tokens);
  text += line("block accesses", sum.block_accesses);
  text += line("unique blocks", sum.unique_blocks);
  text += line("prefix tree violations", sum.trie_violations);
  text += "\nIn a pool without limits\n";
  text += line("block hits", sum.block_hits, as_percent(ratio(sum.block_hits, sum.block_accesses)));
  text += line("leading block hits", sum.leading_block_hits,
               as_percent(ratio(sum.leading_block_hits, sum.block_accesses)));
  text += line("leading token hits", sum.leading_token_hits,
               as_percent(ratio(sum.leading_token_hits, sum.input_tokens)));
  text += "\nBlocks by how often they are used\n";
  for (const ReuseBucket& bucket : sum.reuse) {
    if (bucket.blocks == 0) continue;
    const std::string uses =
        bucket.uses_min == bucket.uses_max
            ? with_thousands(bucket.uses_min)
            : with_thousands(bucket.uses_min) + " to " + with_thousands(bucket.uses_max);
    text += line(uses, bucket.blocks, as_percent(ratio(bucket.blocks, sum.unique_blocks)));
  }
  text += fmt::format("\n  {:<28}{:>12}{:>12}{:>12}\n", "Lengths", "p50", "p90", "max");
  text += lengths_text("input tokens", sum.input_lengths);
  text += lengths_text("output tokens", sum.output_lengths);
  text += lengths_text("blocks of a request", sum.blocks_per_request);
  return text;
}

struct StatsArguments {
  TraceArguments trace;
  bool json = false;
};

Status run_stats(const StatsArguments& arguments) {
  LARDER_TRY(const auto reader, arguments.trace.open());
  LARDER_TRY(const TraceStatistics sum, trace_statistics(*reader));
  return print(arguments.json ? to_json(sum).dump(2) + "\n" : to_text(sum));
}

void add_stats(terminal::Command trace, Status& outcome) {
  const terminal::Command command = trace.add_subcommand(
      "stats",
      "Says what is in a trace, and how many of its blocks a pool without limits would have had");
  command.footer("Example: larder-sim trace stats conversation_trace.jsonl");
  const auto arguments = std::make_shared<StatsArguments>();
  add_trace_arguments(command, arguments->trace);
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &outcome] { outcome = run_stats(*arguments); });
}

// ---- generate

struct GenerateArguments {
  GeneratorOptions options;
  std::string out;
};

Status run_generate(const GenerateArguments& arguments) {
  LARDER_TRY(const auto reader, generate_trace(arguments.options));
  if (arguments.out.empty()) {
    while (true) {
      LARDER_TRY(const Request* request, reader->next());
      if (request == nullptr) return {};
      LARDER_CHECK(print(mooncake_line(*request)));
    }
  }
  LARDER_TRY(OutputFile file, OutputFile::create(arguments.out));
  while (true) {
    LARDER_TRY(const Request* request, reader->next());
    if (request == nullptr) return file.commit();
    LARDER_CHECK(file.write(mooncake_line(*request)));
  }
}

// Sets one "key=value" of a shape.
bool set_shape(SessionShape& shape, std::string_view key, std::string_view value) {
  if (key == "weight") return parse_number(value, shape.weight);
  if (key == "prompts") return parse_number(value, shape.system_prompts);
  if (key == "system") return parse_number(value, shape.system_tokens);
  if (key == "requests") return parse_number(value, shape.requests);
  if (key == "first") return parse_number(value, shape.first_tokens);
  if (key == "added") return parse_number(value, shape.added_tokens);
  if (key == "output") return parse_number(value, shape.output_tokens);
  double seconds = 0;
  constexpr double seconds_max = 1e9;
  if (key != "think" || !parse_number(value, seconds)) return false;
  if (!(seconds >= 0 && seconds <= seconds_max)) return false;
  shape.think_time = std::chrono::milliseconds(std::llround(seconds * 1e3));
  return true;
}

Status set_shape_list(SessionShape& shape, std::string_view list) {
  for (const std::string_view setting : split(list, ',')) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string_view::npos ||
        !set_shape(shape, setting.substr(0, equals), setting.substr(equals + 1))) {
      return failed(
          ErrorCode::invalid_params,
          in_quotes(setting) + " is not KEY=NUMBER with one of the keys that --help names");
    }
  }
  return {};
}

void add_shape(terminal::Command command, SessionKind kind, SessionShape& shape) {
  command
      .add_parsed(
          "--" + std::string(session_kind_name(kind)),
          [&shape](const std::string& list) { return set_shape_list(shape, list); },
          fmt::format("What {} sessions are like; by default weight={},prompts={},system={},"
                      "requests={},first={},added={},output={},think={}",
                      session_kind_name(kind), shape.weight, shape.system_prompts,
                      shape.system_tokens, shape.requests, shape.first_tokens, shape.added_tokens,
                      shape.output_tokens, in_seconds(shape.think_time)))
      .type_name("KEY=NUMBER,...");
}

void add_generate(terminal::Command trace, Status& outcome) {
  const terminal::Command command =
      trace.add_subcommand("generate", "Makes a trace in Mooncake's format");
  const std::string example =
      "Multi-turn chats, agents whose system prompt is shared, and questions about independent\n"
      "documents. The same arguments make the same bytes.\n"
      "Example: larder-sim trace generate --requests 5000 --rate 4 --agent weight=5,system=9000 "
      "--out agents.jsonl";
  const auto arguments = std::make_shared<GenerateArguments>();
  GeneratorOptions& options = arguments->options;
  command.add_option("--out", arguments->out,
                     "The file to write, whole or not at all; without "
                     "it, stdout");
  add_number(command, "--requests", options.requests, "How many requests");
  add_number(command, "--rate", options.requests_per_second, "Requests per second, on average");
  add_number(command, "--seed", options.seed, "Another seed, another trace");
  add_number(command, "--block-size", options.block_tokens, "Tokens in a block");
  add_number(command, "--context", options.context_tokens_max, "The longest input, in tokens");
  for (const SessionKind kind : session_kinds) add_shape(command, kind, options.shape(kind));
  command.footer(
      "weight is a session kind's share, prompts how many different system prompts it has, system\n"
      "their tokens. The others are means: requests of a session, tokens of its first input, "
      "tokens\n"
      "added by each later one, tokens of an answer, seconds of thinking before the next "
      "request.\n" +
      example);
  command.callback([arguments, &outcome] { outcome = run_generate(*arguments); });
}

}  // namespace

void add_trace(terminal::Command app, Status& outcome) {
  const terminal::Command trace = app.add_subcommand("trace", "Looks at traces, and makes them");
  trace.require_subcommand();
  add_stats(trace, outcome);
  add_generate(trace, outcome);
}

}  // namespace larder::sim
