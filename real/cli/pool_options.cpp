#include "real/cli/pool_options.h"

#include "core/base/percent.h"
#include "real/cli/configuration.h"
#include "terminal/command.h"

namespace larder::real {

const Endpoint& PoolOptions::master() const { return configuration->pool_master; }

const std::string& PoolOptions::tenant() const { return configuration->tenant; }

Duration PoolOptions::timeout() const { return configuration->timeout; }

Result<Pool> PoolOptions::connect() const {
  return Pool::open({.master = to_string(master()),
                     .tenant = configuration->tenant,
                     .transport = configuration->transport,
                     .tcp_congestion = configuration->tcp.congestion,
                     .timeout = configuration->timeout});
}

void add_pool_options(terminal::Command command, PoolOptions& options) {
  options.configuration =
      add_configuration(command, {section::pool, section::client, section::tcp, section::log});
}

Result<std::string> KeyOptions::key(std::string_view argument) const {
  if (!escaped) return std::string(argument);
  auto bytes = percent_unescaped(argument);
  if (!bytes) return std::unexpected(std::move(bytes).error().with_key(argument));
  return bytes;
}

Result<std::vector<std::string>> KeyOptions::all(const std::vector<std::string>& arguments) const {
  std::vector<std::string> keys;
  for (const std::string& argument : arguments) {
    LARDER_TRY(keys.emplace_back(), key(argument));
  }
  return keys;
}

void add_key_options(terminal::Command command, KeyOptions& options) {
  command.add_flag("--escaped", options.escaped,
                   "Read %XX in a KEY as the byte of that hexadecimal number (%25 is a '%'), for "
                   "keys with any bytes; without it a KEY is taken as it is. Every command shows "
                   "keys in this form");
}

}  // namespace larder::real
