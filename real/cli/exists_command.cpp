#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/percent.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/pool_options.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::real {
namespace {

struct ExistsArguments {
  PoolOptions pool;
  KeyOptions keys;
  std::vector<std::string> arguments;
  bool quiet = false;
  bool json = false;
};

Status run(const ExistsArguments& arguments) {
  LARDER_TRY(const std::vector<std::string> keys, arguments.keys.all(arguments.arguments));
  LARDER_TRY(Pool pool, arguments.pool.connect());
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto found = pool.exists(views);
  std::string text;
  ordered_json list = ordered_json::array();
  std::size_t missing = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    LARDER_TRY(const Existence existence, found[i]);
    missing += existence.exists ? 0 : 1;
    text += fmt::format("{}  {}\n", existence.exists ? "yes" : "no ", percent_escaped(keys[i]));
    list.push_back({{"key", percent_escaped(keys[i])},
                    {"exists", existence.exists},
                    {"lease_s", in_seconds(existence.lease)}});
  }
  if (!arguments.quiet) LARDER_CHECK(terminal::print(arguments.json ? to_line(list) : text));
  if (missing > 0) {
    return failed(ErrorCode::object_not_found,
                  fmt::format("{} of {} keys are not there", missing, keys.size()));
  }
  return {};
}

}  // namespace

void add_exists(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("exists", "Says of each key whether it has a value that can be read");
  command.footer(
      "The exit code is the answer: 0 if every key is there, 1 if one is missing (or it is not "
      "known).\n"
      "Example: larder exists page/1 page/2");
  const auto arguments = std::make_shared<ExistsArguments>();
  command.add_option("KEY", arguments->arguments, "The keys").required();
  add_key_options(command, arguments->keys);
  add_pool_options(command, arguments->pool);
  command.add_flag("--quiet,-q", arguments->quiet,
                   "Print nothing on stdout: the exit code says it");
  command.add_flag("--json", arguments->json, "Print an array of {key, exists, lease_s}");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
