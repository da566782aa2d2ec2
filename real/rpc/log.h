#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace larder::real {

enum class LogLevel : std::uint8_t { debug, info, warn, error };

struct LogField {
  std::string_view name;  // such as node, endpoint, key
  std::string value;
};

// One event. `what` is always the same text for the same kind of event; whatever differs from one
// to the next stands in the fields. So a program can count events, and the log can leave out those
// of a kind that come too often (real/cli/logging.h).
struct LogEvent {
  LogLevel level;
  std::string_view component;  // rpc, node, master, data
  std::string_view what;
  std::span<const LogField> fields;
};

// Writes one line, "rpc: closed a connection (peer 10.0.0.1:7, why …)", to spdlog's default logger
// if the program has set one; else to stderr, and then only warnings and errors. Control characters
// are written as \xNN, whoever sent them. From any thread.
void log(LogLevel level, std::string_view component, std::string_view what,
         std::initializer_list<LogField> fields = {});

// The text of an event, as above.
std::string to_text(const LogEvent& event);

// For sinks and formatters: the event that this thread is writing; null if the line came from
// elsewhere.
const LogEvent* event_being_logged();

}  // namespace larder::real
