#include "real/cli/logging.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "real/cli/json_output.h"
#include "real/rpc/log.h"

namespace larder::real {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Message = spdlog::details::log_msg;
using WallTime = spdlog::log_clock::time_point;

constexpr auto window = seconds(10);
constexpr std::size_t kinds_max = 1024;  // more than the program has

std::string iso_time(WallTime time) {
  const auto ms = std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const Message& message, spdlog::memory_buf_t& out) override {
    const auto level = spdlog::level::to_string_view(message.level);
    ordered_json line{{"time", iso_time(message.time)},
                      {"level", std::string(level.data(), level.size())}};
    if (const LogEvent* event = event_being_logged()) {
      line["component"] = event->component;
      line["event"] = event->what;
      for (const LogField& field : event->fields) line[std::string(field.name)] = field.value;
    } else {
      line["event"] = std::string(message.payload.data(), message.payload.size());
    }
    const std::string text = to_line(line);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

std::string kind_of(const Message& message) {
  const LogEvent* event = event_being_logged();
  if (event == nullptr) return std::string(message.payload.data(), message.payload.size());
  return fmt::format("{} {}: {}", static_cast<int>(message.level), event->component, event->what);
}

// Lets the first lines of each kind in a window through.
class LimitingSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LimitingSink(std::shared_ptr<spdlog::sinks::sink> out) : out_(std::move(out)) {}
  ~LimitingSink() override { say_left_out(WallTime::max()); }

 protected:
  void sink_it_(const Message& message) override {
    say_left_out(message.time);
    Kind& kind = kinds_[kind_of(message)];
    if (kind.written == 0) kind.begin = message.time;
    if (kind.written < log_burst) {
      ++kind.written;
      return out_->log(message);
    }
    if (kind.left_out++ > 0) return;
    kind.level = message.level;
    if (const LogEvent* event = event_being_logged()) {
      kind.component = event->component;
      kind.what = event->what;
    } else {
      kind.what = std::string(message.payload.data(), message.payload.size());
    }
  }
  void flush_() override { out_->flush(); }
  void set_pattern_(const std::string& pattern) override { out_->set_pattern(pattern); }
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override {
    out_->set_formatter(std::move(formatter));
  }

 private:
  struct Kind {
    WallTime begin;
    unsigned written = 0;
    std::uint64_t left_out = 0;
    spdlog::level::level_enum level = spdlog::level::info;  // and what it says, of what is left out
    std::string component;
    std::string what;
  };

  // Of windows that are over at `now`, or that a clock that was set back makes useless.
  void say_left_out(WallTime now) {
    std::erase_if(kinds_, [&](const auto& entry) {
      const Kind& kind = entry.second;
      const bool over = kinds_.size() > kinds_max || now < kind.begin || now - kind.begin >= window;
      if (over && kind.left_out > 0) say(kind, now);
      return over;
    });
  }
  void say(const Kind& kind, WallTime now) {
    const std::string text =
        fmt::format("{}{}{} like it were left out: {}", kind.component,
                    kind.component.empty() ? "" : ": ", kind.left_out, kind.what);
    Message message("larder", kind.level, text);
    message.time = now == WallTime::max() ? kind.begin + window : now;
    out_->log(message);
  }

  std::shared_ptr<spdlog::sinks::sink> out_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace

std::shared_ptr<spdlog::logger> make_logger(const LogOptions& options,
                                            std::shared_ptr<spdlog::sinks::sink> out) {
  auto logger =
      std::make_shared<spdlog::logger>("larder", std::make_shared<LimitingSink>(std::move(out)));
  if (options.format == "json") {
    logger->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  }
  logger->set_level(spdlog::level::from_str(options.level));
  logger->flush_on(spdlog::level::info);
  return logger;
}

void start_logging(const LogOptions& options) {
  spdlog::set_default_logger(
      make_logger(options, std::make_shared<spdlog::sinks::stderr_color_sink_mt>()));
}

}  // namespace larder::real
