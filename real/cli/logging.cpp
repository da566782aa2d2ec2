#include "real/cli/logging.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

namespace larder::real {

void start_logging(const std::string& level) {
  const auto logger = spdlog::stderr_color_mt("larder");
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(logger);
}

void add_log_option(CLI::App& command, std::string& level) {
  command.add_option("--log-level", level, "What goes to stderr")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
}

}  // namespace larder::real
