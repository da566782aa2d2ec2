#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace larder {

// Which endpoints did not answer lately. Such a one is tried again at most once per `retry`, by one
// transfer, however many want to. Remembers at most 4,096 of them.
class EndpointHealth {
 public:
  explicit EndpointHealth(Duration retry) : retry_(retry) {}

  bool may_try(std::string_view endpoint, Time now) const;
  // To be called for each try: whoever comes first when a dead endpoint may be tried again is the
  // only one until that try has ended or another `retry` has passed.
  void trying(std::string_view endpoint, Time now);
  void succeeded(std::string_view endpoint);
  void failed(std::string_view endpoint, Time now);

 private:
  Duration retry_;
  std::map<std::string, Time, std::less<>> retry_at_;
};

}  // namespace larder
