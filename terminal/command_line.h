#pragma once

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace larder::terminal {

// A process that was started without stdin, stdout or stderr (`larder get k >&-`) would get its
// next socket under that number, and would then write results or logs into it. So those that are
// closed are taken here, such that reading or writing them is an error (of stderr: nothing). To be
// called first of all, before any thread.
void hold_standard_streams();

struct ExitCodes {
  int could_not_be_done = 1;
  int wrong_usage = 2;
};

// Says on stderr what is wrong with a command line, or on stdout the help or version that it asks
// for. Returns 0 if it was one of those and could be written, else one of `codes`.
int report(const CLI::App& app, const CLI::ParseError& error, ExitCodes codes = {});

}  // namespace larder::terminal
