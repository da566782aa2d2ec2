#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "core/base/error.h"
#include "core/master/config.h"
#include "core/master/effects.h"

namespace larder::real {

// What a master finds again after a restart (design: §4, Ids; §5, Recovery): one small file,
// "state", in a directory that one master at a time holds. Each change replaces the whole file, so
// that a crash leaves the old one or the new one. Blocks for two fsyncs at each change.
class StateDirectory {
 public:
  // Makes the directory if only its last part is missing. Errors: file_open_fail,
  // file_write_fail (with the path and why; in use by another master), bad_file (not a state file
  // of ours, or damaged: nothing is repaired by guessing).
  static Result<StateDirectory> open(const std::filesystem::path& path);
  StateDirectory(StateDirectory&& other) noexcept;
  StateDirectory& operator=(StateDirectory&&) = delete;
  ~StateDirectory();

  const MasterState& state() const { return state_; }
  // The highest epoch that a master here had or was shown; zero: none.
  Epoch last_epoch() const { return last_epoch_; }

  // Each returns when it is durable; after an error nothing is to be answered any more.
  Status begin_epoch(Epoch epoch);
  Status record(std::span<const StateRecord> records);

 private:
  StateDirectory(std::filesystem::path path, int lock);
  Status load();
  Status save() const;

  std::filesystem::path path_;
  int lock_;  // descriptor of the lock file
  MasterState state_{.durable = true, .recovered_epoch = {}, .known = {}, .lost = {}};
  Epoch last_epoch_;
};

}  // namespace larder::real
