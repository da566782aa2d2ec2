#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/master/effects_digest.h"
#include "core/master/master.h"
#include "proto/codec.h"
#include "proto/journal/format.h"
#include "real/daemon/descriptor.h"

namespace larder::real {

struct RecordOptions {
  std::optional<std::filesystem::path> directory;  // none: nothing is recorded
  // Of all files together, but for a state while it is being written, which takes a third as much
  // at most: a master with a larger one is not recorded.
  Bytes size = 1_GiB;
  Bytes buffer = 64_MiB;                              // of calls that are not written yet
  Duration state_time_max = std::chrono::minutes(2);  // for writing one; then it has failed
  Duration retry_after = std::chrono::seconds(10);    // when nothing could be recorded
};

// Writes down every call of a master into a ring of files, so that what it did can be looked into
// later (proto/journal/format.h, decision 6). For diagnosis only: nothing here ever holds the
// master up or ends it.
//
// The master's thread puts a call into a buffer, some 50 ns and a copy of its frame; a thread of
// the recorder sums and writes. If that cannot keep up, the buffer is full and calls are dropped:
// counted, logged, and noted in the file, and the recording goes on with the next state. The state
// at the begin of a slot is written by a fork of the process, at its leisure; the master pays for
// fork() and for copying the pages that it changes meanwhile.
//
// Where the files cannot be written, or reach their size because no newer state can be, the
// recording stops, is begun again after `retry_after`, and says why in the log and in view(). When
// the disk is full the older half of what is not needed goes first. The directory is held open: one
// that was removed is not written to again, even if there is a new one of its name.
class Recorder {
 public:
  // Takes the directory, which is made if only its last part is missing, and goes on behind what
  // an earlier master has recorded there. Errors: file_open_fail (in use by another master; no such
  // directory), file_write_fail.
  static Result<std::unique_ptr<Recorder>> make(RecordOptions options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  // Writes what is buffered.
  ~Recorder();

  // ---- on the master's thread, each before the call itself -------------------------------------
  void request(Time now, Ticket ticket, FrameBytes frame);
  void open_call(Time now, Ticket ticket, FrameBytes frame);
  void piece(Time now, Ticket ticket, Piece piece);
  void tick(Time now);
  void node_disconnected(Time now, IncarnationId incarnation, std::uint64_t registration);

  // What the call gave.
  EffectsDigest& effects() { return effects_; }

  // A new slot is to begin: the first one, the file is full, or a gap is over.
  bool wants_slot() const { return wants_slot_.load(std::memory_order_relaxed); }
  // Between two calls. `open_calls`: to be told again by open_call().
  // False if it cannot be now.
  bool begin_slot(Time now, const Master& master);

  struct View {
    Duration span{0};  // from the first call that can be replayed to the last that is recorded
    Bytes bytes;       // of all files
    std::uint64_t dropped = 0;
    std::string trouble;  // why nothing is recorded; empty: it goes on
  };
  View view(Time now) const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int child_to_come = std::numeric_limits<int>::min();

  struct SlotFiles {
    Bytes calls;
    Bytes state;
    Time begins;              // Time::max(): of an earlier master, by another clock
    bool replayable = false;  // its state is whole
    bool follows = false;     // its calls go on where those of the slot before end
  };

  Recorder(RecordOptions options, Descriptor directory, Descriptor lock);
  Status find_older();
  void append(journal::RecordHeader header, std::string_view part, std::string_view frame);
  void write_state(const Master& master, const journal::FileHeader& header);
  void run();
  bool write(std::string_view records);
  void tell_of_drops(bool dropping);
  bool begin_file(const journal::FileHeader& header);
  void reap();
  std::optional<int> outcome_of_child();
  void state_is_whole(Bytes size);
  void state_has_failed(int outcome);
  std::string state_trouble(int outcome) const;
  bool make_room(Bytes more);
  bool free_disk();
  void remove_oldest();
  void look_for_file();
  void fail(std::string why, int error = 0);
  Bytes total() const;
  std::uint64_t newest_replayable() const;
  std::optional<Bytes> size_of(std::uint64_t slot, std::string_view suffix) const;
  void remove(std::uint64_t slot, std::string_view suffix) const;
  std::filesystem::path path(std::uint64_t slot, std::string_view suffix) const;

  RecordOptions options_;
  Descriptor directory_;
  Descriptor lock_;
  Bytes file_bytes_max_;

  // The master's thread.
  EffectsDigest effects_;

  // Between the two.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string filling_;
  std::map<std::size_t, journal::FileHeader> new_files_;  // by where in `filling_` they begin
  bool dropping_ = false;
  bool follows_ = false;  // what comes next goes on where the newest slot ends, but for drops
  Time last_recorded_;
  Time stopped_;  // the last that was recorded before the trouble
  std::uint64_t dropped_here_ = 0;
  std::uint64_t dropped_ = 0;
  std::string trouble_;
  std::string state_trouble_;  // why the last state could not be written
  bool stopping_ = false;
  std::atomic<bool> wants_slot_{true};
  std::map<std::uint64_t, SlotFiles> slots_;
  std::uint64_t newest_ = 0;
  // Who writes the state of the newest slot. 0: nobody; `child_to_come`: it is about to be begun;
  // negative: minus the error for which it could not be.
  int child_ = 0;
  Clock::time_point child_ends_;

  // The recorder's thread.
  Descriptor file_;
  Clock::time_point retry_at_;
  Clock::time_point look_at_;
  std::uint64_t file_slot_ = 0;
  bool told_of_drops_ = false;
  std::thread thread_;
};

}  // namespace larder::real
