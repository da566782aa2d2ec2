#pragma once

#include <compare>
#include <cstdint>

namespace larder::sim {

// One thing that may happen next in a small world. Its name says what it is, not how it came about:
// the same thing has the same name on each way on which it can still happen.
struct Action {
  enum class Kind : std::uint8_t {
    begin,        // client `host` begins its next operation
    request,      // its call `number` reaches its master
    reply,        // and the reply comes back
    reach,        // its transfer `number` reaches the node
    chunk,        // chunk `part` of it is moved
    end,          // the node has all of it: it seals, or the read is over
    answer,       // the node's answer comes, or the footer of a one-sided read
    broken,       // the client notices that the transfer's connection is closed
    left,         // the node notices that the client is gone
    give_up,      // the node ends physically what it has given up
    verify,       // node `host` has read an extent again
    up,           // the next message of node `host` reaches its master
    down,         // the next one of the master reaches the node
    connect,      // node `host` has a connection to its master (again)
    gone,         // master `host` notices that a node's connection has ended
    tick_master,  // it does work that is due
    tick_node,
    timer,          // timer `number` of client `host`
    call_late,      // the deadline of its call `number`
    transfer_late,  // and of its transfer
    start_node,
    turn_client,  // it asks the other master from now on
    turn_node,
    // The world says how often:
    pass,            // time moves to the next due timer
    crash_client,    // for good
    crash_node,      // it starts again at any time
    restart_master,  // at once
    start_master,    // the second one
    lose,            // what is under way of call `number` of client `host`; it is asked again
    twice,           // the call reaches the master, and will once more
  };

  Kind kind = Kind::begin;
  std::uint8_t host = 0;
  std::uint8_t part = 0;
  std::uint16_t number = 0;
  auto operator<=>(const Action&) const = default;

  bool is_bounded() const { return kind >= Kind::pass; }
};

// What an action looked at and what it changed: hosts, memories, the order of operations. Two
// actions commute if neither changes what the other one touches.
struct Footprint {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  static constexpr std::uint64_t client(std::uint32_t i) { return std::uint64_t{1} << i; }
  static constexpr std::uint64_t master(std::uint32_t i) { return std::uint64_t{1} << (16 + i); }
  static constexpr std::uint64_t node(std::uint32_t i) { return std::uint64_t{1} << (24 + i); }
  static constexpr std::uint64_t memory(std::uint32_t i) { return std::uint64_t{1} << (32 + i); }
  static constexpr std::uint64_t history = std::uint64_t{1} << 40;
  static constexpr std::uint64_t budget = std::uint64_t{1} << 41;
  static constexpr std::uint64_t all = ~std::uint64_t{0};

  bool commutes(const Footprint& other) const {
    return (writes & (other.reads | other.writes)) == 0 && (other.writes & reads) == 0;
  }
};

}  // namespace larder::sim
