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

// Says on stderr what is wrong with a command line, or on stdout the help that it asks for.
// Returns 0 if it was help, else `wrong_usage`.
int report(const CLI::App& app, const CLI::ParseError& error, int wrong_usage);

}  // namespace larder::terminal
