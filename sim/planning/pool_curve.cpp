#include "sim/planning/pool_curve.h"

#include <algorithm>
#include <utility>

namespace larder::sim {
namespace {

// The points: so many powers of two below the number of different pages, and so many in each.
constexpr std::uint64_t octaves = 10;
constexpr std::uint64_t steps = 8;

struct Sized {
  std::uint64_t pages = 0;
  bool belady = false;
};

std::vector<Sized> sizes_of(std::uint64_t different, std::optional<std::uint64_t> own) {
  std::vector<Sized> sizes;
  for (std::uint64_t octave = octaves; octave > 0; --octave) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      sizes.push_back({.pages = different * (steps + step) / steps >> octave, .belady = step == 0});
    }
  }
  sizes.push_back({.pages = different, .belady = true});
  if (own) sizes.push_back({.pages = *own, .belady = true});
  std::ranges::sort(sizes, {},
                    [](const Sized& size) { return std::pair(size.pages, !size.belady); });
  const auto same = std::ranges::unique(sizes, {}, &Sized::pages);
  sizes.erase(same.begin(), same.end());
  std::erase_if(sizes, [](const Sized& size) { return size.pages == 0; });
  return sizes;
}

}  // namespace

PoolCurveRecorder::PoolCurveRecorder(std::function<bool()> counts)
    : counts_(std::move(counts)), belady_(std::in_place) {}

bool PoolCurveRecorder::asked(std::span<const PageNumber> pages) {
  if (!counts_()) {
    touch(pages);
    return false;
  }
  asked_ += pages.size();
  lru_.request(pages);
  if (belady_) belady_->request(pages);
  give_belady_up_if_long();
  return true;
}

void PoolCurveRecorder::answered(bool asked, std::size_t leading) {
  if (asked) found_ += leading;
}

void PoolCurveRecorder::put(std::span<const PageNumber> pages) { touch(pages); }

void PoolCurveRecorder::touch(std::span<const PageNumber> pages) {
  lru_.touch(pages);
  if (belady_) belady_->touch(pages);
  give_belady_up_if_long();
}

void PoolCurveRecorder::give_belady_up_if_long() {
  if (belady_ && belady_->accesses() > PoolCurve::accesses_max) belady_.reset();
}

PoolCurve PoolCurveRecorder::curve(const OwnPool& own) const {
  PoolCurve curve{.asked = asked_,
                  .found = found_,
                  .fetched = own.fetched,
                  .pool_pages = own.pages,
                  .page_room = own.page_room,
                  .different_pages = lru_.unique_blocks(),
                  .infinite_found = lru_.at(std::nullopt).leading_hits};
  const std::vector<Sized> sizes = sizes_of(curve.different_pages, own.pages);
  std::vector<std::uint64_t> all;
  std::vector<std::uint64_t> of_belady;
  for (const Sized& size : sizes) {
    all.push_back(size.pages);
    if (size.belady && size.pages < curve.different_pages) of_belady.push_back(size.pages);
  }
  const std::vector<std::uint64_t> lru = lru_.leading_hits(all);
  const std::vector<std::uint64_t> most =
      belady_ ? belady_->most_hits(of_belady) : std::vector<std::uint64_t>();
  for (std::size_t i = 0, next = 0; i < sizes.size(); ++i) {
    PoolCurve::Point& point =
        curve.points.emplace_back(PoolCurve::Point{.pages = sizes[i].pages, .lru_found = lru[i]});
    if (!belady_ || !sizes[i].belady) continue;
    // What is not there with all before it is no find, so without limit there are none more.
    const bool limited = point.pages < curve.different_pages;
    point.belady_found =
        limited ? std::min(most[next++], curve.infinite_found) : curve.infinite_found;
  }
  curve.lru_found = curve.infinite_found;
  if (belady_) curve.belady_found = curve.infinite_found;
  for (const PoolCurve::Point& point : curve.points) {
    if (point.pages != own.pages) continue;
    curve.lru_found = point.lru_found;
    curve.belady_found = point.belady_found;
  }
  return curve;
}

}  // namespace larder::sim
