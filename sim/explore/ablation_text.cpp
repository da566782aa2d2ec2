#include <algorithm>
#include <string>

#include "sim/explore/ablation.h"
#include "sim/explore/guard_names.h"
#include "sim/explore/scenario.h"

namespace larder::sim {
namespace {

std::string name(std::size_t guard) { return std::string(guard_names()[guard].name); }

std::string text(const WrongReads& wrong) {
  if (wrong.seeds == 0) return "–";
  return std::to_string(wrong.reads) + " in " + std::to_string(wrong.seeds);
}

std::string number(std::uint64_t number) { return number == 0 ? "–" : std::to_string(number); }

void add_to_list(std::string& list, const std::string& text) {
  list += (list.empty() ? "" : ", ") + text;
}

std::string head(const std::string& first, std::string_view last = {}) {
  std::string columns = "| " + first + " |";
  std::string rule = "|---|";
  for (const GuardName& guard : guard_names()) {
    columns += " " + std::string(guard.name) + " |";
    rule += "---|";
  }
  if (!last.empty()) {
    columns += " " + std::string(last) + " |";
    rule += "---|";
  }
  return columns + "\n" + rule + "\n";
}

// What the others stopped of what a guard that is off let through, the most first.
std::string caught(const AblationResult& result, std::size_t guard) {
  std::vector<std::pair<std::uint64_t, std::size_t>> others;
  for (std::size_t other = 0; other < guard_names().size(); ++other) {
    if (other == guard) continue;
    const std::uint64_t seeds = result.of({guard, other}).beyond_both;
    if (seeds > 0) others.emplace_back(seeds, other);
  }
  std::ranges::sort(others, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::string list;
  for (const auto& [seeds, other] : others) {
    add_to_list(list, name(other) + " " + std::to_string(seeds));
  }
  return list.empty() ? "–" : list;
}

std::string alone(const AblationResult& result) {
  std::string text =
      "| off | what it forbids | wrong reads in seeds | other violations alone, in seeds | "
      "what another guard caught, in seeds |\n|---|---|---|---|---|\n";
  const auto row = [&](const std::string& off, std::string_view forbids, const Ablated& ablated,
                       const std::string& others) {
    text += "| " + off + " | " + std::string(forbids) + " | " + larder::sim::text(ablated.wrong) +
            " | " + number(ablated.other_seeds) + " | " + others + " |\n";
  };
  row("nothing", "", result.of({}), "");
  for (std::size_t guard = 0; guard < guard_names().size(); ++guard) {
    row(name(guard), guard_names()[guard].forbids, result.of({guard}), caught(result, guard));
  }
  return text;
}

std::string pairs(const AblationResult& result) {
  std::string text = head("off");
  for (std::size_t row = 0; row < guard_names().size(); ++row) {
    text += "| " + name(row) + " |";
    for (std::size_t column = 0; column < guard_names().size(); ++column) {
      const WrongReads& wrong =
          row == column ? result.of({row}).wrong : result.of({row, column}).wrong;
      const std::string cell = larder::sim::text(wrong);
      text += row == column ? " **" + cell + "** |" : " " + cell + " |";
    }
    text += "\n";
  }
  return text;
}

std::string fault_row(const AblationResult& result, std::string_view fault) {
  const auto in = [&](const Ablated& ablated) {
    const auto found = ablated.by_fault.find(fault);
    return found == ablated.by_fault.end() ? WrongReads() : found->second;
  };
  bool any = false;
  std::string text = "| " + std::string(fault) + " |";
  std::string of_pairs;
  for (const Ablated& ablated : result.all) {
    const WrongReads wrong = in(ablated);
    any = any || wrong.seeds > 0;
    if (ablated.off.size() == 1) text += " " + larder::sim::text(wrong) + " |";
    if (ablated.off.size() == 2 && wrong.seeds > 0) {
      add_to_list(of_pairs, name(ablated.off[0]) + " + " + name(ablated.off[1]) + " " +
                                larder::sim::text(wrong));
    }
  }
  if (!any) return "";
  return text + " " + (of_pairs.empty() ? "–" : of_pairs) + " |\n";
}

std::string faults(const AblationResult& result) {
  std::string text = head("what it takes", "two off, beyond what either lets through alone");
  text += fault_row(result, Ablated::no_fault);
  for (const FaultOfScenario& fault : faults_of_scenarios())
    text += fault_row(result, fault.name());
  std::uint64_t asked = 0;
  std::uint64_t wrong = 0;
  for (const Ablated& ablated : result.all) {
    asked += ablated.explained;
    wrong += ablated.off.size() == 2 ? ablated.beyond_both : ablated.wrong.seeds;
  }
  return text + "\nOf " + std::to_string(asked) + " seeds of the " + std::to_string(wrong) + ".\n";
}

std::string verdict(const AblationResult& result) {
  std::string list;
  for (const std::size_t guard : result.redundant()) add_to_list(list, name(guard));
  if (list.empty()) {
    return "No guard is redundant: each has a partner with which more seeds read wrong than with "
           "that "
           "partner's guard off alone.\n";
  }
  return "Redundant here, since no pair with it reads wrong in more seeds than its partner "
         "alone: " +
         list + ".\n";
}

}  // namespace

std::string to_markdown(const AblationResult& result) {
  return "Wrong reads with one guard off, in " + std::to_string(result.seeds) +
         " seeds each. What another guard caught is wrong with both off, and with neither of the "
         "two alone.\n\n" +
         alone(result) + "\nWith two off (on the diagonal: one), wrong reads in seeds.\n\n" +
         pairs(result) +
         "\nBy kind of fault: a seed that reads wrong was run again with one kind after the other "
         "taken out, as long as it still read wrong within three attempts; it counts at each kind "
         "that remained, with the wrong reads of that last run. Where several kinds would do, the "
         "one "
         "that stands last remains. `none`: what clients do at the same time is enough.\n\n" +
         faults(result) + "\n" + verdict(result);
}

}  // namespace larder::sim
