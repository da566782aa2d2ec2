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

struct RmArguments {
  PoolOptions pool;
  KeyOptions keys;
  std::vector<std::string> arguments;
  bool force = false;
  bool json = false;
};

Status run(const RmArguments& arguments) {
  std::vector<std::string> keys;
  for (const std::string& argument : arguments.arguments) {
    LARDER_TRY(keys.emplace_back(), arguments.keys.key(argument));
  }
  LARDER_TRY(const auto pool, arguments.pool.connect());
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const std::vector<Status> removed = pool->run(pool->client().remove(
      views, {.force = arguments.force}, arguments.pool.deadline(*pool, 0_B)));
  std::string text;
  ordered_json list = ordered_json::array();
  Status first_failure;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ordered_json one{{"key", arguments.arguments[i]}, {"removed", removed[i].has_value()}};
    if (removed[i]) {
      text += fmt::format("removed {}\n", arguments.arguments[i]);
    } else {
      one["error"] = to_json(removed[i].error());
      if (first_failure) {
        first_failure = removed[i];
      } else {
        fmt::print(stderr, "larder: {}\n", removed[i].error().message());
      }
    }
    list.push_back(std::move(one));
  }
  LARDER_CHECK(terminal::print(arguments.json ? to_line(list) : text));
  return first_failure;
}

}  // namespace

void add_rm(CLI::App& app, Status& outcome) {
  CLI::App* command = app.add_subcommand("rm", "Removes values");
  command->footer(
      "When it is done, no client can read them any more, and they do not come back. A value that "
      "is\n"
      "being read is refused unless --force is given: a lookup protects it for 10 s, or until its\n"
      "reader says that it is done.\n"
      "Example: larder rm page/1 page/2");
  const auto arguments = std::make_shared<RmArguments>();
  command->add_option("KEY", arguments->arguments, "The keys")->required();
  add_key_options(*command, arguments->keys);
  add_pool_options(*command, arguments->pool);
  command->add_flag("--force,-f", arguments->force,
                    "Also what is leased; who reads it meanwhile gets an error");
  command->add_flag("--json", arguments->json,
                    "Print an array of {key, removed} and, where it was not, error {code, name, "
                    "message}");
  command->callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
