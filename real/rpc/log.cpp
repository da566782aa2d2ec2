#include "real/rpc/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "core/base/printable.h"

namespace larder::real {
namespace {

// spdlog carries a text from here to the sink; what the text was made of goes along its side.
thread_local const LogEvent* being_logged = nullptr;

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// The default logger that somebody set. spdlog's own one writes to stdout, which belongs to the
// program that links us: it gets our warnings on stderr instead.
spdlog::logger* process_logger() {
  spdlog::logger* const logger = spdlog::default_logger_raw();
  if (logger == nullptr || !logger->name().empty()) return logger;
  static const auto warnings = [] {
    auto made = std::make_shared<spdlog::logger>(
        "larder", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return warnings.get();
}

}  // namespace

std::string to_text(const LogEvent& event) {
  std::string text = printable(event.component) + ": " + printable(event.what);
  if (event.fields.empty()) return text;
  const char* before = " (";
  for (const LogField& field : event.fields) {
    text += std::string(before) + printable(field.name) + ' ' + printable(field.value);
    before = ", ";
  }
  return text + ")";
}

const LogEvent* event_being_logged() { return being_logged; }

void log(LogLevel level, std::string_view component, std::string_view what,
         std::initializer_list<LogField> fields) {
  spdlog::logger* const logger = process_logger();
  if (logger == nullptr || !logger->should_log(to_spdlog(level))) return;
  const LogEvent event{.level = level, .component = component, .what = what, .fields = fields};
  being_logged = &event;
  logger->log(to_spdlog(level), spdlog::string_view_t(to_text(event)));
  being_logged = nullptr;
}

}  // namespace larder::real
