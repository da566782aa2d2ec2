#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
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

namespace larder::real {

struct RecordOptions {
  std::optional<std::filesystem::path> directory;  // none: nothing is recorded
  Bytes size = 1_GiB;                              // of all files together
  Bytes buffer = 64_MiB;                           // of calls that are not written yet
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
    Duration span{0};  // from the first call that can be replayed until now
    Bytes bytes;       // of all files
    std::uint64_t dropped = 0;
    std::string trouble;  // why nothing is recorded any more; empty: it goes on
  };
  View view(Time now) const;

 private:
  struct SlotFiles {
    Bytes calls;
    Bytes state;
    Time begins;
    bool replayable = false;  // its state is whole
  };

  Recorder(RecordOptions options, int lock);
  Status find_older();
  void append(journal::RecordHeader header, std::string_view part, std::string_view frame);
  void write_state(const Master& master, const journal::FileHeader& header);
  void run();
  bool write(std::string_view records);
  void tell_of_drops(bool dropping);
  bool begin_file(const journal::FileHeader& header);
  void reap();
  void make_room();
  void fail(std::string why);
  std::filesystem::path path(std::uint64_t slot, std::string_view suffix) const;

  RecordOptions options_;
  int lock_;
  Bytes file_bytes_max_;

  // The master's thread.
  EffectsDigest effects_;

  // Between the two.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string filling_;
  std::map<std::size_t, journal::FileHeader> new_files_;  // by where in `filling_` they begin
  bool dropping_ = false;
  std::uint64_t dropped_here_ = 0;
  std::uint64_t dropped_ = 0;
  std::string trouble_;
  bool stopping_ = false;
  std::atomic<bool> wants_slot_{true};
  std::map<std::uint64_t, SlotFiles> slots_;
  std::uint64_t newest_ = 0;
  int child_ = 0;  // the process that writes the state of the newest slot; 0: none

  // The recorder's thread.
  int file_ = -1;
  std::uint64_t file_slot_ = 0;
  bool told_of_drops_ = false;
  std::thread thread_;
};

}  // namespace larder::real
