#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "real/client/pool.h"
#include "real/rpc/endpoint.h"
#include "terminal/command.h"

namespace larder::real {

struct Configuration;

// What every command takes that talks to a pool: the sections pool, client, tcp and log.
struct PoolOptions {
  std::shared_ptr<const Configuration> configuration;

  const Endpoint& master() const;
  const std::string& tenant() const;
  Duration timeout() const;  // zero: none was given
  // Connects with the first call.
  Result<Pool> connect() const;
};
// The options are set when the flags have been read. They outlive `command`.
void add_pool_options(terminal::Command command, PoolOptions& options);

// How keys are written on the command line: as they are, or with %XX for what a shell cannot pass.
struct KeyOptions {
  bool escaped = false;

  Result<std::string> key(std::string_view argument) const;
  Result<std::vector<std::string>> all(const std::vector<std::string>& arguments) const;
};
void add_key_options(terminal::Command command, KeyOptions& options);

}  // namespace larder::real
