#include "workloads/agentic.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/assert.h"
#include "core/base/json_problem.h"
#include "core/base/printable.h"

namespace larder::workloads {
namespace {

using nlohmann::json;

constexpr int nesting_max = 8;
// Far enough from the end of Duration that two of them can be added.
constexpr double seconds_max = 4.6e9;

// All sessions, flattened. A request's blocks are a range of `ids`.
struct Sessions {
  struct Entry {
    Request request;
    std::size_t ids_begin = 0;
    std::size_t ids_count = 0;
  };
  std::vector<Entry> entries;
  std::vector<BlockId> ids;
  std::uint64_t next_id = 0;
  std::uint32_t block_tokens = 0;
};

// One agent's list of requests, and where it stands.
struct Agent {
  const json& requests;
  std::string place;
  Duration began{0};
  int depth = 0;
};

class SessionParser {
 public:
  SessionParser(std::string file, std::uint32_t session, Sessions& sessions)
      : file_(std::move(file)), session_(session), sessions_(sessions) {}

  Status parse(const std::string& text) {
    // The parser takes a NUL for the end of its text and would pass over what follows.
    if (const std::size_t nul = text.find('\0'); nul != std::string::npos) {
      return bad("byte " + std::to_string(nul + 1) + ": a NUL byte");
    }
    try {
      return parse_document(json::parse(text));
    } catch (const json::exception& error) {
      return bad(json_problem(error));
    }
  }

 private:
  Status parse_document(const json& document) {
    if (!document.is_object()) return bad("must be a JSON object");
    LARDER_TRY(const std::uint64_t block_size,
               whole_number(document, "block_size", "", request_tokens_max));
    if (block_size == 0) return bad("block_size is 0");
    const auto block_tokens = static_cast<std::uint32_t>(block_size);
    if (sessions_.block_tokens != 0 && sessions_.block_tokens != block_tokens) {
      return bad("block_size is " + std::to_string(block_tokens) + ", but " +
                 std::to_string(sessions_.block_tokens) + " in the files before");
    }
    sessions_.block_tokens = block_tokens;
    if (const auto scope = document.find("hash_id_scope");
        scope != document.end() && *scope != "local") {
      return bad("hash_id_scope is " + shown(*scope) + ", must be \"local\"");
    }
    const std::size_t before = sessions_.entries.size();
    LARDER_TRY(const json* requests, list(document, "requests", ""));
    LARDER_CHECK(parse_agent({.requests = *requests, .place = "requests"}));
    if (sessions_.entries.size() == before) return bad("there are no requests");
    return {};
  }

  Status parse_agent(const Agent& agent) {
    const std::uint32_t number = agents_++;
    Duration last{0};
    for (std::size_t i = 0; i < agent.requests.size(); ++i) {
      const json& item = agent.requests[i];
      const std::string place = agent.place + '[' + std::to_string(i) + ']';
      if (!item.is_object()) return bad(place + " is " + shown(item) + ", must be an object");
      LARDER_TRY(const Duration t, seconds(item, "t", place));
      if (item.contains("requests")) {
        LARDER_CHECK(parse_subagent(item, {.requests = item["requests"],
                                           .place = place + ".requests",
                                           .began = agent.began + t,
                                           .depth = agent.depth + 1}));
        continue;
      }
      if (t < last) return bad(place + ".t is earlier than that of the agent's request before");
      last = t;
      LARDER_CHECK(
          parse_request(item, place, {.session = session_, .agent = number}, agent.began + t));
    }
    return {};
  }

  // `agent.began` comes as the time when it ended.
  Status parse_subagent(const json& item, Agent agent) {
    const std::string place = agent.place.substr(0, agent.place.rfind('.'));
    if (!agent.requests.is_array()) {
      return bad(agent.place + " is " + shown(agent.requests) + ", must be a list");
    }
    if (agent.depth > nesting_max) {
      return bad(place + ": sub-agents nest deeper than " + std::to_string(nesting_max));
    }
    LARDER_TRY(const std::uint64_t ms, whole_number(item, "duration_ms", place,
                                                    static_cast<std::uint64_t>(seconds_max * 1e3)));
    agent.began -= std::chrono::milliseconds(ms);
    if (agent.began < Duration{0})
      return bad(place + " began before its session: t - duration_ms < 0");
    return parse_agent(agent);
  }

  Status parse_request(const json& item, const std::string& place, Speaker speaker,
                       Duration arrival) {
    Sessions::Entry entry;
    entry.request = {
        .arrival = arrival, .speaker = speaker, .block_tokens = sessions_.block_tokens};
    LARDER_TRY(entry.request.input_tokens, whole_number(item, "in", place, request_tokens_max));
    LARDER_TRY(entry.request.output_tokens, whole_number(item, "out", place, request_tokens_max));
    if (item.contains("think_time")) {
      LARDER_TRY(entry.request.think_time, seconds(item, "think_time", place));
    }
    LARDER_TRY(const json* hash_ids, list(item, "hash_ids", place));
    const std::uint64_t needed = entry.request.input_tokens / sessions_.block_tokens;
    if (hash_ids->size() != needed) {
      return bad(place + ".hash_ids has " + std::to_string(hash_ids->size()) + " ids, but " +
                 std::to_string(entry.request.input_tokens) + " input tokens are " +
                 std::to_string(needed) + " full blocks of " +
                 std::to_string(sessions_.block_tokens));
    }
    entry.ids_begin = sessions_.ids.size();
    entry.ids_count = hash_ids->size();
    for (std::size_t i = 0; i < hash_ids->size(); ++i) {
      const json& id = (*hash_ids)[i];
      if (!id.is_number_unsigned()) {
        return bad(place + ".hash_ids[" + std::to_string(i) + "] is " + shown(id) +
                   ", must be a whole number from 0 to 18446744073709551615");
      }
      sessions_.ids.push_back(renumbered(id.get<std::uint64_t>()));
    }
    sessions_.entries.push_back(entry);
    return {};
  }

  BlockId renumbered(std::uint64_t local) {
    const auto [at, fresh] = numbers_.try_emplace(local, sessions_.next_id);
    if (fresh) ++sessions_.next_id;
    return {at->second};
  }

  Result<const json*> field(const json& object, const char* name, const std::string& place) {
    const auto at = object.find(name);
    if (at == object.end()) {
      return bad((place.empty() ? "" : place + ": ") + "the field '" + name + "' is missing");
    }
    return &*at;
  }

  Result<const json*> list(const json& object, const char* name, const std::string& place) {
    LARDER_TRY(const json* value, field(object, name, place));
    if (!value->is_array()) return wrong(name, place, *value, "a list");
    return value;
  }

  Result<std::uint64_t> whole_number(const json& object, const char* name, const std::string& place,
                                     std::uint64_t max) {
    LARDER_TRY(const json* value, field(object, name, place));
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > max) {
      return wrong(name, place, *value, "a whole number from 0 to " + std::to_string(max));
    }
    return value->get<std::uint64_t>();
  }

  Result<Duration> seconds(const json& object, const char* name, const std::string& place) {
    LARDER_TRY(const json* value, field(object, name, place));
    const double number =
        value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(number >= 0 && number <= seconds_max)) {
      return wrong(name, place, *value, "a number of seconds from 0 to 4600000000");
    }
    return Duration(static_cast<std::int64_t>(std::round(number * 1e9)));
  }

  std::unexpected<Error> wrong(const char* name, const std::string& place, const json& value,
                               const std::string& needed) {
    return bad((place.empty() ? "" : place + ".") + name + " is " + shown(value) + ", must be " +
               needed);
  }

  static std::string shown(const json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    if (value.is_string()) return "the string " + in_quotes(value.get_ref<const std::string&>());
    return value.dump();
  }

  std::unexpected<Error> bad(const std::string& what) const {
    return failed(ErrorCode::bad_file, file_ + ": " + what);
  }

  std::string file_;
  std::uint32_t session_;
  std::uint32_t agents_ = 0;
  Sessions& sessions_;
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> numbers_;
};

class AgenticReader final : public TraceReader {
 public:
  explicit AgenticReader(Sessions sessions) : sessions_(std::move(sessions)) {
    for (std::size_t i = 0; i < sessions_.entries.size(); ++i) order_.push_back(i);
    std::ranges::sort(order_, {}, [this](std::size_t i) {
      return std::pair(sessions_.entries[i].request.arrival, i);
    });
  }

  Result<const Request*> next() override {
    if (next_ == order_.size()) return nullptr;
    Sessions::Entry& entry = sessions_.entries[order_[next_++]];
    entry.request.blocks = std::span(sessions_.ids).subspan(entry.ids_begin, entry.ids_count);
    return &entry.request;
  }

 private:
  Sessions sessions_;
  std::vector<std::size_t> order_;  // of the entries, by arrival
  std::size_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<TraceReader>> read_agentic(std::vector<InputFile> files) {
  LARDER_ASSERT(!files.empty());
  Sessions sessions;
  for (std::size_t i = 0; i < files.size(); ++i) {
    LARDER_TRY(const std::string text, files[i].rest(agentic_file_bytes_max));
    const std::string name = files[i].path().string();
    if (text.empty()) return failed(ErrorCode::bad_file, name + ": the file is empty");
    LARDER_CHECK(SessionParser(name, static_cast<std::uint32_t>(i), sessions).parse(text));
  }
  return std::make_unique<AgenticReader>(std::move(sessions));
}

}  // namespace larder::workloads
