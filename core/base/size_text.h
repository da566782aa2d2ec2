#pragma once

#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/error.h"

namespace larder {

// A size as people write it: a whole number, then perhaps a unit, in any case, with or without one
// space between: B; K, KB, KiB; M…; G…; T…; P…. Every unit is a power of 1,024, as memory is sold.
// Errors: invalid_params with the text and what is wrong with it (empty, a sign, a fraction,
// quotes, an unknown unit, 2^64 bytes or more).
Result<Bytes> parse_size(std::string_view text);

// What parse_size reads back to the same size, in the largest unit in which it is whole: "4GiB",
// "1536KiB", "4097".
std::string exact_size_text(Bytes size);

// For people, in the largest unit that leaves at least 1: "1.50 GiB", "17 B".
std::string size_text(Bytes size);

}  // namespace larder
