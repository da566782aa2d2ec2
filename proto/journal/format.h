#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/id.h"
#include "core/base/time.h"

// A recording of a master (decision 6): a directory of slots, which are numbered and of which the
// oldest are overwritten. Slot 12 is two files, little endian, each with a header:
//
//   00000012.state  the whole state at the begin of the slot (Master::save), then StateTrailer
//   00000012.calls  every call of the master from then on, as records
//
// A state is written beside the calls and may come later than they, or never, when the master died
// meanwhile: the calls then go on from those of the slot before. No master reads it.

namespace larder::journal {

inline constexpr std::array<char, 8> magic{'L', 'A', 'R', 'D', 'E', 'R', 'F', 'R'};
// Raised with each change of what a state or a record holds (tests/unit/proto/journal).
inline constexpr std::uint32_t version = 3;
inline constexpr std::string_view state_suffix = ".state";
inline constexpr std::string_view calls_suffix = ".calls";
inline constexpr std::string_view unfinished_suffix = ".unfinished";  // a state in the making

enum class FileKind : std::uint32_t { state = 1, calls = 2 };

struct FileHeader {
  std::array<char, 8> magic = journal::magic;
  std::uint32_t version = journal::version;
  FileKind kind = FileKind::state;
  std::uint64_t slot = 0;
  Epoch epoch;
  Time begins;                     // on the master's clock
  std::int64_t wall_clock_ns = 0;  // the same instant, since 1970
  std::uint64_t checksum = 0;      // XXH3 of all before
};
static_assert(sizeof(FileHeader) == 56);

struct StateTrailer {
  std::uint64_t length = 0;    // of the state
  std::uint64_t digest = 0;    // Master::digest() at `begins`
  std::uint64_t checksum = 0;  // XXH3 of the state, the length and the digest
};
static_assert(sizeof(StateTrailer) == 24);

enum class RecordKind : std::uint8_t {
  request = 1,            // RequestPart, then the frame's body
  open_call = 2,          // the same of a long call: its pieces follow
  piece = 3,              // PiecePart
  tick = 4,               // nothing
  node_disconnected = 5,  // NodePart
  gap = 6,                // GapPart: what came then could not be kept; nothing follows but `end`
  end = 7,                // EndPart: the next slot goes on from here
};
inline constexpr std::array<std::string_view, 8> record_names{
    "", "request", "long call", "piece", "tick", "disconnection", "gap", "end of the file"};

// A record: this, then its part.
struct RecordHeader {
  std::uint32_t length = 0;  // of all of it
  RecordKind kind = RecordKind::tick;
  std::array<std::uint8_t, 3> zero{};
  std::uint64_t checksum = 0;  // XXH3 of the record with this as zero
  Time now;
  std::uint64_t effects = 0;  // of all calls of the slot before this one (EffectsDigest)
};
static_assert(sizeof(RecordHeader) == 32);
inline constexpr std::uint32_t record_bytes_max = (std::uint32_t{32} << 20) + 1024;

struct RequestPart {
  std::uint64_t ticket = 0;
};
struct PiecePart {
  std::uint64_t ticket = 0;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};
struct NodePart {
  IncarnationId incarnation;
  std::uint64_t registration = 0;
};
struct GapPart {
  std::uint64_t calls = 0;  // that were not kept
};
struct EndPart {
  std::int64_t wall_clock_ns = 0;
};

// The bytes of a plain struct.
template <class T>
std::string_view bytes_of(const T& value) {
  static_assert(std::has_unique_object_representations_v<T>);
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// Appends a record without its checksum.
void append(RecordHeader header, std::string_view part, std::string_view frame, std::string& out);
// Sets the checksum of every record in `records`, whole ones one after the other.
void seal(std::string& records);
std::uint64_t checksum_of(const FileHeader& header);
std::string file_name(std::uint64_t slot, std::string_view suffix);

// Of the record that begins at `record`.
void seal_one(char* record);
inline std::uint32_t length_at(const char* record) {
  std::uint32_t length;
  __builtin_memcpy(&length, record, sizeof(length));
  return length;
}

}  // namespace larder::journal
