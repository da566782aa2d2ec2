#pragma once

#include <string>

namespace larder::sim {

// The exit code of a command that has found what must not be.
inline constexpr int found_violation = 3;
inline constexpr const char* exit_codes_help =
    "Exit codes: 0 nothing was found, 1 it could not be done, 2 wrong usage, 3 an invariant "
    "broke.\n";

// Says "VIOLATION: what" on stderr and ends the command with that code. To be called in a
// subcommand's callback.
[[noreturn]] void end_with_violation(const std::string& what);

}  // namespace larder::sim
