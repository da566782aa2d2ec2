#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/pool_options.h"
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
  std::vector<std::string> keys;
  for (const std::string& argument : arguments.arguments) {
    LARDER_TRY(keys.emplace_back(), arguments.keys.key(argument));
  }
  LARDER_TRY(const auto pool, arguments.pool.connect());
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto found = pool->run(pool->client().exists(views, arguments.pool.deadline(*pool, 0_B)));
  std::string text;
  ordered_json list = ordered_json::array();
  std::size_t missing = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    LARDER_TRY(const Existence existence, found[i]);
    missing += existence.exists ? 0 : 1;
    text += fmt::format("{}  {}\n", existence.exists ? "yes" : "no ", arguments.arguments[i]);
    list.push_back({{"key", arguments.arguments[i]},
                    {"exists", existence.exists},
                    {"lease_s", in_seconds(existence.lease)}});
  }
  if (!arguments.quiet) LARDER_CHECK(terminal::print(arguments.json ? to_line(list) : text));
  if (arguments.quiet && missing > 0) {
    return failed(ErrorCode::object_not_found,
                  fmt::format("{} of {} keys are not there", missing, keys.size()));
  }
  return {};
}

}  // namespace

void add_exists(CLI::App& app, Status& outcome) {
  CLI::App* command =
      app.add_subcommand("exists", "Says of each key whether it has a value that can be read");
  command->footer("Example: larder exists page/1 page/2");
  const auto arguments = std::make_shared<ExistsArguments>();
  command->add_option("KEY", arguments->arguments, "The keys")->required();
  add_key_options(*command, arguments->keys);
  add_pool_options(*command, arguments->pool);
  command->add_flag("--quiet,-q", arguments->quiet,
                    "Print nothing, and end with exit code 1 unless every key is there");
  command->add_flag("--json", arguments->json, "Print an array of {key, exists, lease_s}");
  command->callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
