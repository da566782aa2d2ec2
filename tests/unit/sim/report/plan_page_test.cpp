#include "sim/report/plan_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace larder::sim {
namespace {

using nlohmann::json;

json a_plan() {
  json candidates = json::array();
  for (int hosts = 1; hosts <= 3; ++hosts) {
    candidates.push_back({{"cost_per_hour", 25.0 * hosts},
                          {"varied", "hosts=" + std::to_string(hosts)},
                          {"error", hosts == 1 ? "does not fit" : ""},
                          {"meets", hosts == 3},
                          {"overloaded", hosts == 2},
                          {"ttft_p90_s", hosts == 1 ? json() : json(4.0 / hosts)},
                          {"hit_ratio", 0.3},
                          {"saved_gpu_s", 100 * hosts},
                          {"on_ttft_frontier", true},
                          {"on_saved_frontier", false}});
  }
  return {{"format", "larder-plan"},  {"version", 1},  {"objectives", {"ttft_p90<2s"}},
          {"candidates", candidates}, {"cheapest", 2}, {"cheapest_without_one_node", nullptr}};
}

std::string page_of(const json& plan) {
  const Result<std::string> html = plan_html(plan.dump());
  return html ? *html : html.error().message();
}

TEST(PlanPage, HoldsThePlanAndNothingCanEndItsElement) {
  json plan = a_plan();
  plan["candidates"][0]["error"] = "</script><script>alert(1)</script>";
  const std::string html = page_of(plan);
  EXPECT_TRUE(html.starts_with("<!doctype html>")) << html;
  EXPECT_EQ(html.find("</script><script>alert"), std::string::npos);
  const std::string begin = "id=\"plan\">";
  const std::size_t from = html.find(begin) + begin.size();
  EXPECT_EQ(json::parse(html.substr(from, html.find("</script>", from) - from)), plan);
}

TEST(PlanPage, E10WhatIsWrongIsNamedWithItsPlace) {
  const auto expect = [](auto change, const std::string& part) {
    json plan = a_plan();
    change(plan);
    EXPECT_NE(page_of(plan).find(part), std::string::npos) << part;
  };
  expect([](json& plan) { plan = 1; }, "plan.json: /format");
  expect([](json& plan) { plan["version"] = 7; }, "plan.json: /version");
  expect([](json& plan) { plan.erase("candidates"); }, "/candidates: is missing");
  expect([](json& plan) { plan["cheapest"] = 3; }, "/cheapest: wants the place of a candidate");
  expect([](json& plan) { plan["cheapest"] = -1; }, "/cheapest: wants the place of a candidate");
  expect([](json& plan) { plan["candidates"][1]["meets"] = "yes"; },
         "/candidates/1/meets: wants true or false");
  expect([](json& plan) { plan["candidates"][1]["name"] = 1; },
         "/candidates: wants texts as names");
  expect([](json& plan) { plan["objectives"] = {1}; }, "/objectives: wants texts");
  EXPECT_FALSE(plan_html("{\"format\":"));
}

}  // namespace
}  // namespace larder::sim
