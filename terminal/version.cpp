#include "terminal/version.h"

namespace larder::terminal {

// cmake/Version.cmake defines these.
std::string version_text(std::string_view program) {
  constexpr std::string_view commit = LARDER_COMMIT;
  std::string text = std::string(program) + " " + LARDER_VERSION + " (";
  if (!commit.empty()) text += "commit " + std::string(commit) + ", ";
  return text + LARDER_BUILD_TYPE + ")";
}

}  // namespace larder::terminal
