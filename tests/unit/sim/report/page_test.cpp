#include "sim/report/page.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "sim/report/plot.h"

namespace larder::sim {
namespace {

using workloads::LockstepRecord;

LockstepRecord a_run(std::string trace, std::uint64_t requests) {
  LockstepRecord record{.world = "sim", .trace = std::move(trace), .page_bytes = 4_KiB};
  for (std::uint64_t i = 1; i <= requests; ++i) {
    record.series.push_back({.request = i,
                             .page_hits = 3 * i,
                             .pages = 10 * i,
                             .puts = 7 * i,
                             .elapsed_s = 0.5 * static_cast<double>(i)});
  }
  record.totals.requests = requests;
  return record;
}

std::string page_of(const LockstepRecord& first, const LockstepRecord& second) {
  return to_html(Comparison::of(first, second));
}

TEST(Page, AsksNoNetworkForAnythingAndRunsNoScript) {
  const std::string html = page_of(a_run("t", 50), a_run("t", 50));
  for (const char* needle :
       {"http", "//", "src=", "href=", "url(", "@import", "<script", "<link"}) {
    EXPECT_EQ(html.find(needle), std::string::npos) << needle;
  }
}

TEST(Page, WhatComesFromAFileIsEscaped) {
  const std::string html = page_of(a_run("<b>&\"", 2), a_run("<b>&\"", 2));
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt;&amp;&quot;"), std::string::npos);
}

TEST(Page, EveryTagIsClosed) {
  const std::string html = page_of(a_run("t", 50), a_run("t", 20));
  for (const char* tag : {"html", "body", "main", "table", "tr", "td", "th", "figure", "svg",
                          "text", "style", "div", "p", "footer"}) {
    const auto count = [&](const std::string& pattern) {
      const std::regex expression(pattern);
      return std::distance(std::sregex_iterator(html.begin(), html.end(), expression), {});
    };
    EXPECT_GT(count(std::string("<") + tag + "[ >]"), 0) << tag;
    EXPECT_EQ(count(std::string("<") + tag + "[ >]"), count(std::string("</") + tag + ">")) << tag;
  }
}

TEST(Page, AVerdictOfDifferenceIsMarkedAndSoAreTheRowsThatDiffer) {
  LockstepRecord other = a_run("t", 5);
  other.totals.decision_digest = 7;
  other.totals.puts = 8;
  const std::string html = page_of(a_run("t", 5), other);
  EXPECT_NE(html.find("class=\"verdict bad\""), std::string::npos);
  EXPECT_NE(html.find("<tr class=\"differs\"><th>puts</th>"), std::string::npos);
  EXPECT_EQ(html.find("<tr class=\"differs\"><th>pages</th>"), std::string::npos);
  EXPECT_NE(page_of(other, other).find("class=\"verdict good\""), std::string::npos);
}

TEST(Page, ARunWithoutPointsSaysSo) {
  const std::string html = page_of(a_run("t", 0), a_run("t", 0));
  EXPECT_NE(html.find("no points were kept"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Plot, TicksAreRound) {
  EXPECT_DOUBLE_EQ(tick_step(100, 5), 20);
  EXPECT_DOUBLE_EQ(tick_step(101, 5), 50);
  EXPECT_DOUBLE_EQ(tick_step(12'031, 5), 5'000);
  EXPECT_DOUBLE_EQ(tick_step(0.07, 5), 0.02);
  EXPECT_DOUBLE_EQ(tick_step(9.99, 5), 2);
  EXPECT_DOUBLE_EQ(tick_step(0, 5), 1);
}

TEST(Plot, ALongAxisIsInThousands) {
  const std::string svg =
      to_svg({.title = "t", .lines = {{.name = "a", .points = {{.x = 12'031, .y = 7'000}}}}});
  EXPECT_NE(svg.find(">5k</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">10k</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">8,000</text>"), std::string::npos) << svg;
}

TEST(Plot, LinesStayInsideTheAxes) {
  const std::string svg = to_svg(
      {.title = "t",
       .x_label = "x",
       .y_label = "y",
       .lines = {{.name = "a", .colour = "a", .points = {{.x = 1, .y = 0}, {.x = 7, .y = 13}}}}});
  // The axes are 66 to 406 across and 12 to 202 down; y ends at 15, x at 7.
  EXPECT_NE(svg.find("d=\"M114.6 202.0L406.0 37.3\""), std::string::npos) << svg;
  EXPECT_NE(svg.find(">15</text>"), std::string::npos) << svg;
}

}  // namespace
}  // namespace larder::sim
