#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "real/cli/logging.h"
#include "real/daemon/master_daemon.h"
#include "real/daemon/node_daemon.h"
#include "real/settings/settings.h"
#include "terminal/command.h"

namespace larder::real {

// Every setting of larder, with its default. real/settings/settings.h says how flags, variables and
// file set them; configuration.cpp has the declarations.
struct Configuration {
  Endpoint pool_master{.host = "127.0.0.1", .port = 7700};  // of nodes and clients
  std::string tenant = "default";
  Duration timeout{0};  // of a command; 0: as the size asks for
  std::string transport = "tcp";
  bool insecure = false;
  TcpOptions tcp;  // of nodes and clients
  LogOptions log;
  MasterOptions master;
  NodeOptions node;

  Configuration();
  Configuration(const Configuration&) = delete;
  Configuration& operator=(const Configuration&) = delete;

  Settings settings;

 private:
  void declare_shared();
  void declare_master();
  void declare_node();
};

// Sections of the settings.
namespace section {
inline constexpr std::string_view pool = "pool";      // where the master is
inline constexpr std::string_view client = "client";  // of commands that put, get and ask
inline constexpr std::string_view server = "server";  // of all that listen
inline constexpr std::string_view tcp = "tcp";        // of connections that move values
inline constexpr std::string_view log = "log";
inline constexpr std::string_view master = "master";
inline constexpr std::string_view node = "node";
}  // namespace section

// Gives the command the flags of these sections. Once they are read, before its callback,
// everything is loaded and logging starts; what is wrong ends as wrong usage.
std::shared_ptr<Configuration> add_configuration(terminal::Command command,
                                                 const std::vector<std::string_view>& sections);

// The same for a command that only shows the settings of all sections: with no flag but --config.
std::shared_ptr<Configuration> add_configuration_of_all(terminal::Command command);

}  // namespace larder::real
