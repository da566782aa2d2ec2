#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/base/duration_text.h"
#include "core/base/printable.h"
#include "real/cli/commands.h"
#include "real/cli/pool_options.h"
#include "real/cli/status_view.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::real {
namespace {

constexpr Duration nodes_deadline = std::chrono::seconds(30);

struct StatusArguments {
  PoolOptions pool;
  std::optional<double> watch_s;
  std::size_t nodes = 0;  // to wait for
  bool json = false;
};

Status show(const StatusArguments& arguments, const StatusReport& report,
            const StatusChange& change) {
  const std::string master = to_string(arguments.pool.master());
  if (arguments.json) return terminal::print(to_line(status_json(report, master, change)));
  const bool redraws = arguments.watch_s && ::isatty(STDOUT_FILENO) != 0;
  const std::string_view before = redraws ? "\x1b[H\x1b[2J" : change.before != nullptr ? "\n" : "";
  return terminal::print(std::string(before) + status_text(report, master, change));
}

// For scripts that have just started the servers: the master need not be there yet either.
Status wait_for_nodes(Pool& pool, std::size_t wanted, Duration deadline) {
  using Clock = std::chrono::steady_clock;
  constexpr Duration pause = std::chrono::milliseconds(100);
  const auto give_up = Clock::now() + deadline;
  for (;;) {
    const Result<StatusReport> report =
        pool.status(std::max<Duration>(give_up - Clock::now(), pause));
    const auto shown = !report ? 0
                               : std::ranges::count(report->nodes, "shown",
                                                    [](const auto& node) { return node.state; });
    if (static_cast<std::size_t>(shown) >= wanted) return {};
    if (Clock::now() + pause < give_up) {
      std::this_thread::sleep_for(pause);
      continue;
    }
    if (!report) return std::unexpected(report.error());
    return failed(ErrorCode::unavailable_in_current_status,
                  std::to_string(shown) + " of " + std::to_string(wanted) +
                      " nodes are in use after " + duration_text(deadline));
  }
}

Status run(const StatusArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  LARDER_TRY(Pool pool, arguments.pool.connect());
  if (arguments.nodes > 0) {
    const Duration timeout = arguments.pool.timeout();
    LARDER_CHECK(
        wait_for_nodes(pool, arguments.nodes, timeout == Duration(0) ? nodes_deadline : timeout));
  }
  std::optional<StatusReport> before;
  Clock::time_point asked_before;
  for (Clock::time_point next = Clock::now();;) {
    const Clock::time_point asked = Clock::now();
    LARDER_TRY(StatusReport report, pool.status());
    const std::chrono::duration<double> between = asked - asked_before;
    LARDER_CHECK(show(arguments, report,
                      {.before = before ? &*before : nullptr, .seconds = between.count()}));
    if (!arguments.watch_s) return {};
    before = std::move(report);
    asked_before = asked;
    next += std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(*arguments.watch_s));
    std::this_thread::sleep_until(next);
  }
}

void add_watch_option(terminal::Command command, std::optional<double>& seconds) {
  command
      .add_parsed(
          "--watch,-w",
          [&seconds](const std::string& text) -> Status {
            double parsed = 1;
            if (!text.empty() &&
                (!terminal::parse_number(text, parsed) || !(parsed >= 0.1) || parsed > 86'400)) {
              return failed(ErrorCode::invalid_params,
                            in_quotes(text) + " is not 0.1 to 86400 seconds");
            }
            seconds = parsed;
            return {};
          },
          "Show it again every so many seconds (1 if none are given), with the rates since the "
          "last time, until it is stopped")
      .optional_value()
      .type_name("SECONDS");
}

}  // namespace

void add_status(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("status", "Shows what a pool holds and how its nodes are");
  command.footer(
      "States of a node:\n"
      "  reporting   it says what it holds; nothing on it is answered before that is known\n"
      "  shown       its values are answered, and new ones are placed on it\n"
      "  hidden      its connection broke 1 s ago, or it has been silent for 5 s: its values are\n"
      "              answered to nobody and can be put again; it may come back with them\n"
      "  sick        it answers, but has not confirmed retirements for 5 s: nothing new goes "
      "there\n"
      "  lost        30 s after it was last heard of, or after it should have confirmed: what "
      "only\n"
      "              it had is gone for ever; it can only come back empty\n"
      "Quarantine is freed space that its node has not yet confirmed to be out of use.\n"
      "Objects that are gone were removed, evicted (for space), expired, replaced (by an upsert),\n"
      "bad (their bytes did not match), or lost with a node. Eviction passes over what is leased,\n"
      "pinned, or on a node where it would free nothing now.\n"
      "Stages: of the master, how long a request waited for its turn (queue) and was worked on; "
      "of\n"
      "nodes, what fills had to wait, and fills and reads took; of clients, how long they waited "
      "for\n"
      "the master (lookup), until the transfer began (queue), and for the bytes (transfer).\n"
      "Examples: larder status --master 10.0.0.1\n"
      "          larder status --watch 5");
  const auto arguments = std::make_shared<StatusArguments>();
  add_watch_option(command, arguments->watch_s);
  terminal::add_number(command, "--nodes", arguments->nodes,
                       "First wait until so many nodes are in use, at most " +
                           duration_text(nodes_deadline) + ", or as long as --timeout says");
  add_pool_options(command, arguments->pool);
  command.add_flag("--json", arguments->json,
                   "Print one object a line with all of it; sizes in bytes, times in seconds");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
