#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/client/client.h"
#include "core/client/endpoint_health.h"
#include "core/client/master_session.h"
#include "core/client/segment_cache.h"
#include "core/client/waiting.h"
#include "core/protocol/owned_request.h"

// What the client's coroutines share. Internal to core/client.

namespace larder {

struct ClientState {
  ClientState(ClientPorts the_ports, ClientConfig the_config);

  Time now() const { return ports.clock.now(); }

  ClientPorts ports;
  ClientConfig config;
  ClientCounters counters;
  StageTimes stages;
  MasterSession session;
  SegmentCache segments;
  EndpointHealth endpoints;
  std::vector<Task<Done>> unwaited;  // revokes whose answer nobody waits for
};

// Learns what is not known yet of `ids`, in at most one call. An id may stay unknown after it.
// Error: the master could not be asked.
Task<Status> learn_segments(ClientState& client, std::vector<SegmentId> ids, Time deadline);

// Transport::submit for one node, keeping book of whether its endpoint answers, and of the time
// since the master told of it (`told`). What came of it is in the results of the items.
// Precondition: the endpoint may be tried now, and outlives the task.
struct MoveTimes {
  Time told;
  Time deadline;
};
Task<Done> move_bytes(ClientState& client, Transfer transfer, std::string_view endpoint,
                      MoveTimes times);

// MasterSession::call for places or replicas, of which the time counts as lookup.
Task<std::vector<MasterSession::Answered>> look_up(ClientState& client, RequestBody body,
                                                   Time deadline);

// Gives puts up without waiting for the answer, which comes only when their nodes have retired
// them.
void revoke_unwaited(ClientState& client, PutRevoke revoke);

// OK, or what is wrong with a key that a caller gives.
Status check_key(std::string_view key);
// What no call may exceed.
Status check_count(std::size_t items);

// What is wrong with a put of so many bytes, as far as the client can tell; its value is not looked
// at.
Status check_put(const PutItem& item, Bytes size, Bytes object_bytes_max);
// How a put asks for space, and what its nodes must know of it. Views of the item's texts.
PutStart::Item start_item(const PutItem& item, Bytes size);
ObjectRecord record_of(const ClientState& client, const PutItem& item, Bytes size);

// `error` with the key and how long the call has taken.
Error explained(Error error, std::string_view key, Duration elapsed);

// The `part` of `slices` as slices. Precondition: it is inside.
struct Part {
  Bytes offset;
  Bytes length;
};
template <class Byte>
std::vector<std::span<Byte>> part_of(std::span<const std::span<Byte>> slices, Part part) {
  std::vector<std::span<Byte>> result;
  std::uint64_t skip = part.offset.value;
  std::uint64_t left = part.length.value;
  for (const std::span<Byte> slice : slices) {
    if (left == 0) break;
    if (skip >= slice.size()) {
      skip -= slice.size();
      continue;
    }
    const std::uint64_t length = std::min<std::uint64_t>(slice.size() - skip, left);
    result.push_back(slice.subspan(skip, length));
    skip = 0;
    left -= length;
  }
  return result;
}

template <class Byte>
Bytes total_bytes(std::span<const std::span<Byte>> slices) {
  Bytes total;
  for (const std::span<Byte> slice : slices) total += {slice.size()};
  return total;
}

Task<std::vector<Result<PutOutcome>>> run_put(ClientState& client, std::span<const PutItem> items,
                                              PutOptions options, Time deadline);
Task<std::vector<Result<PutWriter>>> run_begin_put(ClientState& client,
                                                   std::span<const PutInParts> items,
                                                   PutOptions options, Time deadline);
Task<std::vector<Status>> run_write_parts(ClientState& client, std::span<const PutPart> parts,
                                          Time deadline);
Task<std::vector<Result<PutOutcome>>> run_end_put(ClientState& client,
                                                  std::span<PutWriter* const> writers,
                                                  Time deadline);
Task<std::vector<Result<GetOutcome>>> run_get(ClientState& client, std::span<const GetItem> items,
                                              GetOptions options, Time deadline);

}  // namespace larder
