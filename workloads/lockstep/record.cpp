#include "workloads/lockstep/record.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/json_problem.h"
#include "core/base/printable.h"
#include "workloads/input_file.h"
#include "workloads/output_file.h"

namespace larder::workloads {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t file_bytes_max = 16u << 20;
constexpr double seconds_max = 9e9;  // what nanoseconds in 64 bits can count

std::string hex(std::uint64_t digest) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(digest));
  return text.data();
}

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

ordered_json to_json(const LockstepPoint& point) {
  return {{"request", point.request},     {"page_hits", point.page_hits},
          {"pages", point.pages},         {"puts", point.puts},
          {"evictions", point.evictions}, {"decision_digest", hex(point.decision_digest)},
          {"elapsed_s", point.elapsed_s}};
}

// The fields of one JSON object of a file, each looked at once.
class Fields {
 public:
  Fields(const ordered_json& object, std::string place)
      : object_(object), place_(std::move(place)) {}

  bool has(const char* name) const { return object_.contains(name); }

  Status get(const char* name, std::uint64_t& number) const {
    LARDER_TRY(const ordered_json* value, find(name));
    if (!value->is_number_unsigned()) return wrong(name, "a whole number from 0 on");
    number = value->get<std::uint64_t>();
    return {};
  }
  Status get(const char* name, Bytes& bytes) const { return get(name, bytes.value); }
  Status get(const char* name, double& seconds) const {
    LARDER_TRY(const ordered_json* value, find(name));
    if (!value->is_number()) return wrong(name, "a number of seconds");
    seconds = value->get<double>();
    if (!(seconds >= 0 && seconds <= seconds_max)) return wrong(name, "a number of seconds");
    return {};
  }
  Status get(const char* name, bool& flag) const {
    LARDER_TRY(const ordered_json* value, find(name));
    if (!value->is_boolean()) return wrong(name, "true or false");
    flag = value->get<bool>();
    return {};
  }
  Status get(const char* name, std::string& text) const {
    LARDER_TRY(const ordered_json* value, find(name));
    if (!value->is_string()) return wrong(name, "a string");
    text = value->get<std::string>();
    return {};
  }
  Status get_digest(const char* name, std::uint64_t& digest) const {
    std::string text;
    LARDER_CHECK(get(name, text));
    const char* end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data(), end, digest, 16);
    if (text.size() == 16 && error == std::errc() && parsed == end) return {};
    return wrong(name, "16 hexadecimal digits");
  }
  template <class T>
  Status get(const char* name, std::optional<T>& value) const {
    return has(name) ? get(name, value.emplace()) : Status();
  }
  Result<const ordered_json*> find(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) {
      return failed(ErrorCode::bad_file, place_ + ": '" + name + "' is missing");
    }
    return &*found;
  }
  std::unexpected<Error> wrong(const char* name, const std::string& wanted) const {
    return failed(ErrorCode::bad_file, place_ + ": '" + name + "' is " +
                                           in_quotes(object_.find(name)->dump()) + ", must be " +
                                           wanted);
  }

 private:
  const ordered_json& object_;
  std::string place_;
};

Result<LockstepPoint> parse_point(const ordered_json& object, const std::string& place) {
  if (!object.is_object()) return failed(ErrorCode::bad_file, place + ": must be an object");
  const Fields fields(object, place);
  LockstepPoint point;
  LARDER_CHECK(fields.get("request", point.request));
  LARDER_CHECK(fields.get("page_hits", point.page_hits));
  LARDER_CHECK(fields.get("pages", point.pages));
  LARDER_CHECK(fields.get("puts", point.puts));
  LARDER_CHECK(fields.get("evictions", point.evictions));
  LARDER_CHECK(fields.get_digest("decision_digest", point.decision_digest));
  LARDER_CHECK(fields.get("elapsed_s", point.elapsed_s));
  return point;
}

Status parse_series(const Fields& fields, const std::string& file, LockstepRecord& record) {
  LARDER_TRY(const ordered_json* series, fields.find("series"));
  if (!series->is_array()) return fields.wrong("series", "a list");
  for (std::size_t i = 0; i < series->size(); ++i) {
    const std::string place = file + ": series[" + std::to_string(i) + ']';
    LARDER_TRY(const LockstepPoint point, parse_point((*series)[i], place));
    const std::uint64_t before = record.series.empty() ? 0 : record.series.back().request;
    if (point.request <= before || point.request > record.totals.requests) {
      return failed(ErrorCode::bad_file, place + ": request " + std::to_string(point.request) +
                                             " is not between " + std::to_string(before + 1) +
                                             " and " + std::to_string(record.totals.requests));
    }
    if (point.page_hits > point.pages) {
      return failed(ErrorCode::bad_file, place + ": more page_hits than pages");
    }
    record.series.push_back(point);
  }
  return {};
}

Status parse_totals(const Fields& fields, LockstepTotals& totals) {
  if (fields.has("warmup_requests")) {
    LARDER_CHECK(fields.get("warmup_requests", totals.warmup_requests));
  }
  LARDER_CHECK(fields.get("requests", totals.requests));
  LARDER_CHECK(fields.get("page_hits", totals.page_hits));
  LARDER_CHECK(fields.get("pages", totals.pages));
  LARDER_CHECK(fields.get("tokens_hit", totals.tokens_hit));
  LARDER_CHECK(fields.get("tokens", totals.tokens));
  LARDER_CHECK(fields.get("puts", totals.puts));
  LARDER_CHECK(fields.get("evictions", totals.evictions));
  LARDER_CHECK(fields.get("bytes_read", totals.bytes_read));
  LARDER_CHECK(fields.get("bytes_written", totals.bytes_written));
  if (fields.has("trace_s")) {
    double trace_s = 0;
    LARDER_CHECK(fields.get("trace_s", trace_s));
    totals.trace_time =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(trace_s));
  }
  if (totals.page_hits > totals.pages) return fields.wrong("page_hits", "at most 'pages'");
  if (totals.tokens_hit > totals.tokens) return fields.wrong("tokens_hit", "at most 'tokens'");
  return fields.get_digest("decision_digest", totals.decision_digest);
}

Result<LockstepRecord> parse_record(const ordered_json& object, const std::string& file) {
  if (!object.is_object()) return failed(ErrorCode::bad_file, file + ": must be a JSON object");
  const Fields fields(object, file);
  LockstepRecord record;
  LARDER_CHECK(fields.get("world", record.world));
  if (record.world != real_world && record.world != simulated_world) {
    return fields.wrong("world", "\"real\" or \"sim\"");
  }
  LARDER_CHECK(fields.get("trace", record.trace));
  LARDER_CHECK(fields.get("page_bytes", record.page_bytes));
  LARDER_CHECK(fields.get("verified", record.verified));
  LARDER_CHECK(fields.get("nodes", record.nodes));
  LARDER_CHECK(fields.get("memory_bytes", record.memory));
  LARDER_CHECK(fields.get("policy", record.policy));
  LARDER_CHECK(fields.get("seed", record.seed));
  LARDER_CHECK(parse_totals(fields, record.totals));
  if (fields.has("state_hash")) {
    LARDER_CHECK(fields.get_digest("state_hash", record.state_hash.emplace()));
  }
  LARDER_CHECK(fields.get("virtual_s", record.virtual_s));
  LARDER_CHECK(fields.get("wall_s", record.wall_s));
  if (fields.has("series")) LARDER_CHECK(parse_series(fields, file, record));
  return record;
}

}  // namespace

bool LockstepPoint::agrees_with(const LockstepPoint& other) const {
  return request == other.request && page_hits == other.page_hits && pages == other.pages &&
         puts == other.puts && evictions == other.evictions &&
         decision_digest == other.decision_digest;
}

void LockstepSeries::add(const LockstepTotals& totals, Duration elapsed) {
  if (totals.requests == 0) return;
  last_ = {.request = totals.requests,
           .page_hits = totals.page_hits,
           .pages = totals.pages,
           .puts = totals.puts,
           .evictions = totals.evictions,
           .decision_digest = totals.decision_digest,
           .elapsed_s = in_seconds(elapsed)};
  if (last_.request % stride_ != 0) return;
  kept_.push_back(last_);
  if (kept_.size() < points_max) return;
  stride_ *= 2;
  std::erase_if(kept_, [this](const LockstepPoint& point) { return point.request % stride_ != 0; });
}

std::vector<LockstepPoint> LockstepSeries::points() const {
  std::vector<LockstepPoint> points = kept_;
  const std::uint64_t kept_until = points.empty() ? 0 : points.back().request;
  if (last_.request > kept_until) points.push_back(last_);
  return points;
}

std::string to_json(const LockstepRecord& record) {
  const LockstepTotals& totals = record.totals;
  ordered_json object{{"world", record.world},
                      {"trace", record.trace},
                      {"page_bytes", record.page_bytes.value},
                      {"verified", record.verified}};
  if (record.nodes) object["nodes"] = *record.nodes;
  if (record.memory) object["memory_bytes"] = record.memory->value;
  if (record.policy) object["policy"] = *record.policy;
  if (record.seed) object["seed"] = *record.seed;
  object.update({{"warmup_requests", totals.warmup_requests},
                 {"requests", totals.requests},
                 {"page_hits", totals.page_hits},
                 {"pages", totals.pages},
                 {"tokens_hit", totals.tokens_hit},
                 {"tokens", totals.tokens},
                 {"puts", totals.puts},
                 {"evictions", totals.evictions},
                 {"bytes_read", totals.bytes_read.value},
                 {"bytes_written", totals.bytes_written.value},
                 {"decision_digest", hex(totals.decision_digest)},
                 {"trace_s", in_seconds(totals.trace_time)}});
  if (record.state_hash) object["state_hash"] = hex(*record.state_hash);
  if (record.virtual_s) object["virtual_s"] = *record.virtual_s;
  object["wall_s"] = record.wall_s;
  if (!record.series.empty()) {
    ordered_json& series = object["series"] = ordered_json::array();
    for (const LockstepPoint& point : record.series) series.push_back(to_json(point));
  }
  // A name that is no UTF-8 is shown as well as it can be.
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Status write_record(const std::filesystem::path& directory, const LockstepRecord& record) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error && !std::filesystem::is_directory(directory)) {
    return failed(ErrorCode::file_write_fail,
                  directory.string() + ": cannot make this directory: " + error.message());
  }
  LARDER_TRY(OutputFile file, OutputFile::create(directory / (record.world + ".json")));
  LARDER_CHECK(file.write(to_json(record)));
  return file.commit();
}

Result<LockstepRecord> read_record(const std::filesystem::path& file) {
  LARDER_TRY(InputFile input, InputFile::open(file));
  LARDER_TRY(const std::string text, input.rest(file_bytes_max));
  const std::string name = file.string();
  try {
    return parse_record(ordered_json::parse(text), name);
  } catch (const ordered_json::exception& error) {
    return failed(ErrorCode::bad_file, name + ": " + json_problem(error));
  }
}

}  // namespace larder::workloads
