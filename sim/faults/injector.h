#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/base/random.h"
#include "sim/cluster/world.h"
#include "sim/faults/fault.h"

namespace larder::sim {

// Brings faults into a world and takes them out again when their time is over. Several may be on at
// once and overlap: a process runs, and a link is open, when no fault holds it any more.
//
// The first master of the world is the one that nodes and clients belong to; others are alive only
// while `start` holds. Outlived by its world.
class Injector {
 public:
  // `over`: a fault's time is over, which is told when it has been taken back.
  explicit Injector(World& world, std::function<void(const Fault&)> over = {});
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  // Message faults of all links.
  void set_links(const LinkFaults& faults);
  // Precondition: the world has the processes that it names.
  void begin(const Fault& fault);
  // Everything is as it was before, but for what was lost meanwhile.
  void end_all();
  // Bits that were flipped in memory.
  std::uint64_t flipped_bits() const { return flipped_; }

 private:
  Process& process(ProcessName name);
  MasterProcess& master(ProcessName name) { return *world_.masters()[name.index]; }
  NodeProcess& node(ProcessName name) { return *world_.nodes()[name.index]; }

  void apply(const Fault& fault);
  void crash(ProcessName name);
  void crash_host(const Host& host);
  void end(std::uint64_t number);
  void take_back(const Fault& fault);
  bool holds(FaultKind kind, Process& hit);
  bool held_down(ProcessName name);
  void settle_clock(Host& host);
  void clock_changed(const Host& host);
  void settle(ProcessName name);
  void settle_links();
  void turn(ProcessName name, MasterProcess& master);
  void settle_echo(NodeProcess& node);
  void move(NodeProcess& node, Bytes segment);
  void flip(NodeProcess& node, std::int64_t bits);
  template <class Visit>
  void for_each_process(Visit&& visit);

  World& world_;
  std::function<void(const Fault&)> over_;
  Random random_;
  std::vector<std::int64_t> usual_rates_;  // parts per billion, by host
  LinkFaults links_;
  std::map<std::uint64_t, Fault> active_;
  std::uint64_t last_ = 0;
  std::uint64_t moves_ = 0;
  std::uint64_t flipped_ = 0;
};

}  // namespace larder::sim
