#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/identity.h"
#include "core/node/node.h"
#include "core/ports/transport.h"

namespace larder::sim {

// One transfer between a client and a node: the request, its chunks, the answer. Either side may go
// away; the other one notices that later, or never.
struct Moving {
  enum class Stage : std::uint8_t {
    asked,     // on its way to the node
    moving,    // the node lets it in
    answered,  // the node is done with it, and its answer is on its way
    over,      // at the node, without an answer
  };

  // Of one range.
  Moving(Transfer what, Time until, Completion& to);
  Moving(const Moving&) = delete;
  Moving& operator=(const Moving&) = delete;

  bool is_fill() const { return std::holds_alternative<Fill>(transfer); }
  FillRange& fill_range() { return std::get<Fill>(transfer).ranges[0]; }
  ReadRange& read_range() { return std::get<Read>(transfer).ranges[0]; }
  const ReadRange& read_range() const { return std::get<Read>(transfer).ranges[0]; }
  std::uint32_t all_chunks() const { return static_cast<std::uint32_t>((1ull << chunks) - 1); }
  bool waits_at_client() const { return completion != nullptr; }
  // Apart from what its client has asked for, which its own history says.
  void add_identity(Identity& identity, Time now, std::uint64_t node_scope) const;

  Transfer transfer;
  Completion* completion;  // null: the client has gone away, or has heard the end
  Time deadline;
  std::uint32_t node = 0;
  std::uint64_t node_life = 0;
  std::uint32_t chunks = 0;
  std::uint32_t moved = 0;  // bit i: chunk i is there
  Stage stage = Stage::asked;
  bool one_sided = false;
  bool ending = false;        // the node wants it to end
  bool node_gone = false;     // its side of the connection is closed
  bool left_noticed = false;  // the node knows that the client is gone
  ConnectionId connection;
  FillId fill;
  ReadId read;
  Status result;
  std::optional<std::uint64_t> checksum;

  // What the node holds of a fill: its own copy of the record.
  FillItem item;
  std::string texts[4];
};

}  // namespace larder::sim
