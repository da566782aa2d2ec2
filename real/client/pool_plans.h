#pragma once

#include "real/client/pool_state.h"

// The calls on puts in parts (parted_put.cpp). Internal to real/client.

namespace larder::real {

CallPlan<Pool::BeginResults> plan_begin_put(Pool::State& state, std::span<const PutInParts> items,
                                            PutOptions options, Duration timeout);
CallPlan<Pool::WriteResults> plan_write_parts(Pool::State& state, std::span<const PutBytes> parts,
                                              Duration timeout);
CallPlan<Pool::PutResults> plan_end_put(Pool::State& state, std::span<const PartedPut* const> puts,
                                        Duration timeout);

}  // namespace larder::real
