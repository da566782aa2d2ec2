#include <algorithm>
#include <memory>
#include <string>

#include "core/base/printable.h"
#include "sim/cli/commands.h"
#include "sim/cli/text_file.h"
#include "sim/explore/stories.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

struct StoryArguments {
  std::string name;
  std::string write;
};

Status run(const StoryArguments& arguments) {
  const std::string& name = arguments.name;
  const auto story = std::ranges::find(stories(), name, &Story::name);
  if (story == stories().end()) {
    return failed(ErrorCode::invalid_params,
                  "no story is named " + in_quotes(name) + "; see --help");
  }
  if (!arguments.write.empty()) {
    return write_text_file(arguments.write, std::string(story->scenario));
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

void add_story(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "story", "Tells who notices, who cleans up and when, if something goes wrong in a pool");
  command.footer(footer());
  const auto arguments = std::make_shared<StoryArguments>();
  command.add_option("NAME", arguments->name, "Which one").required();
  command
      .add_option("--write", arguments->write,
                  "Write its scenario to this file, for larder-sim explore --scenario FILE --tell")
      .type_name("FILE");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
