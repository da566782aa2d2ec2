#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "core/base/printable.h"
#include "sim/cli/commands.h"
#include "sim/explore/stories.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

Status run(const std::string& name) {
  const auto story = std::ranges::find(stories(), name, &Story::name);
  if (story == stories().end()) {
    return failed(ErrorCode::invalid_params,
                  "no story is named " + in_quotes(name) + "; see --help");
  }
  return terminal::print(tell(*story));
}

std::string footer() {
  std::string text = "As the production code did it, in virtual time. Stories:\n";
  for (const Story& story : stories()) {
    text += "  " + std::string(story.name) + ": " + std::string(story.question) + "\n";
  }
  return text + "Example: larder-sim story writer-crashes";
}

}  // namespace

void add_story(CLI::App& app, Status& outcome) {
  CLI::App* command = app.add_subcommand(
      "story", "Tells who notices, who cleans up and when, if something goes wrong in a pool");
  command->footer(footer());
  const auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "Which one")->required();
  command->callback([name, &outcome] { outcome = run(*name); });
}

}  // namespace larder::sim
