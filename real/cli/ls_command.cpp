#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/base/percent.h"
#include "core/base/size_text.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/selection.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::real {
namespace {

struct LsArguments {
  PoolOptions pool;
  KeyOptions keys;
  SelectionOptions selection;
  std::uint64_t limit = 0;
  std::string cursor;
  bool details = false;
  bool json = false;
};

ordered_json to_json(const ObjectPage::Item& item) {
  return {{"key", percent_escaped(item.key)},  {"size", item.size.value},
          {"replicas", item.replicas},         {"readable_replicas", item.readable},
          {"group", name_or_null(item.group)}, {"age_s", in_seconds(item.age)},
          {"hard_pin", item.hard_pin},         {"soft_pin", item.soft_pin}};
}

std::string to_text(const ObjectPage::Item& item, bool details) {
  if (!details) return percent_escaped(item.key) + "\n";
  const std::string replicas = item.readable == item.replicas
                                   ? fmt::format("{}", item.replicas)
                                   : fmt::format("{} of {}", item.readable, item.replicas);
  const char* pin = item.hard_pin ? "hard" : item.soft_pin ? "soft" : "-";
  return fmt::format("{:>12}  {:>8}  {:>9}  {:<4}  {}\n", size_text(item.size), replicas,
                     terminal::as_time(in_seconds(item.age)), pin, percent_escaped(item.key));
}

Status run(const LsArguments& arguments) {
  LARDER_TRY(const Selection selection, selection_of(arguments.selection, arguments.keys));
  Walk how;
  if (!arguments.cursor.empty()) {
    LARDER_TRY(how.from, parse_cursor(arguments.cursor));
  }
  LARDER_TRY(Pool pool, arguments.pool.connect());
  if (arguments.details && !arguments.json) {
    LARDER_CHECK(terminal::print(
        fmt::format("{:>12}  {:>8}  {:>9}  {:<4}  {}\n", "size", "replicas", "age", "pin", "key")));
  }
  std::uint64_t left = arguments.limit;
  std::optional<ListCursor> rest;
  const auto page_size = [&] {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, 1u << 30));
  };
  // With a limit each page is cut where it ends, so that a cursor goes on right behind it.
  ListCursor cursor = how.from;
  do {
    rest.reset();
    LARDER_CHECK(walk(pool, selection, {.from = cursor, .page = page_size()},
                      [&](const ObjectPage& page) -> Result<bool> {
                        std::string text;
                        for (const ObjectPage::Item& item : page.items) {
                          text += arguments.json ? to_line(to_json(item))
                                                 : to_text(item, arguments.details);
                        }
                        LARDER_CHECK(terminal::print(text));
                        if (arguments.limit == 0) return true;
                        left -= page.items.size();
                        rest = page.next;
                        return false;
                      }));
    if (rest) cursor = *rest;
  } while (rest && left > 0);
  if (!rest) return {};
  if (arguments.json) return terminal::print(to_line({{"next", cursor_text(*rest)}}));
  fmt::print(stderr, "there may be more: --cursor {}\n", cursor_text(*rest));
  return {};
}

}  // namespace

void add_ls(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand("ls", "Lists the keys that the pool holds");
  command.footer(
      "In no particular order, and only of --tenant. It does not count as a use of what it lists.\n"
      "Also what lies on nodes that are hidden now is listed: then -l shows fewer readable copies\n"
      "than there are. A key that is put or removed meanwhile may or may not be there. Keys are\n"
      "shown with %XX for what a terminal could not show, as --escaped reads them.\n"
      "Examples: larder ls 'page/*'\n"
      "          larder ls -l --regex '^page/[0-9]+$'\n"
      "          larder ls --prefix model-a/ --json | wc -l");
  const auto arguments = std::make_shared<LsArguments>();
  command.add_option("PATTERN", arguments->selection.pattern, "Only keys that match it");
  add_selection_options(command, arguments->selection);
  terminal::add_number(command, "--limit", arguments->limit,
                       "Stop after so many keys, and say how to go on; 0: all");
  command.add_option("--cursor", arguments->cursor, "Go on where an earlier one with --limit ended")
      .type_name("CURSOR");
  command.add_flag("-l,--long", arguments->details,
                   "Also the size, the copies, the age and the pin of each");
  add_key_options(command, arguments->keys);
  add_pool_options(command, arguments->pool);
  command.add_flag("--json", arguments->json,
                   "Print one object a line: {key, size, replicas, readable_replicas, group, "
                   "age_s, hard_pin, soft_pin}; after --limit {next} if there may be more");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
