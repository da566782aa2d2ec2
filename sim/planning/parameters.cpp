#include "sim/planning/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>
#include <type_traits>

#include "core/base/duration_text.h"
#include "core/base/printable.h"
#include "core/base/size_text.h"

namespace larder::sim {
namespace {

using Kind = Parameter::Kind;

constexpr std::string_view unlimited = "inf";
constexpr std::size_t word_bytes_max = 4'096;  // a path among them

Status wrong(std::string what) { return failed(ErrorCode::invalid_params, std::move(what)); }

// A member of a setting, or of a part of it.
template <auto... path>
struct Member {
  static auto& in(Setting& setting) { return descend<path...>(setting); }
  static const auto& in(const Setting& setting) { return descend<path...>(setting); }

 private:
  template <auto first, auto... rest, class Whole>
  static auto& descend(Whole& whole) {
    if constexpr (sizeof...(rest) == 0) {
      return whole.*first;
    } else {
      return descend<rest...>(whole.*first);
    }
  }
};

template <class At>
Parameter number(std::string_view name, std::string_view help) {
  return {name, Kind::number, help,
          [](Setting& setting, std::string_view text) -> Status {
            auto& target = At::in(setting);
            auto parsed = std::decay_t<decltype(target)>{};
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), parsed);
            bool good = error == std::errc() && end == text.data() + text.size();
            if constexpr (std::is_floating_point_v<decltype(parsed)>) {
              good = good && std::isfinite(parsed);
            }
            if (!good) return wrong(in_quotes(text) + " is no number that fits");
            target = parsed;
            return {};
          },
          [](const Setting& setting) { return fmt::format("{}", At::in(setting)); }};
}

template <class At>
Parameter size(std::string_view name, std::string_view help) {
  return {name, Kind::size, help,
          [](Setting& setting, std::string_view text) -> Status {
            LARDER_TRY(At::in(setting), parse_size(text));
            return {};
          },
          [](const Setting& setting) { return exact_size_text(At::in(setting)); }};
}

template <class At>
Parameter size_or_unlimited(std::string_view name, std::string_view help) {
  return {name, Kind::size, help,
          [](Setting& setting, std::string_view text) -> Status {
            if (text == unlimited) {
              At::in(setting) = std::nullopt;
              return {};
            }
            LARDER_TRY(At::in(setting), parse_size(text));
            return {};
          },
          [](const Setting& setting) {
            const auto& bytes = At::in(setting);
            return bytes ? exact_size_text(*bytes) : std::string(unlimited);
          }};
}

template <class At>
Parameter time(std::string_view name, std::string_view help) {
  return {name, Kind::time, help,
          [](Setting& setting, std::string_view text) -> Status {
            LARDER_TRY(At::in(setting), parse_duration(text));
            return {};
          },
          [](const Setting& setting) { return duration_text(At::in(setting)); }};
}

template <class At>
Parameter word(std::string_view name, std::string_view help) {
  return {name, Kind::word, help,
          [](Setting& setting, std::string_view text) -> Status {
            if (text.size() > word_bytes_max || printable(text) != text) {
              return wrong(in_quotes(text) + " is not at most " + std::to_string(word_bytes_max) +
                           " bytes of UTF-8 without control characters");
            }
            At::in(setting) = text;
            return {};
          },
          [](const Setting& setting) { return std::string(At::in(setting)); }};
}

// A member that one of some words stands for.
template <class At, auto named, auto name_of>
Parameter choice(std::string_view name, std::string_view help) {
  return {name, Kind::word, help,
          [](Setting& setting, std::string_view text) -> Status {
            const auto value = named(text);
            if (!value) return wrong(in_quotes(text) + " is none of its words");
            At::in(setting) = *value;
            return {};
          },
          [](const Setting& setting) { return std::string(name_of(At::in(setting))); }};
}

std::optional<bool> on_named(std::string_view text) {
  if (text == "on") return true;
  if (text == "off") return false;
  return std::nullopt;
}
std::string_view on_name(bool on) { return on ? "on" : "off"; }

std::optional<bool> closed_named(std::string_view text) {
  if (text == "closed") return true;
  if (text == "open") return false;
  return std::nullopt;
}
std::string_view closed_name(bool closed) { return closed ? "closed" : "open"; }

using Transport = Move::Transport;
std::optional<Transport> transport_named(std::string_view text) {
  if (text == "verbs") return Transport::verbs;
  if (text == "tcp") return Transport::tcp;
  return std::nullopt;
}
std::string_view transport_name(Transport transport) {
  return transport == Transport::verbs ? "verbs" : "tcp";
}

using S = Setting;
using E = CachedEngineConfig;
using P = PrefetchRules;

// By the parameter that each begins with.
struct Group {
  std::string_view first;
  std::string_view name;
};
constexpr std::array groups{
    Group{"cluster", "Machines"}, Group{"model", "Engines"}, Group{"nodes", "Pool"},
    Group{"serving", "Network"},  Group{"loop", "Load"},     Group{"fail", "Run"},
};

auto ungrouped() {
  return std::array{
      word<Member<&S::cluster>>(
          "cluster",
          "A preset of hardware, a hardware file, or calibrated:DIR: machines "
          "like the one that larder calibrate wrote DIR about"),
      number<Member<&S::hosts>>("hosts", "How many hosts it has; 0: as its file says (presets: 8)"),
      word<Member<&S::model>>("model", "A preset of a model, or a model file"),
      word<Member<&S::gpu>>(
          "gpu",
          "Which GPUs; auto: as the name of the cluster or of its hosts says, as in the presets"),
      choice<Member<&S::kv_type>, kv_type_named, kv_type_name>("kv-type", "Of the KV: fp16 or fp8"),
      number<Member<&S::engines>>("engines", "How many engines there are"),
      number<Member<&S::gpus_per_engine>>("gpus-per-engine", "GPUs that serve the model together"),
      number<Member<&S::gpu_speed>>("gpu-speed", "GPUs are so many times as fast"),
      number<Member<&S::gpu_memory_share>>("gpu-memory-share",
                                           "Of the GPUs' memory, for weights and KV"),
      size<Member<&S::host_memory>>("host-memory",
                                    "Of each engine: its cache in its host's memory"),
      number<Member<&S::page_tokens>>(
          "page-tokens", "Tokens of a page, a multiple of the trace's blocks; 0: one block"),
      choice<Member<&S::engine, &E::write>, write_policy_named, write_policy_name>(
          "write", "When KV goes to the pool: write-through, selective or write-back"),
      number<Member<&S::engine, &E::selective_uses>>("selective-uses",
                                                     "Uses before selective writes"),
      choice<Member<&S::engine, &E::prefetch, &P::policy>, prefetch_policy_named,
             prefetch_policy_name>(
          "prefetch", "How long prompts wait for the pool: best-effort, wait-complete or timeout"),
      number<Member<&S::engine, &E::prefetch, &P::tokens_min>>("prefetch-min-tokens",
                                                               "Fewer are computed, not fetched"),
      time<Member<&S::engine, &E::prefetch, &P::base>>("prefetch-base", "Of the time-out"),
      time<Member<&S::engine, &E::prefetch, &P::each_1024_tokens>>(
          "prefetch-per-1024", "Of the time-out, for 1,024 tokens"),
      time<Member<&S::engine, &E::prefetch, &P::longest>>("prefetch-longest",
                                                          "What the time-out is at most"),
      choice<Member<&S::engine, &E::decoding>, decoding_named, decoding_name>(
          "decoding", "Of the answers: elsewhere, waits (for prompts) or mixed (with them)"),
      number<Member<&S::engine, &E::chunk_tokens>>("chunk-tokens",
                                                   "Of prompts, that one pass computes at most"),
      number<Member<&S::engine, &E::waiting_max>>(
          "waiting-max", "Requests that may wait for an engine; more are refused"),
      choice<Member<&S::router>, router_policy_named, router_policy_name>(
          "router", "round-robin, least-loaded or prefix-aware"),
      number<Member<&S::nodes>>("nodes", "How many nodes the pool has"),
      size_or_unlimited<Member<&S::memory_per_node>>(
          "memory-per-node", "What each contributes; inf: more than is ever needed"),
      number<Member<&S::replicas>>("replicas", "Copies of each object, on different hosts"),
      word<Member<&S::policy>>("policy", "The eviction policy"),
      number<Member<&S::watermarks, &Watermarks::high>>(
          "high-watermark", "Share of the pool above which eviction begins"),
      number<Member<&S::watermarks, &Watermarks::low>>("low-watermark",
                                                       "And down to which it goes"),
      time<Member<&S::lease>>("lease", "How long a reader may rely on what it was answered"),
      number<Member<&S::master_speed>>("master-speed", "The master is so many times as fast"),
      word<Member<&S::costs>>(
          "costs",
          "What the pool's processes take, as larder calibrate measured it: its directory (what "
          "validate --out fitted, if that is there), or a file; empty: assumed"),
      choice<Member<&S::costs_at>, costs_at_named, costs_at_name>(
          "costs-at",
          "Where in the calibration's intervals: value, or the end where all is fastest or "
          "slowest"),
      number<Member<&S::batch_pages>>("batch-pages", "Pages of one batch of a read"),
      number<Member<&S::batches>>("batches", "Batches of a read that are under way at once"),
      choice<Member<&S::serving>, on_named, on_name>(
          "serving", "off: engines without caches, for which computing takes no time"),
      choice<Member<&S::fabric>, on_named, on_name>("fabric", "off: bytes take no time"),
      choice<Member<&S::transport>, transport_named, transport_name>("transport", "verbs or tcp"),
      number<Member<&S::stripes_max>>("stripes-max", "Pieces of one move, over as many NICs"),
      choice<Member<&S::closed>, closed_named, closed_name>(
          "loop", "open: requests at the trace's times; closed: after the answers before them"),
      number<Member<&S::sessions>>("sessions",
                                   "Of a closed loop, how many at once; 0: as in the trace"),
      number<Member<&S::speed>>("speed", "The trace's times are divided by it"),
      time<Member<&S::every>>("every",
                              "Requests come so long after each other; 0s: at the trace's times"),
      number<Member<&S::requests_max>>("requests-max", "Only so many requests; 0: all"),
      number<Member<&S::warmup_requests>>(
          "warmup", "So many requests at the start fill the caches and are in no total"),
      Parameter{"fail", Kind::word,
                "What goes wrong, and for how long: node:3@600s+120s, host:3@600s, "
                "nic:host3/nic1@600s+60s, master@600s+10s; several with commas",
                [](Setting& setting, std::string_view text) -> Status {
                  LARDER_TRY(setting.faults, parse_faults(text));
                  return {};
                },
                [](const Setting& setting) { return faults_text(setting.faults); }},
      number<Member<&S::seed>>("seed", "Of everything that is drawn"),
      number<Member<&S::intervals>>("intervals", "Of time in the report, at most"),
  };
}

}  // namespace

std::span<const Parameter> parameters() {
  static const std::array all = [] {
    std::array grouped = ungrouped();
    std::string_view group;
    for (Parameter& parameter : grouped) {
      const auto* begins = std::ranges::find(groups, parameter.name, &Group::first);
      if (begins != groups.end()) group = begins->name;
      parameter.group = group;
    }
    return grouped;
  }();
  return all;
}

Result<const Parameter*> parameter_named(std::string_view name) {
  const auto found = std::ranges::find(parameters(), name, &Parameter::name);
  if (found != parameters().end()) return &*found;
  std::string known;
  for (const Parameter& parameter : parameters()) {
    known += (known.empty() ? "" : ", ") + std::string(parameter.name);
  }
  return failed(ErrorCode::invalid_params,
                in_quotes(name) + " is no parameter; there are " + known);
}

Status set_parameter(Setting& setting, const Parameter& parameter, std::string_view text) {
  const Status set = parameter.set(setting, text);
  // Which words there are stands in the help.
  if (set || parameter.kind != Parameter::Kind::word) return set;
  return wrong(set.error().facts().detail + " (" + std::string(parameter.help) + ")");
}

Status set_parameter(Setting& setting, std::string_view name, std::string_view text) {
  LARDER_TRY(const Parameter* const parameter, parameter_named(name));
  const Status set = set_parameter(setting, *parameter, text);
  if (set) return {};
  return wrong(std::string(name) + ": " + set.error().facts().detail);
}

}  // namespace larder::sim
