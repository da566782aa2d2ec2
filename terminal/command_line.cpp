#include "terminal/command_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

namespace larder::terminal {

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // open() takes the lowest free number, which is this one. stdin and stdout in the direction in
    // which nobody uses them; logs go nowhere, as their absence asks for.
    static_cast<void>(::open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY));
  }
}

int report(const CLI::App& app, const CLI::ParseError& error, int wrong_usage) {
  // CLI11 looks for what is missing before it looks at what it does not know, although the one is
  // mostly there because the other was misspelled.
  const std::vector<std::string> unknown = app.remaining(true);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !unknown.empty()) {
    app.exit(CLI::ExtrasError(unknown));
    return wrong_usage;
  }
  return app.exit(error) == 0 ? 0 : wrong_usage;
}

}  // namespace larder::terminal
