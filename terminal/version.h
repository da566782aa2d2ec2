#pragma once

#include <string>
#include <string_view>

namespace larder::terminal {

// "larder 0.1.0 (commit 0123456789ab, Release)"; without the commit where it was built outside git.
std::string version_text(std::string_view program);

}  // namespace larder::terminal
