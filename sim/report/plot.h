#pragma once

#include <string>
#include <vector>

namespace larder::sim {

struct PlotPoint {
  double x = 0;
  double y = 0;
};

// A line of a plot. Where two runs are expected to agree, one is a broad band and the other a thin
// line, so that both are seen where they lie on each other.
struct PlotLine {
  std::string name;
  std::string colour;  // a CSS class: "a", "b", "c", "d"
  bool band = false;
  std::vector<PlotPoint> points;  // x does not decrease
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;  // with the unit
  std::vector<PlotLine> lines;
  double y_max = 0;  // at least; the largest value may ask for more
};

// One <svg>: axes from zero with round numbers, labels, a legend and the lines. Readable from 320
// pixels of width on. All text is escaped. Without points it says so.
std::string to_svg(const Plot& plot);

// The round distance of the ticks of an axis from 0 to `max`, so that there are about `wanted`.
double tick_step(double max, int wanted);

// With &, <, > and quotes as entities.
std::string escaped(std::string_view text);

}  // namespace larder::sim
