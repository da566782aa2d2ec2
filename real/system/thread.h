#pragma once

#include <functional>
#include <string_view>
#include <thread>

namespace larder::real {

// A thread that runs `body`. Throws std::runtime_error that says which could not be started, and
// which limits there are, where the system only knows that something is temporarily unavailable.
std::thread start_thread(std::string_view name, std::move_only_function<void()> body);

}  // namespace larder::real
