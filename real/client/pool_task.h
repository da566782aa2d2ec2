#pragma once

#include <functional>

#include "core/client/client.h"
#include "real/client/pool.h"

namespace larder::real {

// Runs a coroutine of core on the pool's thread, for what is no call of the pool's face (a run in
// lock step). Waits for its end. Errors: as of any call, in the place of the result.
Status run_on(Pool& pool, std::move_only_function<Task<Status>(Client&, const Clock&)> task);

}  // namespace larder::real
