#pragma once

#include <cstddef>
#include <span>

namespace larder {

// A piece of the caller's memory. `data` is not touched outside a transfer that names it.
using Slice = std::span<std::byte>;
using ConstSlice = std::span<const std::byte>;

}  // namespace larder
