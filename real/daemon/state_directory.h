#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "core/base/error.h"
#include "core/master/config.h"
#include "core/master/effects.h"
#include "real/daemon/descriptor.h"

namespace larder::real {

// What a master finds again after a restart (design: §4, Ids; §5, Recovery): one small file,
// "state", in a directory that one master at a time holds. Each change replaces the whole file, so
// that a crash leaves the old one or the new one. Blocks for two fsyncs at each change. The
// directory is held open, and a change fails if another one, or none, has come in its place: a
// master that starts there next would not find what is written to this one.
class StateDirectory {
 public:
  // Makes the directory if only its last part is missing. Errors: file_open_fail,
  // file_write_fail, file_read_fail (with the path and why; in use by another master), bad_file
  // (not a state file of ours, or damaged: nothing is repaired by guessing).
  static Result<StateDirectory> open(const std::filesystem::path& path);
  StateDirectory(StateDirectory&& other) noexcept = default;
  StateDirectory& operator=(StateDirectory&&) = delete;
  ~StateDirectory() = default;

  const MasterState& state() const { return state_; }
  // The highest epoch that a master here had or was shown; zero: none.
  Epoch last_epoch() const { return last_epoch_; }

  // Each returns when it is durable; after an error nothing is to be answered any more.
  Status begin_epoch(Epoch epoch);
  Status record(std::span<const StateRecord> records);

 private:
  StateDirectory(std::filesystem::path path, Descriptor directory, Descriptor lock);
  Result<std::optional<std::string>> read() const;
  Status load();
  Status check_place() const;
  Status save() const;

  std::filesystem::path path_;
  Descriptor directory_;
  Descriptor lock_;
  MasterState state_{.durable = true, .recovered_epoch = {}, .known = {}, .lost = {}};
  Epoch last_epoch_;
};

}  // namespace larder::real
