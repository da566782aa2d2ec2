#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/percent.h"
#include "core/base/size_text.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/pool_options.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::real {
namespace {

using Version = ObjectDetails::Version;
using Replica = ObjectDetails::Replica;

struct StatArguments {
  PoolOptions pool;
  KeyOptions keys;
  std::vector<std::string> arguments;
  bool json = false;
};

ordered_json or_null(Duration duration) {
  return duration == Duration(0) ? ordered_json() : ordered_json(in_seconds(duration));
}

ordered_json replica_json(const Replica& replica) {
  return {{"state", replica.state},
          {"node", name_or_null(replica.node)},
          {"node_state", replica.node_state},
          {"endpoint", replica.endpoint},
          {"segment", to_string(replica.segment)},
          {"segment_name", name_or_null(replica.segment_name)},
          {"offset", replica.offset.value}};
}

ordered_json version_json(const Version& version) {
  ordered_json replicas = ordered_json::array();
  for (const Replica& replica : version.replicas) replicas.push_back(replica_json(replica));
  const bool complete = version.writer.empty() && version.state == "complete";
  ordered_json json{{"state", version.state},
                    {"put_id", to_string(version.put_id)},
                    {"size", version.size.value},
                    {"checksum", nullptr},
                    {"group", name_or_null(version.group)},
                    {"parent", name_or_null(version.parent)},
                    {"hard_pin", version.hard_pin},
                    {"soft_pin_s", or_null(version.soft_pin)},
                    {"time_to_live_s", or_null(version.time_to_live)}};
  if (version.checksum) json["checksum"] = fmt::format("{:016x}", *version.checksum);
  if (complete) {
    json["lease_s"] = in_seconds(version.lease);
    json["age_s"] = in_seconds(version.age);
    json["idle_s"] = in_seconds(version.idle);
  } else {
    json["writer"] = name_or_null(version.writer);
    json["time_left_s"] = in_seconds(version.time_left);
  }
  json["replicas"] = std::move(replicas);
  return json;
}

std::string line(std::string_view name, const std::string& value) {
  return fmt::format("  {:<12}{}\n", name, value);
}

std::string seconds(Duration duration) { return terminal::as_time(in_seconds(duration)); }

std::string pins_text(const Version& version) {
  std::string text;
  if (version.hard_pin) text = "hard";
  if (version.soft_pin > Duration(0)) {
    text += (text.empty() ? "soft, for " : ", soft, for ") + seconds(version.soft_pin) + " more";
  }
  return text.empty() ? "none" : text;
}

std::string to_text(const Version& version) {
  std::string text =
      line("version", fmt::format("{}, put {}", version.state, to_string(version.put_id)));
  text += line("size", fmt::format("{} ({} bytes)", size_text(version.size), version.size.value));
  text += line("checksum", version.checksum ? fmt::format("{:016x}", *version.checksum) : "none");
  if (version.state == "complete") {
    text +=
        line("stored",
             fmt::format("{} ago, last got {}", seconds(version.age),
                         version.idle == version.age ? "never" : seconds(version.idle) + " ago"));
    text += line("lease", version.lease > Duration(0) ? seconds(version.lease) + " left" : "none");
  } else {
    text += line("writer", fmt::format("{}, {} left", percent_escaped(version.writer),
                                       seconds(version.time_left)));
  }
  text += line("pins", pins_text(version));
  text +=
      line("to live",
           version.time_to_live > Duration(0) ? seconds(version.time_to_live) + " more" : "no end");
  if (!version.group.empty()) text += line("group", percent_escaped(version.group));
  if (!version.parent.empty()) text += line("parent", percent_escaped(version.parent));
  for (const Replica& replica : version.replicas) {
    text += line("replica",
                 replica.node.empty()
                     ? replica.state
                     : fmt::format("{} on {} ({}) at {}, segment {}, offset {}", replica.state,
                                   percent_escaped(replica.node), replica.node_state,
                                   percent_escaped(replica.endpoint),
                                   percent_escaped(replica.segment_name), replica.offset.value));
  }
  return text;
}

Status run(const StatArguments& arguments) {
  LARDER_TRY(const std::vector<std::string> keys, arguments.keys.all(arguments.arguments));
  LARDER_TRY(Pool pool, arguments.pool.connect());
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto found = pool.describe(views);
  std::string text;
  ordered_json list = ordered_json::array();
  Failures failures;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ordered_json one{{"key", percent_escaped(keys[i])}};
    if (found[i]) {
      text += percent_escaped(keys[i]) + "\n";
      for (const Version& version : found[i]->versions) {
        text += to_text(version);
        one["versions"].push_back(version_json(version));
      }
    } else {
      one["error"] = to_json(found[i].error());
      failures.add(found[i].error());
    }
    list.push_back(std::move(one));
  }
  LARDER_CHECK(terminal::print(arguments.json ? to_line(list) : text));
  return failures.first();
}

}  // namespace

void add_stat(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("stat", "Shows everything that is known of each key");
  command.footer(
      "Its versions (the complete one, and one that is being put), where each copy lies, size,\n"
      "checksum, pins, time to live, lease, age, and since when it was not got. It does not count\n"
      "as a use. Of a key in a group the lease and the last get are the group's; the parent of a\n"
      "complete version is known where the policy knows prefixes.\n"
      "Example: larder stat page/1 page/2");
  const auto arguments = std::make_shared<StatArguments>();
  command.add_option("KEY", arguments->arguments, "The keys").required();
  add_key_options(command, arguments->keys);
  add_pool_options(command, arguments->pool);
  command.add_flag("--json", arguments->json,
                   "Print an array of {key, versions} or {key, error}; sizes in bytes, times in "
                   "seconds, null for what there is none of");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
