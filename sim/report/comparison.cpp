#include "sim/report/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "terminal/output.h"

namespace larder::sim {
namespace {

using terminal::with_thousands;
using workloads::LockstepPoint;
using workloads::LockstepRecord;

// The series of two runs of different length have not the same points; only common ones count.
std::optional<Comparison::Parting> parting_of(const std::vector<LockstepPoint>& first,
                                              const std::vector<LockstepPoint>& second) {
  std::uint64_t agreed = 0;
  auto b = second.begin();
  for (const LockstepPoint& a : first) {
    while (b != second.end() && b->request < a.request) ++b;
    if (b == second.end()) break;
    if (b->request != a.request) continue;
    if (!a.agrees_with(*b)) {
      return Comparison::Parting{.agreed = agreed, .differs = a.request, .first = a, .second = *b};
    }
    agreed = a.request;
  }
  return std::nullopt;
}

std::string counts_that_differ(const Comparison::Parting& parting) {
  std::vector<std::string> counts;
  const auto hold = [&](const char* name, std::uint64_t first, std::uint64_t second) {
    if (first == second) return;
    counts.push_back(
        fmt::format("{} {} against {}", name, with_thousands(first), with_thousands(second)));
  };
  hold("page hits", parting.first.page_hits, parting.second.page_hits);
  hold("pages", parting.first.pages, parting.second.pages);
  hold("puts", parting.first.puts, parting.second.puts);
  hold("evictions", parting.first.evictions, parting.second.evictions);
  if (counts.empty())
    return "as many hits, puts and evictions, but not the same or not in the same order";
  return fmt::format("{}", fmt::join(counts, ", "));
}

std::string name_of(const LockstepRecord& record) {
  return record.world == workloads::simulated_world ? "simulated" : record.world;
}

}  // namespace

Comparison Comparison::of(LockstepRecord first, LockstepRecord second) {
  Comparison comparison{.first = std::move(first), .second = std::move(second)};
  const workloads::LockstepTotals& a = comparison.first.totals;
  const workloads::LockstepTotals& b = comparison.second.totals;
  comparison.agree = a.requests == b.requests && a.decision_digest == b.decision_digest;
  if (!comparison.agree) {
    comparison.parting = parting_of(comparison.first.series, comparison.second.series);
  }
  return comparison;
}

std::pair<std::string, std::string> Comparison::names() const {
  if (first.world != second.world) return {name_of(first), name_of(second)};
  return {name_of(first) + " 1", name_of(second) + " 2"};
}

std::vector<std::string> Comparison::different_settings() const {
  std::vector<std::string> different;
  const auto hold = [&](const char* name, const auto& a, const auto& b) {
    if (a != b) different.push_back(fmt::format("{} {} and {}", name, a, b));
  };
  const auto hold_known = [&](const char* name, const auto& a, const auto& b) {
    if (a && b) hold(name, *a, *b);
  };
  hold("trace", first.trace, second.trace);
  hold("page_bytes", first.page_bytes.value, second.page_bytes.value);
  hold_known("nodes", first.nodes, second.nodes);
  if (first.memory && second.memory) {
    hold("memory_bytes", first.memory->value, second.memory->value);
  }
  hold_known("policy", first.policy, second.policy);
  hold_known("seed", first.seed, second.seed);
  return different;
}

std::string Comparison::verdict() const {
  const auto [a, b] = names();
  if (agree) {
    return fmt::format(
        "The decisions of {} requests are the same: hits, puts and victims, in order.",
        with_thousands(first.totals.requests));
  }
  std::string text;
  if (first.totals.requests != second.totals.requests) {
    text = fmt::format("The runs do not have the same requests: {} of {}, {} of {}.",
                       with_thousands(first.totals.requests), a,
                       with_thousands(second.totals.requests), b);
  } else {
    text = fmt::format("The decisions differ: digest {:016x} of {}, {:016x} of {}.",
                       first.totals.decision_digest, a, second.totals.decision_digest, b);
  }
  if (parting) {
    text += parting->agreed == 0
                ? " They"
                : fmt::format(" They agree up to request {} and", with_thousands(parting->agreed));
    text += fmt::format(" differ at request {}: {}.", with_thousands(parting->differs),
                        counts_that_differ(*parting));
  } else if (first.series.empty() || second.series.empty()) {
    text += " Where, is not known: not both files have a series.";
  }
  if (const std::vector<std::string> settings = different_settings(); !settings.empty()) {
    text += fmt::format(" What was run differs: {}.", fmt::join(settings, "; "));
  }
  return text;
}

}  // namespace larder::sim
