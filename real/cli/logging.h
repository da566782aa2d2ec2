#pragma once

#include <memory>
#include <string>

namespace spdlog {
class logger;
namespace sinks {
class sink;
}
}  // namespace spdlog

namespace larder::real {

struct LogOptions {
  std::string level = "info";   // debug, info, warn, error, off
  std::string format = "text";  // for people; json: one object a line {time, level, component,
                                // event} and the fields of the event
};

// Logs go to stderr, so that stdout has results only. Of one kind of event (level, component and
// what it says, without its fields) at most `log_burst` lines are written within ten seconds; how
// many like it were left out is said once those are over, with the next line of any kind, or when
// the log ends.
void start_logging(const LogOptions& options);

inline constexpr unsigned log_burst = 10;

// The same with lines that go to `out`.
std::shared_ptr<spdlog::logger> make_logger(const LogOptions& options,
                                            std::shared_ptr<spdlog::sinks::sink> out);

}  // namespace larder::real
