#include "sim/report/run_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "proto/hardware/hardware_file.h"

namespace larder::sim {
namespace {

using nlohmann::json;

const std::string links_head = "begin_s,end_s,edge,link,bytes,share\n";

// A run of three requests in two intervals.
json a_run() {
  json intervals;
  for (const char* column : {"arrived",
                             "waiting",
                             "ttft_p50_s",
                             "ttft_p90_s",
                             "ttft_p99_s",
                             "pages",
                             "gpu_hits",
                             "host_hits",
                             "pool_hits",
                             "prompts_busy_share",
                             "decoding_busy_share",
                             "pool_capacity_bytes",
                             "pool_used_bytes",
                             "pool_quarantined_bytes",
                             "read_bytes",
                             "put_bytes",
                             "evicted_bytes",
                             "input_tokens",
                             "computed_tokens",
                             "hit_ratio",
                             "master_busy_share",
                             "missed_cold"}) {
    intervals[column] = {1, nullptr};
  }
  intervals["begin_s"] = {0, 1};
  intervals["end_s"] = {1, 1.5};
  return {{"format", "larder-run"},
          {"version", 1},
          {"trace", {{"paths", {"a/trace.jsonl"}}}},
          {"setting", {{"nodes", 8}}},
          {"sizes", {{"pool_bytes", 1000}}},
          {"time_s", 1.5},
          {"requests", {{"arrived", 3}, {"completed", 3}}},
          {"pages",
           {{"asked", 4},
            {"hits", 1},
            {"missed", 3},
            {"gpu_hits", 0},
            {"host_hits", 0},
            {"pool_hits", 1},
            {"hit_ratio", 0.25},
            {"misses_by_reason", {{"cold", 3}}}}},
          {"ttft",
           {{"p50_s", 0.1},
            {"p90_s", 0.2},
            {"p99_s", nullptr},
            {"histogram_from_s_until_s_count", {{0.1, 0.2, 3}}}}},
          {"saved_gpu_s", nullptr},
          {"pressure", {{"load", 0.5}, {"waiting_most", 1}}},
          {"pool", {{"evicted_bytes", 0}, {"evicted_objects", 0}}},
          {"engines", json::array()},
          {"nodes", json::array()},
          {"busiest_links", json::array()},
          {"faults", {{{"fault", "node:3@1s"}, {"begin_s", 1}, {"end_s", nullptr}}}},
          {"notes", {"a note"}},
          {"intervals", intervals},
          {"hardware", json::parse(write_hardware(hardware_preset("cpu-2x100").value()))},
          {"model", {{"name", "llama-3.1-8b"}}}};
}

std::string page_of(const json& run, const std::string& links = "") {
  const Result<std::string> html = run_html({.run = run.dump(), .links = links});
  return html ? *html : html.error().message();
}

json embedded(const std::string& html, const std::string& id) {
  const std::string begin = "id=\"" + id + "\">";
  const std::size_t from = html.find(begin) + begin.size();
  return json::parse(html.substr(from, html.find("</script>", from) - from));
}

TEST(RunPage, HoldsTheRunAndTheLinksByInterval) {
  const std::string html = page_of(
      a_run(), links_head + "0.000000000,1.000000000,7,\"host0/nic0 to leaf0\",500,0.250000\n" +
                   "0.000000000,1.000000000,9,\"leaf0 to host1/nic0\",100,0.500000\n" +
                   "1.000000000,1.500000000,7,\"host0/nic0 to leaf0\",600,0.750000\n");
  EXPECT_EQ(embedded(html, "run"), a_run());
  const json links = embedded(html, "links");
  EXPECT_EQ(links.at("begins_s"), json({0.0, 1.0}));
  EXPECT_EQ(links.at("ends_s"), json({1.0, 1.5}));
  EXPECT_EQ(links.at("edges").at(0),
            json({{"link", "host0/nic0 to leaf0"}, {"bytes", 1100}, {"shares", {0.25, 0.75}}}));
  EXPECT_EQ(links.at("edges").at(1).at("shares"), json({0.5, 0.0}));
}

json a_curve() {
  return {{"asked", 10},
          {"found", 4},
          {"fetched", 3},
          {"lru_found", 3},
          {"belady_found", 5},
          {"infinite_found", 6},
          {"pool_pages", 2},
          {"page_room_bytes", 100},
          {"different_pages", 4},
          {"points",
           {{"pages", {1, 2, 4}},
            {"bytes", {100, 200, 400}},
            {"lru_found", {1, 3, 6}},
            {"belady_found", {nullptr, 5, 6}}}}};
}

TEST(RunPage, HoldsTheCurveOfThePoolAndOlderFilesStillHaveAPage) {
  json run = a_run();
  EXPECT_EQ(embedded(page_of(run), "run").contains("pool_curve"), false);
  run["pool_curve"] = nullptr;
  EXPECT_TRUE(page_of(run).starts_with("<!doctype html>"));
  run["pool_curve"] = a_curve();
  EXPECT_EQ(embedded(page_of(run), "run").at("pool_curve"), a_curve());
  run["pool_curve"]["pool_pages"] = run["pool_curve"]["belady_found"] = nullptr;
  EXPECT_TRUE(page_of(run).starts_with("<!doctype html>"));
}

TEST(RunPage, E10WhatIsWrongWithTheCurveIsNamedWithItsPlace) {
  struct Case {
    void (*change)(json&);
    const char* says;
  };
  for (const Case& wrong : std::initializer_list<Case>{
           {[](json& c) { c = 5; }, "/pool_curve"},
           {[](json& c) { c.erase("asked"); }, "/pool_curve/asked"},
           {[](json& c) { c["points"]["lru_found"] = {1}; },
            "/pool_curve/points/lru_found: has 1 values, and pages 3"},
           {[](json& c) { c["points"]["bytes"][1] = nullptr; }, "/pool_curve/points/bytes"},
           {[](json& c) { c["points"]["belady_found"][0] = "x"; }, "/pool_curve/points/belady"}}) {
    json run = a_run();
    run["pool_curve"] = a_curve();
    wrong.change(run["pool_curve"]);
    EXPECT_NE(page_of(run).substr(0, 300).find(wrong.says), std::string::npos)
        << page_of(run).substr(0, 300);
  }
}

TEST(RunPage, AsksNoNetworkForAnything) {
  std::string html = page_of(a_run());
  // The name space of SVG is a name, which nobody asks for.
  const std::string name = "http://www.w3.org/2000/svg";
  html.erase(html.find(name), name.size());
  for (const char* needle :
       {"http:", "https:", "src=", "href=", "url(", "@import", "<link", "import("}) {
    EXPECT_EQ(html.find(needle), std::string::npos) << needle;
  }
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
}

TEST(RunPage, NoTextOfAFileCanEndTheScript) {
  json run = a_run();
  run["notes"] = {"</script><script>alert(1)</script>"};
  const std::string html = page_of(run);
  EXPECT_EQ(html.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(embedded(html, "run").at("notes"), run["notes"]);
}

TEST(RunPage, E7ARunWithoutRequestsHasAPage) {
  json run = a_run();
  for (auto& [name, column] : run["intervals"].items()) column = json::array();
  run["pages"]["hit_ratio"] = nullptr;
  run["ttft"]["p50_s"] = run["ttft"]["p90_s"] = nullptr;
  run["ttft"]["histogram_from_s_until_s_count"] = json::array();
  EXPECT_TRUE(page_of(run).starts_with("<!doctype html>")) << page_of(run);
}

TEST(RunPage, E10WhatIsWrongIsNamedWithItsPlace) {
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message.substr(0, 300);
  };
  const auto error_of = [](auto change) {
    json run = a_run();
    change(run);
    return page_of(run);
  };
  expect(error_of([](json& run) { run = 7; }), "run.json: /format: wants \"larder-run\"");
  expect(error_of([](json& run) { run["version"] = 2; }), "run.json: /version");
  expect(error_of([](json& run) { run.erase("pages"); }), "run.json: /pages: is missing");
  expect(error_of([](json& run) { run["pages"]["hits"] = "many"; }), "/pages/hits: wants a number");
  expect(error_of([](json& run) { run["intervals"]["pages"] = {1}; }),
         "/intervals/pages: has 1 values, and end_s 2");
  expect(error_of([](json& run) { run["intervals"]["pages"] = {1, "x"}; }), "/intervals/pages");
  expect(error_of([](json& run) { run["intervals"].erase("waiting"); }), "/intervals/waiting");
  expect(error_of([](json& run) { run["pages"]["misses_by_reason"]["new"] = 1; }),
         "/intervals/missed_new: is missing");
  expect(error_of([](json& run) { run["faults"][0].erase("fault"); }), "/faults/0/fault");
  expect(error_of([](json& run) { run["hardware"]["hosts"][0]["parts"][0]["kind"] = "x"; }),
         "/hardware: /hosts/0");
  for (const char* row : {"1,2,3\n", "0,1,7,no quotes,5,0.5\n", "0,1,7,\"a to b\",5,much\n",
                          "0,1,7,\"a to b\",-5,0.5\n", "0,nan,7,\"a to b\",5,0.5\n"}) {
    expect(page_of(a_run(), links_head + row), "links.csv: line 2: is no row");
  }
  expect(page_of(a_run(), "x\n"), "links.csv: line 1");
  expect(page_of(a_run(), links_head + "1,2,7,\"a to b\",5,0.5\n0,1,7,\"a to b\",5,0.5\n"),
         "links.csv: line 3: times go back");
  const std::string text = a_run().dump();
  for (std::size_t length = 0; length < text.size(); length += 7) {
    EXPECT_FALSE(run_html({.run = std::string_view(text).substr(0, length), .links = {}}));
  }
}

}  // namespace
}  // namespace larder::sim
