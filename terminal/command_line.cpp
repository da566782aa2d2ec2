#include "terminal/command_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <iostream>
#include <system_error>

#include "core/base/printable.h"

namespace larder::terminal {
namespace {

constexpr std::size_t message_bytes_max = 4096;

// CLI11 repeats words as they were typed, or came out of somebody's script.
int refuse(const CLI::App& app, const CLI::ParseError& error, ExitCodes codes) {
  app.exit(CLI::ParseError(printable(error.what(), message_bytes_max), error.get_exit_code()));
  return codes.wrong_usage;
}

}  // namespace

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // open() takes the lowest free number, which is this one. stdin and stdout in the direction in
    // which nobody uses them; logs go nowhere, as their absence asks for.
    static_cast<void>(::open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY));
  }
}

int report(const CLI::App& app, const CLI::ParseError& error, ExitCodes codes) {
  // CLI11 looks for what is missing before it looks at what it does not know, although the one is
  // mostly there because the other was misspelled.
  const std::vector<std::string> unknown = app.remaining(true);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !unknown.empty()) {
    return refuse(app, CLI::ExtrasError(unknown), codes);
  }
  if (error.get_exit_code() != 0) return refuse(app, error, codes);
  errno = 0;
  app.exit(error);
  if (std::cout.flush()) return 0;
  std::cerr << app.get_name()
            << ": cannot write to stdout: " << std::generic_category().message(errno) << '\n';
  return codes.could_not_be_done;
}

}  // namespace larder::terminal
