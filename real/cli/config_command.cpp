#include <memory>

#include "real/cli/commands.h"
#include "real/cli/configuration.h"
#include "real/cli/json_output.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::real {

void add_config(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("config", "Shows every setting, its value and where that comes from");
  command.footer(
      "A setting of the section master that is called high-watermark is set by, in this order, "
      "the\n"
      "flag --high-watermark, the variable LARDER_MASTER_HIGH_WATERMARK, the file that --config "
      "or\n"
      "LARDER_CONFIG names, {\"master\": {\"high-watermark\": 0.9}}, and its default. The "
      "sections\n"
      "master and node stand in the variable; pool, client and server do not (LARDER_TENANT).\n"
      "What is printed is such a file; the section \"from\" in it is for people.\n"
      "Example: larder config --config larder.json");
  const auto configuration = add_configuration_of_all(command);
  const auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "Print it on one line");
  command.callback([configuration, json, &outcome] {
    const ordered_json effective = configuration->settings.effective();
    outcome = terminal::print(*json ? to_line(effective) : effective.dump(2) + "\n");
  });
}

}  // namespace larder::real
