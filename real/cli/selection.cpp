#include "real/cli/selection.h"

#include "core/base/printable.h"
#include "core/pattern/pattern.h"
#include "terminal/arguments.h"
#include "terminal/command.h"

namespace larder::real {

void add_selection_options(terminal::Command command, SelectionOptions& options) {
  command.add_option("--prefix", options.prefix, "Only keys that begin with this")
      .type_name("TEXT");
  command.add_flag("--regex", options.regex,
                   "The pattern is a regular expression (RE2's), found anywhere in a key unless it "
                   "is anchored with ^ and $; without it, it is a glob for the whole key: * any "
                   "bytes (/ too), ? one byte, [a-z] one of these, \\ takes the next as it is");
}

Result<Selection> selection_of(const SelectionOptions& options, const KeyOptions& keys) {
  Selection selection;
  LARDER_TRY(selection.prefix, keys.key(options.prefix));
  if (options.pattern.empty()) {
    if (options.regex) {
      return failed(ErrorCode::invalid_params, "--regex says how to read a pattern; there is none");
    }
    return selection;
  }
  LARDER_TRY(selection.regex, keys.key(options.pattern));
  if (!options.regex) {
    LARDER_TRY(selection.regex, regex_of_glob(selection.regex));
  }
  LARDER_TRY(const Pattern pattern, Pattern::make(selection.regex));  // before anything is asked
  static_cast<void>(pattern);
  return selection;
}

std::string cursor_text(const ListCursor& cursor) {
  return std::to_string(cursor.epoch.value) + "-" + std::to_string(cursor.next) + "-" +
         std::to_string(cursor.end);
}

Result<ListCursor> parse_cursor(std::string_view text) {
  ListCursor cursor;
  const std::size_t first = text.find('-');
  const std::size_t second = first == text.npos ? first : text.find('-', first + 1);
  if (second != text.npos && terminal::parse_number(text.substr(0, first), cursor.epoch.value) &&
      terminal::parse_number(text.substr(first + 1, second - first - 1), cursor.next) &&
      terminal::parse_number(text.substr(second + 1), cursor.end)) {
    return cursor;
  }
  return failed(ErrorCode::invalid_params,
                in_quotes(text) + " is no cursor that larder ls has given");
}

Status walk(Pool& pool, const Selection& selection, Walk how,
            const std::function<Result<bool>(const ObjectPage&)>& take) {
  for (ListCursor cursor = how.from;;) {
    LARDER_TRY(const ObjectPage page, pool.list(selection.query(), cursor, how.page));
    LARDER_TRY(const bool go_on, take(page));
    if (!go_on || !page.next) return {};
    cursor = *page.next;
  }
}

}  // namespace larder::real
