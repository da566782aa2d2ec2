#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/assert.h"
#include "sim/explore/scenario_text.h"
#include "tests/fuzzing/checks.h"

// Scenario files. What is accepted is written as a text that is accepted again and is written the
// same; what is refused is refused with its line, in a message that is short and printable.

namespace larder::sim {
namespace {

void check(std::string_view text) {
  const auto scenario = parse_scenario(text, "file");
  if (!scenario) {
    return check_refusal(scenario.error(), ErrorCode::bad_file);
  }
  const std::string written = scenario_text(*scenario);
  const auto again = parse_scenario(written, "file");
  LARDER_ASSERT(again.has_value(), "what was accepted is accepted again");
  LARDER_ASSERT(again->steps == scenario->steps && again->nodes == scenario->nodes &&
                again->clients == scenario->clients && again->masters == scenario->masters);
  LARDER_ASSERT(scenario_text(*again) == written, "and means the same");
}

}  // namespace
}  // namespace larder::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  larder::sim::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
