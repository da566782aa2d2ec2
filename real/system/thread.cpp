#include "real/system/thread.h"

#include <fmt/format.h>

#include <stdexcept>
#include <system_error>
#include <utility>

namespace larder::real {

std::thread start_thread(std::string_view name, std::move_only_function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    throw std::runtime_error(fmt::format(
        "cannot start the thread \"{}\": {}. What limits threads: ulimit -u, pids.max of "
        "the control group, kernel.threads-max, and memory for stacks (ulimit -v)",
        name, error.code().message()));
  }
}

}  // namespace larder::real
