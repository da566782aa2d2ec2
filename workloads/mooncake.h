#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/error.h"
#include "workloads/input_file.h"
#include "workloads/request.h"
#include "workloads/trace.h"

namespace larder::workloads {

// The format of the traces that were published with Mooncake (FAST'25): one JSON object a line,
//   {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 2354]}
// with the time in milliseconds since the start, lengths in tokens, and one id for each block of
// the input, the last of which may be partial.
//
// Rules, each an error with the line's number where it is broken:
// - each line is one whole JSON object; an empty line is none. The last newline may be missing, as
// an
//   object that was cut short is never a whole one.
// - all four fields are there, once. Other fields are allowed and ignored.
// - the timestamp is a number, not negative, with or without a fraction, within 292 years; it never
//   decreases from line to line. Equal ones keep the order of the file.
// - a length is a whole number of at most request_tokens_max.
// - an id is a whole number below 2^64, written without fraction or exponent.
// - hash_ids has ceil(input_length / block) entries.
// - a line is at most 16 MiB long, and there is at least one.
// Not an error here: ids that break the prefix tree. workloads/statistics.h counts them.
inline constexpr std::size_t mooncake_line_bytes_max = std::size_t{16} << 20;

// Reads on from where `file` is. Precondition: block_tokens > 0.
std::unique_ptr<TraceReader> read_mooncake(InputFile file, std::uint32_t block_tokens);

// The request as one line, with its newline. The format has no place for fractions of a
// millisecond, nor for speaker and think time: they are dropped.
std::string mooncake_line(const Request& request);

}  // namespace larder::workloads
