#include "proto/journal/format.h"

#include <bit>
#include <cstdio>
#include <cstring>
#include <span>

#include "core/base/assert.h"
#include "core/base/hash.h"

namespace larder::journal {

static_assert(std::endian::native == std::endian::little);

void append(RecordHeader header, std::string_view part, std::string_view frame, std::string& out) {
  header.length = static_cast<std::uint32_t>(sizeof(RecordHeader) + part.size() + frame.size());
  LARDER_ASSERT(header.length <= record_bytes_max, "a frame is bounded");
  out.append(bytes_of(header)).append(part).append(frame);
}

void seal_one(char* record) {
  constexpr std::size_t at = offsetof(RecordHeader, checksum);
  std::memset(record + at, 0, sizeof(std::uint64_t));
  const std::uint64_t sum = checksum(std::as_bytes(std::span(record, length_at(record))));
  std::memcpy(record + at, &sum, sizeof(sum));
}

void seal(std::string& records) {
  for (std::size_t at = 0; at < records.size(); at += length_at(records.data() + at)) {
    seal_one(records.data() + at);
  }
}

std::uint64_t checksum_of(const FileHeader& header) {
  return checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(FileHeader, checksum)));
}

std::string file_name(std::uint64_t slot, std::string_view suffix) {
  char number[24];
  std::snprintf(number, sizeof(number), "%08llu", static_cast<unsigned long long>(slot));
  return number + std::string(suffix);
}

}  // namespace larder::journal
