#pragma once

#include <functional>
#include <string>

#include "real/cli/pool_options.h"
#include "terminal/command.h"

namespace larder::real {

// Which objects a command is about: --prefix, and a pattern, which is a glob unless --regex is
// given.
struct SelectionOptions {
  std::string prefix;
  std::string pattern;
  bool regex = false;
};
// Adds --prefix and --regex; the pattern is the command's own. The options outlive `command`.
void add_selection_options(terminal::Command command, SelectionOptions& options);

struct Selection {
  std::string prefix;
  std::string regex;
  ListQuery query() const { return {.prefix = prefix, .pattern = regex}; }
};
// Errors: invalid_params for a bad pattern or escape.
Result<Selection> selection_of(const SelectionOptions& options, const KeyOptions& keys);

// "epoch-next-end", and back. Errors: invalid_params.
std::string cursor_text(const ListCursor& cursor);
Result<ListCursor> parse_cursor(std::string_view text);

// Walks over what is selected, page by page from `from` on; take(page) says whether to go on. The
// texts of the pages live only during take().
struct Walk {
  ListCursor from;
  std::uint32_t page = 0;  // items; 0: as many as the master gives
};
Status walk(Pool& pool, const Selection& selection, Walk how,
            const std::function<Result<bool>(const ObjectPage&)>& take);

}  // namespace larder::real
