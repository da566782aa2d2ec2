#include "sim/faults/injector.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/protocol/footer.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t fault_over_label = 0xfa1;

bool needs_clock(FaultKind kind) { return kind == FaultKind::drift || kind == FaultKind::freeze; }

}  // namespace

template <class Visit>
void Injector::for_each_process(Visit&& visit) {
  const auto all = [&](Role role, const auto& list) {
    for (std::uint32_t i = 0; i < list.size(); ++i) visit(ProcessName{role, i}, *list[i]);
  };
  all(Role::master, world_.masters());
  all(Role::node, world_.nodes());
  all(Role::client, world_.clients());
}

Injector::Injector(World& world, std::function<void(const Fault&)> over)
    : world_(world),
      over_(std::move(over)),
      random_(world.kernel().random("faults")),
      usual_rates_(world.network().hosts()) {
  for_each_process([this](ProcessName, Process& each) {
    usual_rates_[each.host().id.value] = each.host().clock.parts_per_billion();
  });
}

Process& Injector::process(ProcessName name) {
  switch (name.role) {
    case Role::master:
      return *world_.masters().at(name.index);
    case Role::node:
      return *world_.nodes().at(name.index);
    case Role::client:
      break;
  }
  return *world_.clients().at(name.index);
}

void Injector::set_links(const LinkFaults& faults) {
  links_ = faults;
  settle_links();
}

void Injector::begin(const Fault& fault) {
  const bool lasts = info(fault.kind).lasts;
  if (lasts) active_.emplace(++last_, fault);
  apply(fault);
  if (!lasts) return;
  Kernel& kernel = world_.kernel();
  kernel.post(later(kernel.now(), fault.lasts), fault_over_label,
              [this, number = last_] { end(number); });
}

void Injector::apply(const Fault& fault) {
  Process& hit = process(fault.target);
  const Instant now = world_.kernel().now();
  switch (fault.kind) {
    case FaultKind::crash:
      if (fault.amount == 0) return hit.crash();
      return hit.crash_after(static_cast<std::uint64_t>(fault.amount));
    case FaultKind::power_off:
      settle_links();
      return crash_host(hit.host());
    case FaultKind::stop:
      return hit.stop();
    case FaultKind::suspend:
      settle_links();
      return for_each_process([&](ProcessName, Process& each) {
        if (&each.host() == &hit.host()) each.stop();
      });
    case FaultKind::cut:
    case FaultKind::block:
    case FaultKind::lag:
    case FaultKind::slow:
      return settle_links();
    case FaultKind::reset:
      return node(fault.target).reset_connection();
    case FaultKind::drift:
    case FaultKind::freeze:
      return settle_clock(hit.host());
    case FaultKind::jump:
      hit.host().clock.jump(now, Duration(fault.amount));
      return clock_changed(hit.host());
    case FaultKind::flip:
      return flip(node(fault.target), fault.amount);
    case FaultKind::move:
    case FaultKind::resize: {
      NodeProcess& moved = node(fault.target);
      moved.crash();
      const Bytes size = moved.segments().front();
      return move(moved, fault.kind == FaultKind::resize
                             ? Bytes{static_cast<std::uint64_t>(fault.amount)}
                             : size);
    }
    case FaultKind::start:
      return settle(fault.target);
    case FaultKind::turn:
      return turn(fault.target, master(fault.other));
    case FaultKind::echo:
      return settle_echo(node(fault.target));
    case FaultKind::lose_state:
      hit.crash();
      return master(fault.target).lose_state_directory();
  }
}

void Injector::crash_host(const Host& host) {
  for_each_process([&](ProcessName, Process& each) {
    if (&each.host() == &host) each.crash();
  });
}

void Injector::end(std::uint64_t number) {
  const auto over = active_.find(number);
  if (over == active_.end()) return;  // end_all() was called
  const Fault fault = over->second;
  active_.erase(over);
  take_back(fault);
  if (over_) over_(fault);
}

void Injector::end_all() {
  const auto all = std::exchange(active_, {});
  links_ = {};
  settle_links();
  for (const auto& [number, fault] : all) {
    take_back(fault);
    if (over_) over_(fault);
  }
  for_each_process([&](ProcessName name, Process&) { settle(name); });
}

void Injector::take_back(const Fault& fault) {
  Process& hit = process(fault.target);
  settle_links();
  switch (fault.kind) {
    case FaultKind::crash:
      hit.crash_after(0);
      break;
    case FaultKind::drift:
    case FaultKind::freeze:
      return settle_clock(hit.host());
    case FaultKind::start:
      hit.crash();
      // One of the two has ended by itself; an operator starts the right one again.
      return settle({.role = Role::master, .index = 0});
    case FaultKind::turn:
      return turn(fault.target, *world_.masters().front());
    case FaultKind::echo:
      return settle_echo(node(fault.target));
    default:
      break;
  }
  for_each_process([&](ProcessName name, Process& each) {
    if (&each.host() == &hit.host()) settle(name);
  });
}

bool Injector::holds(FaultKind kind, Process& hit) {
  return std::ranges::any_of(active_, [&](const auto& each) {
    const Fault& fault = each.second;
    if (fault.kind != kind) return false;
    Process& target = process(fault.target);
    const bool whole_host = kind == FaultKind::power_off || kind == FaultKind::suspend;
    return whole_host ? &target.host() == &hit.host() : &target == &hit;
  });
}

bool Injector::held_down(ProcessName name) {
  Process& held = process(name);
  if (name.role == Role::master && name.index > 0 && !holds(FaultKind::start, held)) return true;
  return std::ranges::any_of(std::array{FaultKind::crash, FaultKind::power_off, FaultKind::move,
                                        FaultKind::resize, FaultKind::lose_state},
                             [&](FaultKind kind) { return holds(kind, held); });
}

void Injector::settle(ProcessName name) {
  Process& settled = process(name);
  if (!settled.alive()) {
    if (held_down(name)) return;
    settled.start();
    if (holds(FaultKind::stop, settled)) settled.stop();
  }
  if (settled.stopped() && !holds(FaultKind::stop, settled) &&
      !holds(FaultKind::suspend, settled)) {
    settled.go_on();
  }
}

// Its clock's rate: of what is on, the last one wins.
void Injector::settle_clock(Host& host) {
  std::int64_t parts_per_billion = usual_rates_[host.id.value];
  for (const auto& [number, fault] : active_) {
    if (!needs_clock(fault.kind) || &process(fault.target).host() != &host) continue;
    parts_per_billion = fault.kind == FaultKind::freeze ? 1 - 1'000'000'000 : fault.amount * 1'000;
  }
  host.clock.set_rate(world_.kernel().now(), parts_per_billion);
  clock_changed(host);
}

void Injector::clock_changed(const Host& host) {
  for_each_process([&](ProcessName, Process& each) {
    if (&each.host() == &host) each.clock_changed();
  });
}

void Injector::settle_links() {
  Network& network = world_.network();
  const std::size_t hosts = network.hosts();
  std::vector<bool> blocked(hosts * hosts);
  std::vector<Duration> delays(hosts * hosts, links_.delay);
  std::vector<std::int64_t> slower(hosts, 1);
  for (const auto& [number, fault] : active_) {
    const HostId from = process(fault.target).host().id;
    const auto link = [&](HostId to) { return from.value * hosts + to.value; };
    switch (fault.kind) {
      case FaultKind::cut:
      case FaultKind::power_off:
      case FaultKind::suspend:
        for (std::uint32_t other = 0; other < hosts; ++other) {
          if (other == from.value) continue;
          blocked[from.value * hosts + other] = blocked[other * hosts + from.value] = true;
        }
        break;
      case FaultKind::block:
        blocked[link(process(fault.other).host().id)] = true;
        break;
      case FaultKind::lag:
        delays[link(process(fault.other).host().id)] += Duration(fault.amount);
        break;
      case FaultKind::slow:
        slower[from.value] = std::max(slower[from.value], fault.amount);
        break;
      default:
        break;
    }
  }
  for (std::uint32_t from = 0; from < hosts; ++from) {
    network.degrade({from}, 1.0 / static_cast<double>(slower[from]));
    for (std::uint32_t to = 0; to < hosts; ++to) {
      if (from == to) continue;
      const Route route{.from = {from}, .to = {to}};
      LinkFaults faults = links_;
      faults.delay = delays[from * hosts + to];
      network.set_faults(route, faults);
      const bool block = blocked[from * hosts + to];
      if (network.blocked(route) != block) network.set_blocked(route, block);
    }
  }
}

void Injector::turn(ProcessName name, MasterProcess& to) {
  if (name.role == Role::node) return node(name).obey(to);
  world_.clients()[name.index]->obey(to);
}

// Of what is on, the last one wins.
void Injector::settle_echo(NodeProcess& hit) {
  Duration later_by{0};
  for (const auto& [number, fault] : active_) {
    if (fault.kind == FaultKind::echo && &node(fault.target) == &hit) {
      later_by = Duration(fault.amount);
    }
  }
  hit.set_echo(later_by);
}

void Injector::move(NodeProcess& moved, Bytes segment) {
  world_.move_node(moved, moved.host().name + ":moved" + std::to_string(++moves_), {segment});
}

// Where extents are: a bit that belongs to nobody would show nothing.
void Injector::flip(NodeProcess& hit, std::int64_t bits) {
  std::vector<std::pair<TrackedMemory*, Stamp>> stamps;
  hit.for_each_memory([&](SegmentId, TrackedMemory& memory) {
    for (const Stamp& stamp : memory.stamps().read(0_B, memory.size())) {
      stamps.emplace_back(&memory, stamp);
    }
  });
  if (stamps.empty()) return;
  for (; bits > 0; --bits) {
    const auto& [memory, stamp] = stamps[random_.below(stamps.size())];
    // The payload, or the footer behind it.
    const Bytes within{random_.below(footer_offset(stamp.length).value + footer_size.value)};
    const Bytes at = std::min(stamp.at + within, memory->size() - 1_B);
    memory->flip(at, static_cast<unsigned>(random_.below(8)));
    ++flipped_;
  }
}

}  // namespace larder::sim
