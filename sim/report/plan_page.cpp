#include "sim/report/plan_page.h"

#include <array>
#include <nlohmann/json.hpp>

#include "proto/hardware/json_object.h"
#include "sim/report/checked_json.h"
#include "sim/report/script_page.h"
#include "sim/report/scripts.h"

namespace larder::sim {
namespace {

using nlohmann::json;

constexpr std::string_view plan_file = "plan.json";
constexpr std::string_view explanation =
    "Costs are those of the hosts in use, in the money of their prices. A setting is on a frontier "
    "if none that costs less or as much brings more. docs/planning.md says what is tried and how.";

// The place of a candidate, or null.
Status check_place(const json& plan, const char* name) {
  const json& place = plan[name];
  if (place.is_null()) return {};
  if (place.is_number_unsigned() && place < plan["candidates"].size()) return {};
  return bad_file(plan_file, std::string("/") + name, "wants the place of a candidate, or null");
}

Status check_plan(const json& plan) {
  if (!plan.is_object() || plan.value("format", json()) != "larder-plan") {
    return bad_file(plan_file, "/format", "wants \"larder-plan\", as larder-sim plan writes it");
  }
  if (plan.value("version", json()) != 1) {
    return bad_file(plan_file, "/version", "this program reads version 1");
  }
  constexpr std::array members{Wanted{"objectives", Kind::list}, Wanted{"candidates", Kind::list},
                               Wanted{"cheapest", Kind::maybe_number},
                               Wanted{"cheapest_without_one_node", Kind::maybe_number}};
  LARDER_CHECK(check_members(plan, {plan_file, ""}, members));
  for (const json& objective : plan["objectives"]) {
    if (!objective.is_string()) return bad_file(plan_file, "/objectives", "wants texts");
  }
  constexpr std::array candidate{Wanted{"cost_per_hour", Kind::maybe_number},
                                 Wanted{"varied", Kind::text},
                                 Wanted{"error", Kind::text},
                                 Wanted{"meets", Kind::flag},
                                 Wanted{"overloaded", Kind::flag},
                                 Wanted{"ttft_p90_s", Kind::maybe_number},
                                 Wanted{"hit_ratio", Kind::maybe_number},
                                 Wanted{"saved_gpu_s", Kind::maybe_number},
                                 Wanted{"on_ttft_frontier", Kind::flag},
                                 Wanted{"on_saved_frontier", Kind::flag}};
  LARDER_CHECK(check_each(plan["candidates"], {plan_file, "/candidates"}, candidate));
  for (const json& each : plan["candidates"]) {  // plans of before have no names
    if (each.contains("name") && !each["name"].is_string()) {
      return bad_file(plan_file, "/candidates", "wants texts as names");
    }
  }
  LARDER_CHECK(check_place(plan, "cheapest"));
  return check_place(plan, "cheapest_without_one_node");
}

}  // namespace

Result<std::string> plan_html(std::string_view plan) {
  const Result<json> read = parse_json(plan);
  if (!read) return bad_file(plan_file, "the text", read.error().facts().detail);
  LARDER_CHECK(check_plan(*read));
  const std::array elements{PageElement{"plan", plan}};
  return script_page(
      {.title = "A plan", .footer = explanation, .elements = elements, .script = plan_script()});
}

}  // namespace larder::sim
