#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/percent.h"
#include "core/base/size_text.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/selection.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace larder::real {
namespace {

using terminal::with_thousands;

struct RmArguments {
  PoolOptions pool;
  KeyOptions keys;
  SelectionOptions selection;
  std::vector<std::string> arguments;
  bool all = false;
  bool force = false;
  bool yes = false;
  bool json = false;

  bool selects() const {
    return all || !selection.prefix.empty() || !selection.pattern.empty() || selection.regex;
  }
};

// For whom a removal that has had no answer waits: the nodes that have not confirmed. Empty where
// that cannot be known.
std::string who_is_awaited(Pool& pool) {
  constexpr auto patience = std::chrono::milliseconds(200);  // the command's own time is over
  const auto report = pool.status(patience);
  std::string text;
  if (!report) return text;
  for (const StatusReport::Node& node : report->nodes) {
    if (node.quarantined == 0_B) continue;
    text += fmt::format("{}node '{}' ({}, heard of {} ago)", text.empty() ? "" : ", ",
                        percent_escaped(node.name), node.state,
                        terminal::as_time(in_seconds(node.since_heartbeat)));
  }
  return text;
}

std::vector<Status> remove(Pool& pool, const RmArguments& arguments,
                           std::span<const std::string_view> keys) {
  std::vector<Status> outcomes = pool.remove(keys, {.force = arguments.force});
  const auto timed_out = [](const Status& outcome) {
    return !outcome && outcome.error().code() == ErrorCode::rpc_timeout;
  };
  if (std::ranges::none_of(outcomes, timed_out)) return outcomes;
  const std::string awaited = who_is_awaited(pool);
  if (awaited.empty()) return outcomes;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!timed_out(outcomes[i])) continue;
    outcomes[i] = std::unexpected(
        Error(ErrorCode::rpc_timeout,
              "no client can read it any more, but it is not confirmed by " + awaited)
            .with_key(keys[i])
            .with_elapsed(outcomes[i].error().facts().elapsed));
  }
  return outcomes;
}

Status remove_named(const RmArguments& arguments) {
  LARDER_TRY(const std::vector<std::string> keys, arguments.keys.all(arguments.arguments));
  LARDER_TRY(Pool pool, arguments.pool.connect());
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const std::vector<Status> removed = remove(pool, arguments, views);
  std::string text;
  ordered_json list = ordered_json::array();
  Failures failures;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ordered_json one{{"key", percent_escaped(keys[i])}, {"removed", removed[i].has_value()}};
    if (removed[i]) {
      text += fmt::format("removed {}\n", percent_escaped(keys[i]));
    } else {
      one["error"] = to_json(removed[i].error());
      failures.add(removed[i].error());
    }
    list.push_back(std::move(one));
  }
  LARDER_CHECK(terminal::print(arguments.json ? to_line(list) : text));
  return failures.first();
}

// What became of the objects that a walk has found.
struct Removals {
  std::uint64_t removed = 0;
  Bytes bytes;
  std::uint64_t gone = 0;  // by themselves, between the list and their removal
  std::map<std::string, std::uint64_t> skipped;  // by the name of the error
  std::optional<Error> first_skipped;

  void add(const ObjectPage::Item& item, const Status& outcome) {
    if (outcome) {
      ++removed;
      bytes += item.size;
    } else if (outcome.error().code() == ErrorCode::object_not_found) {
      ++gone;
    } else {
      ++skipped[std::string(error_name(outcome.error().code()))];
      if (!first_skipped) first_skipped = outcome.error();
    }
  }
  std::uint64_t all_skipped() const {
    std::uint64_t all = 0;
    for (const auto& [name, count] : skipped) all += count;
    return all;
  }
  std::string text() const {
    std::string text = fmt::format("removed {} object{}, {}", with_thousands(removed),
                                   removed == 1 ? "" : "s", size_text(bytes));
    if (gone > 0) text += fmt::format("; {} were gone already", with_thousands(gone));
    for (const auto& [name, count] : skipped) {
      text += fmt::format("; skipped {}: {}", with_thousands(count), name);
    }
    return text + "\n";
  }
  ordered_json json() const {
    ordered_json reasons = ordered_json::object();
    for (const auto& [name, count] : skipped) reasons[name] = count;
    return {{"removed", removed}, {"bytes", bytes.value}, {"gone", gone}, {"skipped", reasons}};
  }
};

// Whoever is at a terminal is asked before everything goes.
Status confirm(const RmArguments& arguments) {
  if (!arguments.all || arguments.force || arguments.yes) return {};
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) return {};
  fmt::print(stderr, "Remove all values of tenant '{}' from the pool at {}? [y/N] ",
             percent_escaped(arguments.pool.tenant()), to_string(arguments.pool.master()));
  const int answer = std::fgetc(stdin);
  if (answer == 'y' || answer == 'Y') return {};
  return failed(ErrorCode::cancelled, "nothing was removed");
}

Status remove_selected(const RmArguments& arguments) {
  constexpr std::uint32_t page_items = 512;
  LARDER_TRY(const Selection selection, selection_of(arguments.selection, arguments.keys));
  LARDER_TRY(Pool pool, arguments.pool.connect());
  LARDER_CHECK(confirm(arguments));
  terminal::ProgressBar bar({.title = "removing"});
  Removals removals;
  const Status walked =
      walk(pool, selection, {.from = {}, .page = page_items},
           [&](const ObjectPage& page) -> Result<bool> {
             std::vector<std::string_view> keys;
             for (const ObjectPage::Item& item : page.items) keys.emplace_back(item.key);
             const std::vector<Status> outcomes = remove(pool, arguments, keys);
             for (std::size_t i = 0; i < keys.size(); ++i) removals.add(page.items[i], outcomes[i]);
             if (page.next) {
               bar.show(static_cast<double>(page.next->next) / static_cast<double>(page.next->end),
                        with_thousands(removals.removed) + " removed");
             }
             return true;
           });
  // What was removed before it broke off is told too.
  LARDER_CHECK(terminal::print(arguments.json ? to_line(removals.json()) : removals.text()));
  LARDER_CHECK(walked);
  if (removals.first_skipped) {
    return failed(removals.first_skipped->code(),
                  with_thousands(removals.all_skipped()) +
                      " could not be removed; the first: " + removals.first_skipped->message());
  }
  return {};
}

Status run(const RmArguments& arguments) {
  const bool names = !arguments.arguments.empty();
  const bool filters = !arguments.selection.prefix.empty() || !arguments.selection.pattern.empty();
  if (names == arguments.selects() || (arguments.all && filters)) {
    return failed(ErrorCode::invalid_params,
                  "say what to remove in one way: KEY..., or --prefix and --pattern, or --all");
  }
  return names ? remove_named(arguments) : remove_selected(arguments);
}

}  // namespace

void add_rm(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand("rm", "Removes values");
  command.footer(
      "When it is done, no client can read them any more, and they do not come back. A value that\n"
      "is being read is refused unless --force is given: a lookup protects it for 10 s, or until\n"
      "its reader says that it is done. With --prefix, --pattern or --all it goes through the\n"
      "directory once: what is put while it runs may survive.\n"
      "Examples: larder rm page/1 page/2\n"
      "          larder rm --pattern 'page/*'\n"
      "          larder rm --prefix model-a/ --force");
  const auto arguments = std::make_shared<RmArguments>();
  command.add_option("KEY", arguments->arguments, "The keys");
  command
      .add_option("--pattern", arguments->selection.pattern,
                  "All keys that match it: a glob, or with --regex a regular expression")
      .type_name("PATTERN");
  add_selection_options(command, arguments->selection);
  command.add_flag("--all", arguments->all, "Everything of the tenant; at a terminal it asks");
  command.add_flag("--yes,-y", arguments->yes, "Do not ask");
  add_key_options(command, arguments->keys);
  add_pool_options(command, arguments->pool);
  command.add_flag("--force,-f", arguments->force,
                   "Also what is leased; who reads it meanwhile gets an error. Does not ask");
  command.add_flag("--json", arguments->json,
                   "Print an array of {key, removed} and, where it was not, error {code, name, "
                   "message}; without KEYs {removed, bytes, gone, skipped}");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
