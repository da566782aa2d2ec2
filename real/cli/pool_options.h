#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "real/client/pool_client.h"

namespace CLI {
class App;
}

namespace larder::real {

// What every command takes that talks to a pool: --master, --tenant, --timeout.
struct PoolOptions {
  std::string master = "127.0.0.1:7700";
  std::string tenant = "default";
  double timeout_s = 0;  // 0: as the size asks for

  // Checks what was given. Connects with the first call.
  Result<std::unique_ptr<PoolClient>> connect() const;
  // The deadline of a call that moves so many bytes (0: none).
  Time deadline(const PoolClient& pool, Bytes bytes) const;
};
// The options outlive `command`.
void add_pool_options(CLI::App& command, PoolOptions& options);
void add_master_option(CLI::App& command, std::string& master);

// How keys are written on the command line: as they are, or with %XX for what a shell cannot pass.
struct KeyOptions {
  bool escaped = false;

  Result<std::string> key(std::string_view argument) const;
};
void add_key_options(CLI::App& command, KeyOptions& options);

}  // namespace larder::real
