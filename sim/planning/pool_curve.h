#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/bytes.h"
#include "sim/cache/belady.h"
#include "sim/cache/lru_curve.h"
#include "sim/capacity/capacity_pool.h"

namespace larder::sim {

// What pools of other sizes would have found of what the engines of a run asked theirs for: pages,
// of the requests after the warm-up. Each of these caches is given what the pool was given, in the
// order of the calls: pages that are asked for are looked up and are in it from then on, and so is
// what is put without having been asked for. A page is found if it is there with all pages before
// it in its call.
struct PoolCurve {
  struct Point {
    std::uint64_t pages = 0;  // that the cache holds
    std::uint64_t lru_found = 0;
    std::optional<std::uint64_t> belady_found;  // at some of the sizes
  };

  std::uint64_t asked = 0;
  std::uint64_t found = 0;                  // that the run's pool had, with all before them
  std::uint64_t fetched = 0;                // that engines then got in time: pool_hits
  std::optional<std::uint64_t> pool_pages;  // the run's own size; nothing: without limit
  Bytes page_room;                          // that a page takes of a pool
  std::uint64_t different_pages = 0;        // from this size on a cache is one without limit
  std::uint64_t infinite_found = 0;         // without limit: no pool finds more
  // In the run's own size.
  std::uint64_t lru_found = 0;
  // No policy finds more. Nothing where more than accesses_max pages were asked for and put.
  std::optional<std::uint64_t> belady_found;
  std::vector<Point> points;  // by size, the run's own among them where it has a limit

  // Belady's rule needs all of them at the end, in 4 bytes each.
  static constexpr std::uint64_t accesses_max = std::uint64_t{8} << 20;
};

// Listens to the pool of a run, and makes the curve of it at the end. Some 30 bytes for each
// different page, and 4 for each page of a call until these are too many.
class PoolCurveRecorder final : public CapacityPool::CallWatcher {
 public:
  // `counts`: whether what is asked for now is of a request after the warm-up.
  explicit PoolCurveRecorder(std::function<bool()> counts);

  bool asked(std::span<const PageNumber> pages) override;
  void answered(bool asked, std::size_t leading) override;
  void put(std::span<const PageNumber> pages) override;

  struct OwnPool {
    std::uint64_t fetched = 0;
    std::optional<std::uint64_t> pages;
    Bytes page_room;
  };
  PoolCurve curve(const OwnPool& own) const;

 private:
  void touch(std::span<const PageNumber> pages);
  void give_belady_up_if_long();

  const std::function<bool()> counts_;
  std::uint64_t asked_ = 0;
  std::uint64_t found_ = 0;
  LruCurve lru_;
  std::optional<Belady> belady_;
};

}  // namespace larder::sim
