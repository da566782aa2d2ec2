#include "terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace larder::terminal {

std::string bar_text(double share, std::size_t width) {
  if (!(share >= 0)) share = 0;
  share = std::min(share, 1.0);
  const auto filled = static_cast<std::size_t>(std::floor(share * static_cast<double>(width)));
  std::string bar(filled, '=');
  if (filled < width) bar += '>';
  bar.resize(width, ' ');
  return fmt::format("[{}] {:3.0f} %", bar, std::floor(share * 100));
}

ProgressBar::ProgressBar(Look look) : look_(std::move(look)), terminal_(::isatty(2) == 1) {
  if (!terminal_ && !look_.always) look_.enabled = false;
}

ProgressBar::~ProgressBar() {
  if (drawn_ && terminal_) std::fputs("\n", stderr);
}

void ProgressBar::show(std::optional<double> share, std::string_view note) {
  if (!look_.enabled) return;
  const auto now = Clock::now();
  if (now < next_ && share.value_or(0) < 1) return;
  next_ = now + (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(1000));
  const std::string line =
      fmt::format("{} {}{}", look_.title, share ? bar_text(*share, 30) + " " : "", note);
  // A terminal's line is drawn over itself, and what is left of a longer one is erased.
  std::fputs(terminal_ ? fmt::format("\r{}\033[K", line).c_str() : (line + "\n").c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace larder::terminal
