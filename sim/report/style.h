#pragma once

#include <string_view>

namespace larder::sim {

// The style sheet of all pages: light or dark as the reader's system is, for screens from a phone's
// on and for print.
std::string_view page_style();

}  // namespace larder::sim
