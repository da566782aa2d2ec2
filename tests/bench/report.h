#pragma once

#include <benchmark/benchmark.h>

#include <optional>
#include <string>
#include <string_view>

// How a benchmark says what it measured and against what. Call one of these after the loop; a
// benchmark that calls none reports the nanoseconds of an iteration, against nothing. ./dev bench
// --json prints {name, value, unit, reference, reference_value, ratio} for each, with
// ratio = value / reference_value; all but the first three are null where there is no reference.
// Rates and times count CPU time, or the time that passed if the benchmark has UseRealTime().
namespace larder::bench {

// What a value is held against. With `value` empty, `name` is another benchmark of the same
// program, measured in the same run (a name without arguments means: with the same arguments as
// here). With a `value`, in the unit of the report, `name` says in words where it comes from.
struct Reference {
  std::string_view name;
  std::optional<double> value;
};

namespace detail {
inline void report(benchmark::State& state, benchmark::Counter counter, std::string_view unit,
                   const Reference& reference) {
  state.counters["value"] = counter;
  if (reference.value) state.counters["reference"] = *reference.value;
  std::string label(unit);
  if (!reference.name.empty()) label.append(" vs ").append(reference.name);
  state.SetLabel(label);
}
}  // namespace detail

// `count` things were done: the value is how many in a second. `unit` such as "lookups/s".
inline void report_rate(benchmark::State& state, std::string_view unit, double count,
                        const Reference& reference = {}) {
  detail::report(state, {count, benchmark::Counter::kIsRate}, unit, reference);
}

// `count` things were done: the value is how many nanoseconds each took.
inline void report_time_of_each(benchmark::State& state, double count,
                                const Reference& reference = {}) {
  const auto flags = static_cast<benchmark::Counter::Flags>(benchmark::Counter::kIsRate |
                                                            benchmark::Counter::kInvert);
  detail::report(state, {count / 1e9, flags}, "ns", reference);
}

// The value is a number that the benchmark itself found, such as bytes of metadata.
inline void report_value(benchmark::State& state, std::string_view unit, double value,
                         const Reference& reference = {}) {
  detail::report(state, benchmark::Counter(value), unit, reference);
}

}  // namespace larder::bench
