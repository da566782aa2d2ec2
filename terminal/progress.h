#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace larder::terminal {

// One line on stderr that shows how far a command is, drawn over itself at most ten times a second.
// Silent where stderr is no terminal, unless `always` is set.
class ProgressBar {
 public:
  struct Look {
    std::string title;
    bool enabled = true;
    bool always = false;  // also where stderr is a file or a pipe: then one line every second
  };
  explicit ProgressBar(Look look);
  ~ProgressBar();  // ends the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  bool visible() const { return look_.enabled; }
  // `share` in [0, 1], nothing where the end is not known; `note` stands behind the bar.
  void show(std::optional<double> share, std::string_view note);

 private:
  using Clock = std::chrono::steady_clock;
  Look look_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point next_{};
};

// "[=====>    ]  52 %", `width` characters between the brackets. Total: any `share` is taken.
std::string bar_text(double share, std::size_t width);

}  // namespace larder::terminal
