#pragma once

#include <string>

#include "core/base/error.h"
#include "real/daemon/master_daemon.h"
#include "real/daemon/node_daemon.h"

namespace CLI {
class App;
}

namespace larder::real {

// What the flags of `larder master` and `larder node` say, and `larder up` of both. The options
// outlive `command`.
struct MasterFlags {
  std::string listen = "127.0.0.1:7700";
  std::string state_directory;
  std::string policy = "lru";
  double high_watermark = 0.95;
  double low_watermark = 0.90;
  std::uint64_t seed = 1;
  std::uint64_t epoch_after = 0;
  bool lock_step = false;
  bool insecure = false;

  Result<MasterOptions> options() const;
};
void add_master_flags(CLI::App& command, MasterFlags& flags);

struct NodeFlags {
  std::string listen = "127.0.0.1:0";
  std::string advertise;
  Bytes memory = 1_GiB;
  std::string name;
  std::string host;
  std::string rack;
  bool insecure = false;

  Result<NodeOptions> options(const std::string& master) const;
};
// --memory, --name, --host, --rack: what `larder up` takes too.
void add_node_flags(CLI::App& command, NodeFlags& flags);
// --listen, --advertise, --insecure
void add_node_address_flags(CLI::App& command, NodeFlags& flags);

// The effective configuration, one line for the log.
std::string to_text(const MasterOptions& options);
std::string to_text(const NodeOptions& options);

}  // namespace larder::real
