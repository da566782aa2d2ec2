#include "sim/planning/trace_window.h"

#include <algorithm>

namespace larder::sim {

Result<const workloads::Request*> TraceWindow::first() {
  if (!looked_at_) {
    LARDER_TRY(looked_at_, reader_.next());
  }
  return *looked_at_;
}

Result<const workloads::Request*> TraceWindow::next() {
  if (rules_.requests_max > 0 && read_ == rules_.requests_max) return nullptr;
  LARDER_TRY(const workloads::Request* const request, first());
  looked_at_.reset();
  if (request == nullptr) {
    looked_at_ = nullptr;
    return nullptr;
  }
  ++read_;
  if (rules_.every == Duration(0)) return request;
  moved_ = *request;
  moved_.arrival = arrival_;
  arrival_ += std::min(rules_.every, Duration::max() - arrival_);
  return &moved_;
}

}  // namespace larder::sim
