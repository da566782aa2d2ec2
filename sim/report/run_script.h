#pragma once

#include <string_view>

namespace larder::sim {

// The script of a run's page (run_page.h).
std::string_view run_script();

}  // namespace larder::sim
