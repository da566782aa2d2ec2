#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/master/config.h"
#include "core/master/master.h"
#include "proto/codec.h"
#include "proto/journal/format.h"

// Reads recordings (format.h). What is cut or damaged is told with its file and place, and what is
// whole before it is read all the same.

namespace larder::journal {

struct Slot {
  std::uint64_t number = 0;
  std::optional<std::filesystem::path> state;
  std::optional<std::filesystem::path> calls;
  Bytes bytes;
};
// By number; not empty. Errors: file_open_fail (there is no such directory), bad_file (it holds no
// recording).
Result<std::vector<Slot>> open_ring(const std::filesystem::path& directory);

struct State {
  FileHeader header;
  std::uint64_t digest = 0;
  std::string bytes;  // of the whole file
  std::filesystem::path path;

  // With which the saved master ran. Errors: bad_file.
  Result<MasterConfig> config() const;
  // Errors: bad_file. Whatever the bytes, memory stays whole; that they make sense together is what
  // their checksum stands for.
  Result<std::unique_ptr<Master>> load() const;
};
// A whole one, by its checksum. Errors: bad_file with the path and what is wrong; file_open_fail,
// file_read_fail.
Result<State> read_state(const std::filesystem::path& path);

struct Record {
  RecordHeader header;
  std::uint64_t offset = 0;  // in the file
  RequestPart request;       // of a request or an open call
  FrameBytes frame;          // likewise; valid until the next call
  PiecePart piece;
  NodePart node;
  GapPart gap;
  EndPart end;
};

// The records of one file, in order. Memory: one record.
class CallsReader {
 public:
  static Result<CallsReader> open(const std::filesystem::path& path);

  const FileHeader& header() const { return header_; }
  // nullptr at the end, or where the file is cut or damaged (cut() tells).
  const Record* next();
  // Where what can be read ends, and why: "the last record is torn", "a record is damaged".
  struct Cut {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // that follow
    std::string why;
    // The file ends within this record and no whole one follows, as when its writer was killed.
    bool torn = false;
  };
  const std::optional<Cut>& cut() const { return cut_; }
  std::uint64_t offset() const { return offset_; }
  std::uint64_t size() const { return size_; }

 private:
  CallsReader() = default;
  const Record* stop(std::string why);
  const Record* stop_at_end();
  bool whole_record_follows();

  std::ifstream file_;
  FileHeader header_;
  std::uint64_t size_ = 0;
  std::uint64_t offset_ = 0;
  Time last_;  // of the record before
  std::string bytes_;
  Record record_;
  std::optional<Cut> cut_;
};

}  // namespace larder::journal
