#include "real/cli/server_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/base/size_text.h"
#include "core/eviction/policy.h"
#include "real/daemon/address.h"
#include "terminal/arguments.h"

namespace larder::real {
namespace {

constexpr std::uint16_t master_port = 7700;
constexpr std::uint16_t any_port = 0;

}  // namespace

Result<MasterOptions> MasterFlags::options() const {
  MasterOptions options;
  LARDER_TRY(options.listen, parse_endpoint(listen, master_port));
  LARDER_CHECK(check_exposure(options.listen, insecure));
  options.config.policy = policy;
  options.config.watermarks = {.high = high_watermark, .low = low_watermark};
  options.config.seed = seed;
  if (!state_directory.empty()) options.state_directory = state_directory;
  options.lock_step = lock_step;
  options.epoch_after = {epoch_after};
  return options;
}

void add_master_flags(CLI::App& command, MasterFlags& flags) {
  command
      .add_option("--listen", flags.listen,
                  "Where the master listens; port 0: any free one, which is then printed")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  command
      .add_option("--state-dir", flags.state_directory,
                  "A directory for the few bytes that a master must find again after a restart; "
                  "without one, what was removed may then return")
      ->type_name("DIR")
      ->check([](const std::string& text) { return text.empty() ? "it is empty" : ""; });
  const auto names = policy_names();
  command.add_option("--policy", flags.policy, "What to evict first")
      ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())))
      ->capture_default_str();
  terminal::add_number(command, "--high-watermark", flags.high_watermark,
                       "Share of the pool's memory in use above which eviction begins");
  terminal::add_number(command, "--low-watermark", flags.low_watermark,
                       "Share down to which it goes on");
  terminal::add_number(command, "--seed", flags.seed, "Of the choices of where to put values");
  terminal::add_number(
      command, "--epoch-after", flags.epoch_after,
      "Lead after a master of this epoch, for when this machine's clock is behind");
  command.add_flag("--lock-step", flags.lock_step,
                   "Work only when `larder replay` asks for it, so that time decides nothing");
  command.add_flag("--insecure", flags.insecure,
                   "Allow an address that others can reach, although there are no tokens yet");
}

Result<NodeOptions> NodeFlags::options(const std::string& master) const {
  NodeOptions options;
  LARDER_TRY(options.master, parse_endpoint(master, master_port));
  LARDER_TRY(options.listen, parse_endpoint(listen, any_port));
  LARDER_CHECK(check_exposure(options.listen, insecure));
  options.advertise = advertise;
  options.memory = memory;
  options.name = name;
  options.host = host;
  options.rack = rack;
  return options;
}

void add_node_flags(CLI::App& command, NodeFlags& flags) {
  terminal::add_size(command, "--memory", flags.memory,
                     "What it contributes, such as 512MiB or 64gb (units are powers of 1,024); all "
                     "of it is taken at the start. 0: nothing");
  command.add_option("--name", flags.name, "Its name in the pool; without one, machine:port");
  command.add_option("--host", flags.host,
                     "Nodes that name the same host fail together: the copies of a value go to "
                     "different ones first. Without one, the machine's name");
  command.add_option("--rack", flags.rack, "The same, for racks");
}

void add_node_address_flags(CLI::App& command, NodeFlags& flags) {
  command.add_option("--listen", flags.listen, "Where the node serves bytes; port 0: any free one")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  command.add_option("--advertise", flags.advertise,
                     "Under which name or address clients reach it, if not the one it listens on");
  command.add_flag("--insecure", flags.insecure,
                   "Allow an address that others can reach, although there are no tokens yet");
}

std::string to_text(const MasterOptions& options) {
  return fmt::format("master: listen {}, state-dir {}, policy {}, watermarks {} and {}, seed {}{}",
                     to_string(options.listen),
                     options.state_directory ? options.state_directory->string() : "none",
                     options.config.policy, options.config.watermarks.high,
                     options.config.watermarks.low, options.config.seed,
                     options.lock_step ? ", in lock step" : "");
}

std::string to_text(const NodeOptions& options) {
  return fmt::format(
      "node: master {}, listen {}, advertise {}, memory {}, name {}, host {}, rack {}",
      to_string(options.master), to_string(options.listen),
      options.advertise.empty() ? "the same" : options.advertise, size_text(options.memory),
      options.name.empty() ? "(drawn)" : options.name,
      options.host.empty() ? "(this machine's)" : options.host,
      options.rack.empty() ? "none" : options.rack);
}

}  // namespace larder::real
