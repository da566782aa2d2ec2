#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/client/client.h"

namespace larder {

// The client's session with the master that leads: numbers its calls, opens it where it is not
// known, and obeys only the highest epoch that it was shown (design: §4, Ids and Sessions).
class MasterSession {
 public:
  MasterSession(const ClientPorts& ports, const ClientConfig& config, ClientCounters& counters);

  struct Answered {
    Answer answer;
    Time asked;   // before this very request was sent: durations in the answer count from here
    Epoch epoch;  // of the master that answered
  };
  // Asks and gives one answer for each item of `body`, in order. Items to which the answer is that
  // asking again may help are asked again, as a call of its own, while the deadline lasts. The
  // texts of `body` must live until the task has ended.
  Task<std::vector<Answered>> call(RequestBody body, Time deadline);

  // Without a session: nothing to be done.
  Task<Status> close(Time deadline);

  // Rides on the next call, once. Ignored if the master that granted it leads no more.
  void return_lease(Epoch granted_by, const LeaseReturn& lease);
  void report_bad_bytes(ExtentName extent, std::string_view key);

  Epoch epoch() const { return epoch_; }
  Time next_keep_alive() const { return open_ ? sent_at_ + terms_.keep_alive : time_never; }
  Bytes object_bytes_max() const { return terms_.object_bytes_max; }
  // Before the next repetition, with the client's own jitter.
  Duration delay(std::uint32_t attempt);

 private:
  struct OwnedBadBytes {
    ExtentName extent;
    std::string key;
  };
  class Number;  // of a call, while it is unanswered

  Task<Status> open(Time deadline);
  Task<Result<Reply>> call_in_session(Request& request, Time deadline);
  Task<Result<Reply>> send(Request& request, Time deadline);
  Status take_epoch(Epoch shown);
  void keep_bad_bytes(std::vector<OwnedBadBytes> reports);

  ClientPorts ports_;
  const ClientConfig& config_;
  ClientCounters& counters_;
  Random jitter_;
  bool open_ = false;
  std::uint64_t times_opened_ = 0;
  SessionOpened terms_;
  Epoch epoch_;
  Time sent_at_;
  bool answers_ = true;  // the newest call that ended had an answer
  std::uint64_t last_number_ = 0;
  std::vector<std::uint64_t> unanswered_;  // ascending
  std::vector<LeaseReturn> lease_returns_;
  std::vector<OwnedBadBytes> bad_bytes_;
};

// A lease while a read relies on it; gives it back at the end of its life, however that comes.
class HeldLease {
 public:
  HeldLease() = default;
  HeldLease(MasterSession& session, Epoch granted_by, const LeaseReturn& lease)
      : session_(&session), granted_by_(granted_by), lease_(lease) {}
  HeldLease(HeldLease&& other) noexcept
      : session_(std::exchange(other.session_, nullptr)),
        granted_by_(other.granted_by_),
        lease_(other.lease_) {}
  HeldLease& operator=(HeldLease&& other) noexcept {
    give_back();
    session_ = std::exchange(other.session_, nullptr);
    granted_by_ = other.granted_by_;
    lease_ = other.lease_;
    return *this;
  }
  ~HeldLease() { give_back(); }

 private:
  void give_back() {
    if (session_) std::exchange(session_, nullptr)->return_lease(granted_by_, lease_);
  }
  MasterSession* session_ = nullptr;
  Epoch granted_by_;
  LeaseReturn lease_;
};

}  // namespace larder
