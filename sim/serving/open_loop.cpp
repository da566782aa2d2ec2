#include <cmath>
#include <string>

#include "core/base/assert.h"
#include "sim/kernel/event.h"
#include "sim/serving/arrivals.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t arrival_label = 0x5e6;

class OpenLoop final : public Arrivals, Event {
 public:
  OpenLoop(Kernel& kernel, double speed, Taker& taker)
      : Event(arrival_label), kernel_(kernel), speed_(speed), taker_(taker) {
    LARDER_ASSERT(std::isfinite(speed) && speed > 0);
  }

  Status begin(workloads::TraceReader& reader) override {
    reader_ = &reader;
    advance();
    return status_;
  }
  void ended(const workloads::Speaker&) override {}
  bool done() const override { return request_ == nullptr; }
  const Status& status() const override { return status_; }

 private:
  void fire() override {
    while (request_ != nullptr && at(*request_) <= kernel_.now()) {
      if (Status taken = taker_.arrive(*request_, number_++); !taken) return stop(taken);
      read();
    }
    if (request_ != nullptr) kernel_.arm(*this, at(*request_));
  }

  Instant at(const workloads::Request& request) const {
    return later(Instant{}, sped_up(request.arrival, speed_));
  }

  void read() {
    Result<const workloads::Request*> next = reader_->next();
    if (!next) return stop(std::unexpected(next.error()));
    request_ = *next;
    if (request_ == nullptr) return;
    const Status comes = check_arrival(number_, sped_up(request_->arrival, speed_));
    if (!comes) stop(comes);
  }
  void advance() {
    read();
    if (request_ != nullptr) kernel_.arm(*this, at(*request_));
  }
  void stop(const Status& status) {
    request_ = nullptr;
    status_ = status;
  }

  Kernel& kernel_;
  double speed_;
  Taker& taker_;
  workloads::TraceReader* reader_ = nullptr;
  const workloads::Request* request_ = nullptr;  // the next one
  std::uint64_t number_ = 0;
  Status status_;
};

}  // namespace

Duration sped_up(Duration time, double speed) {
  if (speed == 1) return time;  // the trace's own times to the nanosecond
  constexpr Duration longest = arrivals_within + std::chrono::hours(24);
  const double scaled = static_cast<double>(time.count()) / speed;
  return scaled < static_cast<double>(longest.count()) ? Duration(std::llround(scaled)) : longest;
}

Status check_arrival(std::uint64_t number, Duration since_begin) {
  if (since_begin <= arrivals_within) return {};
  return failed(ErrorCode::invalid_params,
                "request " + std::to_string(number) +
                    " would come after more than 366 days of virtual time, which are not simulated "
                    "(speed, every, and the times of the trace)");
}

std::unique_ptr<Arrivals> open_loop(Kernel& kernel, double speed, Arrivals::Taker& taker) {
  return std::make_unique<OpenLoop>(kernel, speed, taker);
}

}  // namespace larder::sim
