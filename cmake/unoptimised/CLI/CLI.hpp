// CLI11 of Debian 12 is all inline functions, which forty of our sources compile again. A command line is read once:
// not to optimise them spares a quarter of those sources' time.
#pragma once
#pragma GCC system_header
#pragma clang optimize off
#include_next <CLI/CLI.hpp>
#pragma clang optimize on
