#pragma once

#include <cstddef>
#include <span>

#include "workloads/request.h"

namespace larder::workloads {

// The bytes that stand for a page's KV cache: a function of its block and of the position, so that
// any byte out of place is seen.
void fill_page(BlockId block, std::span<std::byte> page);
bool is_page(BlockId block, std::span<const std::byte> page);

}  // namespace larder::workloads
