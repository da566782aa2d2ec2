#pragma once

#include <array>
#include <string>
#include <variant>

#include "core/base/histogram.h"
#include "core/master/master.h"

namespace larder::real {

// How long the master's requests waited for their turn, and how long each took (a long call: each
// of its pieces), by kind.
class RequestTimes {
 public:
  static constexpr std::size_t kinds = std::variant_size_v<RequestBody>;
  struct Kind {
    Histogram queue;  // from when the request was there until its turn came
    Histogram work;   // of the core's master
  };

  void queued(const RequestBody& body, Duration wait) { kinds_[body.index()].queue.add(wait); }
  void worked(const RequestBody& body, Duration took) { kinds_[body.index()].work.add(took); }
  // By RequestBody::index(), with request_name().
  const std::array<Kind, kinds>& all() const { return kinds_; }

  void add_to(StatusReport& report) const {
    for (std::size_t i = 0; i < kinds; ++i) {
      if (kinds_[i].work.count() == 0) continue;
      const std::string name(request_names[i]);
      report.stages.push_back(stage_of("master", name + " queue", kinds_[i].queue));
      report.stages.push_back(stage_of("master", name + " work", kinds_[i].work));
    }
  }

 private:
  std::array<Kind, kinds> kinds_;
};

}  // namespace larder::real
