#include "real/cli/pool_options.h"

#include <CLI/CLI.hpp>

#include "core/base/percent.h"
#include "terminal/arguments.h"

namespace larder::real {
namespace {

constexpr std::uint16_t master_port = 7700;
constexpr double timeout_max_s = 1e6;

}  // namespace

Result<std::unique_ptr<PoolClient>> PoolOptions::connect() const {
  LARDER_TRY(const Endpoint endpoint, parse_endpoint(master, master_port));
  if (tenant.empty() || tenant.size() > tenant_bytes_max) {
    return failed(ErrorCode::invalid_params, "--tenant has 1 to " +
                                                 std::to_string(tenant_bytes_max) + " bytes, not " +
                                                 std::to_string(tenant.size()));
  }
  if (timeout_s < 0 || timeout_s > timeout_max_s) {
    return failed(ErrorCode::invalid_params, "--timeout is 0 to 1,000,000 seconds");
  }
  return std::make_unique<PoolClient>(
      PoolClientConfig{.master = endpoint, .tenant = tenant, .name = {}});
}

Time PoolOptions::deadline(const PoolClient& pool, Bytes bytes) const {
  if (timeout_s > 0) {
    return pool.clock().now() +
           std::chrono::duration_cast<Duration>(std::chrono::duration<double>(timeout_s));
  }
  const Client& client = pool.client();
  return bytes == 0_B ? client.control_deadline() : client.operation_deadline(bytes);
}

void add_master_option(CLI::App& command, std::string& master) {
  command.add_option("--master", master, "Where the master listens; 7700 where no port is given")
      ->type_name("HOST:PORT")
      ->envname("LARDER_MASTER")
      ->capture_default_str();
}

void add_pool_options(CLI::App& command, PoolOptions& options) {
  add_master_option(command, options.master);
  command.add_option("--tenant", options.tenant, "Whose keys these are")->capture_default_str();
  terminal::add_number(
      command, "--timeout", options.timeout_s,
      "Give up after so many seconds; 0: 5 s, and for values 10 s and 1 s more for "
      "every 50 MB")
      ->type_name("SECONDS");
}

Result<std::string> KeyOptions::key(std::string_view argument) const {
  if (!escaped) return std::string(argument);
  auto bytes = percent_unescaped(argument);
  if (!bytes) return std::unexpected(std::move(bytes).error().with_key(argument));
  return bytes;
}

void add_key_options(CLI::App& command, KeyOptions& options) {
  command.add_flag("--escaped", options.escaped,
                   "Read %XX in a KEY as the byte of that hexadecimal number (%25 is a '%'), for "
                   "keys with any bytes; without it a KEY is taken as it is");
}

}  // namespace larder::real
