#include "sim/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "terminal/output.h"

namespace larder::sim {
namespace {

// In units of the viewBox, which are about a pixel.
constexpr double width = 420;
constexpr double left = 66;
constexpr double right = 14;
constexpr double top = 12;
constexpr double plot_height = 190;
constexpr double bottom = 42;  // ticks and the label of the x axis
constexpr double legend_line = 20;
constexpr double plot_width = width - left - right;

// Where a value of each axis is drawn.
struct Scale {
  double x_max;
  double y_max;
  double x(double value) const { return left + plot_width * value / x_max; }
  double y(double value) const { return top + plot_height * (1 - value / y_max); }
};

// Of the ticks of an axis: all in thousands where the axis is long.
std::string number(double value, double step, double end) {
  const auto whole = [](double each) {
    return terminal::with_thousands(static_cast<std::uint64_t>(std::llround(each)));
  };
  if (end >= 10'000 && step >= 1'000) return value == 0 ? "0" : whole(value / 1'000) + "k";
  if (step >= 1) return whole(value);
  return fmt::format("{:.{}f}", value, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
}

// An axis ends at a tick; one without values has still a length.
double axis_end(double max, int wanted) {
  if (!(max > 0)) return 1;
  const double step = tick_step(max, wanted);
  return step * std::ceil(max / step - 1e-9);
}

std::string axes(const Plot& plot, const Scale& scale, double x_end) {
  std::string svg;
  const double y_step = tick_step(scale.y_max, 5);
  for (double y = 0; y <= scale.y_max * (1 + 1e-9); y += y_step) {
    svg += fmt::format(R"(<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)"
                       R"(<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)",
                       left, left + plot_width, scale.y(y), scale.y(y), left - 6, scale.y(y) + 4,
                       number(y, y_step, scale.y_max));
  }
  const double x_step = std::max(1.0, tick_step(x_end, 5));
  for (double x = 0; x <= x_end * (1 + 1e-9); x += x_step) {
    svg +=
        fmt::format(R"(<line class="axis" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>)"
                    R"(<text class="tick" x="{0:.1f}" y="{3:.1f}" text-anchor="middle">{4}</text>)",
                    scale.x(x), top + plot_height, top + plot_height + 4, top + plot_height + 17,
                    number(x, x_step, x_end));
  }
  svg += fmt::format(R"(<line class="axis" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)",
                     left, left + plot_width, top + plot_height, top + plot_height);
  svg += fmt::format(R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)",
                     left + plot_width / 2, top + plot_height + 35, escaped(plot.x_label));
  const double middle = top + plot_height / 2;
  svg += fmt::format(
      R"svg(<text class="label" text-anchor="middle" transform="translate(11 {:.1f}) rotate(-90)">{}</text>)svg",
      middle, escaped(plot.y_label));
  return svg;
}

std::string path(const PlotLine& line, const Scale& scale) {
  std::string data;
  for (const PlotPoint& point : line.points) {
    data += fmt::format("{}{:.1f} {:.1f}", data.empty() ? "M" : "L", scale.x(point.x),
                        scale.y(point.y));
  }
  return fmt::format(R"(<path class="{} {}" d="{}"/>)", line.band ? "band" : "thin", line.colour,
                     data);
}

// Two entries a row, below the axis.
std::string legend(const Plot& plot) {
  std::string svg;
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const PlotLine& line = plot.lines[i];
    const std::size_t row = i / 2;
    const double x = left + (i % 2 == 0 ? 0 : plot_width / 2);
    const double y = top + plot_height + bottom + legend_line * static_cast<double>(row) + 10;
    svg += fmt::format(R"(<path class="{} {}" d="M{:.1f} {:.1f}h26"/>)",
                       line.band ? "band" : "thin", line.colour, x, y);
    svg += fmt::format(R"(<text class="label" x="{:.1f}" y="{:.1f}">{}</text>)", x + 33, y + 4,
                       escaped(line.name));
  }
  return svg;
}

}  // namespace

double tick_step(double max, int wanted) {
  if (!(max > 0) || !std::isfinite(max) || wanted < 1) return 1;
  const double rough = max / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string to_svg(const Plot& plot) {
  double x_end = 0;
  double y_end = plot.y_max;
  for (const PlotLine& line : plot.lines) {
    for (const PlotPoint& point : line.points) {
      x_end = std::max(x_end, point.x);
      y_end = std::max(y_end, point.y);
    }
  }
  const double height = top + plot_height + bottom +
                        legend_line * std::ceil(static_cast<double>(plot.lines.size()) / 2) + 4;
  std::string svg = fmt::format(R"(<svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">)",
                                width, height, escaped(plot.title));
  if (x_end == 0) {
    return svg + fmt::format(R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="middle">)"
                             "no points were kept</text></svg>",
                             width / 2, height / 2);
  }
  const Scale scale{.x_max = x_end, .y_max = axis_end(y_end, 5)};
  svg += axes(plot, scale, x_end);
  // Bands below, so that thin lines are seen on them.
  for (const bool band : {true, false}) {
    for (const PlotLine& line : plot.lines) {
      if (line.band == band && !line.points.empty()) svg += path(line, scale);
    }
  }
  return svg + legend(plot) + "</svg>";
}

}  // namespace larder::sim
