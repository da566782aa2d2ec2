#include "sim/fabric/fabric.h"

#include <algorithm>
#include <cmath>

#include "core/base/assert.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

constexpr std::uint32_t leg_label = 0x1e6;
constexpr std::int64_t picoseconds = 1'000;  // in a nanosecond
constexpr std::uint64_t mib = 1 << 20;

}  // namespace

Duration registration_time(const TransferCosts& costs, Bytes length) {
  const std::uint64_t whole = length.value / mib;
  const auto each = static_cast<std::uint64_t>(costs.registration_each_mib.count());
  const std::uint64_t time = whole * each + length.value % mib * each / mib;
  return costs.registration + Duration(static_cast<std::int64_t>(time));
}

// ---- legs ---------------------------------------------------------------------------------------

Fabric::Leg::Leg(Fabric& owner) : Event(leg_label), fabric(owner) {}

void Fabric::Leg::set_rate(double rate) {
  const Instant now = fabric.kernel_.now();
  left = std::max(0.0, left - per_second * static_cast<double>((now - since).count()) / 1e9);
  since = now;
  per_second = rate;
  const double nanoseconds = std::ceil(left / per_second * 1e9);
  constexpr double longest = 4e18;
  fabric.kernel_.arm_in(*this, Duration(static_cast<std::int64_t>(std::min(nanoseconds, longest))));
}

void Fabric::Leg::fire() {
  switch (stage) {
    case Stage::travelling:
      return fabric.begin_moving(*this);
    case Stage::moving: {
      left = 0;
      if (work == nullptr) return fabric.end_moving(*this);
      Work& owner = *work;
      fabric.end_work(*this);
      return owner.finish();
    }
    case Stage::completing: {
      Move& owner = *move;
      std::erase(owner.legs_, number);
      fabric.release(*this);
      if (owner.legs_.empty()) owner.finish();
      return;
    }
    case Stage::free:
      LARDER_ASSERT(false, "a leg that is free");
  }
}

// ---- the fabric ---------------------------------------------------------------------------------

Fabric::Fabric(Kernel& kernel, const Topology& topology, const StripeRules& rules)
    : kernel_(kernel),
      topology_(topology),
      rules_(rules),
      rates_(topology.rates()),
      loads_(topology.hosts()),
      free_at_(topology.parts()),
      messages_per_second_(topology.parts()),
      down_(topology.parts()),
      nics_up_(topology.hosts()),
      moved_over_(topology.edges()),
      cores_(topology.hosts()) {
  for (std::uint32_t host = 0; host < topology.hosts(); ++host) {
    std::uint32_t number = 0;
    for (const HardwarePart& part : topology.hardware_of(host).parts) {
      if (part.kind != PartKind::nic) continue;
      messages_per_second_[topology.nic(host, number++).value] = part.messages_per_second;
    }
    nics_up_[host] = number;
  }
}

Fabric::~Fabric() { LARDER_ASSERT(free_legs_.size() == legs_.size()); }

void Fabric::degrade(EdgeId edge, double share) {
  LARDER_ASSERT(share > 0 && share <= 1);
  const double rate = static_cast<double>(topology_.per_second(edge).value) * share;
  rates_.set_capacity(edge, {std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rate))},
                      changed_);
  apply_rates();
}

Fabric::Leg& Fabric::take_leg() {
  if (free_legs_.empty()) {
    legs_.emplace_back(*this);
    legs_.back().number = static_cast<std::uint32_t>(legs_.size() - 1);
    free_legs_.push_back(legs_.back().number);
  }
  Leg& leg = legs_[free_legs_.back()];
  free_legs_.pop_back();
  return leg;
}

// All that are up, in their order.
std::span<const NearNic> Fabric::near_nics(PartId place, std::vector<NearNic>& up) const {
  const std::span<const NearNic> all = topology_.nics_near(place);
  const std::uint32_t host = topology_.host_of(place);
  if (nics_up_[host] == all.size()) return all;
  up.clear();
  for (const NearNic& nic : all) {
    if (!down_[topology_.nic(host, nic.nic).value]) up.push_back(nic);
  }
  return up;
}

// Appends the stripes of so many bytes of the move.
void Fabric::plan(Move& move, Bytes length, std::vector<Stripe>& stripes) {
  const Move::Plan& plan = move.plan_;
  const std::uint32_t from = topology_.host_of(plan.from);
  const std::uint32_t to = topology_.host_of(plan.to);
  if (from == to) {
    stripes.push_back({.length = length});
    return;
  }
  LARDER_ASSERT(nics_up_[from] > 0 && nics_up_[to] > 0, "a move that no NIC can carry");
  plan_stripes(length, {near_nics(plan.from, local_up_), loads_[from]},
               {near_nics(plan.to, remote_up_), loads_[to]}, rules_, stripes);
}

void Fabric::set_nic(PartId nic, bool up) {
  const std::uint32_t host = topology_.host_of(nic);
  LARDER_ASSERT(topology_.kind(nic) == PartKind::nic && down_[nic.value] == up);
  down_[nic.value] = !up;
  up ? ++nics_up_[host] : --nics_up_[host];
  if (up) return;
  for (std::uint32_t number = 0; number < legs_.size(); ++number) {
    Leg& leg = legs_[number];
    const bool under_way = leg.stage == Leg::Stage::travelling || leg.stage == Leg::Stage::moving;
    if (!under_way || leg.work != nullptr) continue;
    Move& move = *leg.move;
    const std::uint32_t from = topology_.host_of(move.plan_.from);
    const std::uint32_t to = topology_.host_of(move.plan_.to);
    if (from == to || (topology_.nic(from, leg.stripe.local_nic) != nic &&
                       topology_.nic(to, leg.stripe.remote_nic) != nic)) {
      continue;
    }
    const Bytes moved_before = counters_.moved;
    const Bytes length = leg.stripe.length;
    std::erase(move.legs_, number);
    release(leg);
    const Bytes left = std::max(Bytes{1}, length - (counters_.moved - moved_before));
    std::vector<Stripe> stripes;
    plan(move, left, stripes);
    for (const Stripe& stripe : stripes) start_leg(move, stripe, kernel_.now());
  }
}

void Fabric::start(Move& move) {
  LARDER_ASSERT(move.plan_.length > Bytes{} && move.legs_.empty());
  const std::uint32_t from = topology_.host_of(move.plan_.from);
  stripes_.clear();
  plan(move, move.plan_.length, stripes_);
  ++counters_.moves;
  Instant posted = kernel_.now();
  for (const Stripe& stripe : stripes_) {
    posted += topology_.hardware_of(from).costs.posting;
    start_leg(move, stripe, posted);
  }
}

void Fabric::start_leg(Move& move, const Stripe& stripe, Instant posted) {
  Leg& leg = take_leg();
  leg.stage = Leg::Stage::travelling;
  leg.move = &move;
  leg.stripe = stripe;
  leg.path.clear();
  move.legs_.push_back(leg.number);
  ++counters_.stripes;
  const PartId from = move.plan_.from;
  const PartId to = move.plan_.to;
  const std::uint32_t from_host = topology_.host_of(from);
  const std::uint32_t to_host = topology_.host_of(to);
  if (from_host == to_host) {
    topology_.append_inside(from, to, leg.path);
  } else {
    const PartId out = topology_.nic(from_host, stripe.local_nic);
    const PartId in = topology_.nic(to_host, stripe.remote_nic);
    topology_.append_inside(from, out, leg.path);
    topology_.append_wire(out, in, static_cast<std::uint32_t>(counters_.stripes), leg.path);
    topology_.append_inside(in, to, leg.path);
    posted = pass(in, pass(out, posted));
  }
  kernel_.arm(leg, posted + topology_.latency(leg.path));
  if (from_host == to_host || move.plan_.transport == Move::Transport::tcp) {
    if (move.plan_.sender) append_threads(*move.plan_.sender, leg.path);
    if (move.plan_.receiver) append_threads(*move.plan_.receiver, leg.path);
  }
}

Instant Fabric::pass(PartId nic, Instant at) {
  std::int64_t& free_at = free_at_[nic.value];
  const std::int64_t begin = std::max(free_at, (at - Instant{}).count() * picoseconds);
  free_at = begin + static_cast<std::int64_t>(1'000'000'000'000 / messages_per_second_[nic.value]);
  return Instant{} + Duration(begin / picoseconds);
}

void Fabric::begin_moving(Leg& leg) {
  const Move::Plan& plan = leg.move->plan_;
  Bytes limit = MaxMin::no_limit;
  if (plan.transport == Move::Transport::tcp || plan.from == plan.to) {
    limit = std::min(topology_.hardware_of(topology_.host_of(plan.from)).costs.tcp_per_second,
                     topology_.hardware_of(topology_.host_of(plan.to)).costs.tcp_per_second);
  }
  leg.stage = Leg::Stage::moving;
  leg.left = static_cast<double>(leg.stripe.length.value);
  leg.per_second = 0;
  leg.since = kernel_.now();
  rates_.start(leg.number, leg.path, limit, changed_);
  apply_rates();
}

// So many bytes of it have arrived.
void Fabric::count(const Leg& leg, Bytes bytes) {
  counters_.moved += bytes;
  for (const EdgeId edge : leg.path) moved_over_[edge.value] += bytes.value;
}

void Fabric::end_moving(Leg& leg) {
  const Move::Plan& plan = leg.move->plan_;
  leg.stage = Leg::Stage::completing;
  count(leg, leg.stripe.length);
  kernel_.arm_in(leg, topology_.hardware_of(topology_.host_of(plan.from)).costs.completion);
  rates_.end(leg.number, changed_);
  apply_rates();
}

// The leg's way ends, wherever it is.
void Fabric::release(Leg& leg) noexcept {
  const Move::Plan& plan = leg.move->plan_;
  const std::uint32_t from = topology_.host_of(plan.from);
  const std::uint32_t to = topology_.host_of(plan.to);
  if (from != to) {
    loads_[from].remove(leg.stripe.local_nic, leg.stripe.length);
    loads_[to].remove(leg.stripe.remote_nic, leg.stripe.length);
  }
  kernel_.cancel(leg);
  if (leg.stage == Leg::Stage::moving) {
    leg.left -= leg.per_second * static_cast<double>((kernel_.now() - leg.since).count()) / 1e9;
    const auto left = static_cast<std::uint64_t>(std::max(0.0, leg.left));
    count(leg, leg.stripe.length - Bytes{std::min(left, leg.stripe.length.value)});
    rates_.end(leg.number, changed_);
    apply_rates();
  }
  leg.stage = Leg::Stage::free;
  leg.move = nullptr;
  free_legs_.push_back(leg.number);
}

// ---- cores --------------------------------------------------------------------------------------

ThreadsId Fabric::add_threads(std::uint32_t host, std::uint32_t threads) {
  const HardwareHost& hardware = topology_.hardware_of(host);
  LARDER_ASSERT(hardware.cores > 0 && threads > 0);
  const Bytes core = hardware.costs.tcp_per_second;
  if (!cores_[host]) cores_[host] = rates_.add_edge(core * hardware.cores);
  threads_.push_back({.host = host, .edge = rates_.add_edge(core * threads)});
  moved_over_.resize(threads_.back().edge.value + 1);
  return {static_cast<std::uint32_t>(threads_.size() - 1)};
}

void Fabric::append_threads(ThreadsId threads, std::vector<EdgeId>& path) const {
  const auto& [host, edge] = threads_[threads.value];
  path.push_back(edge);
  path.push_back(*cores_[host]);
}

void Fabric::start(Work& work, Duration time) {
  LARDER_ASSERT(!work.leg_);
  const std::uint32_t host = threads_[work.threads_.value].host;
  const Bytes core = topology_.hardware_of(host).costs.tcp_per_second;
  Leg& leg = take_leg();
  leg.stage = Leg::Stage::moving;
  leg.move = nullptr;
  leg.work = &work;
  leg.path.clear();
  append_threads(work.threads_, leg.path);
  leg.left = static_cast<double>(core.value) / 1e9 * static_cast<double>(time.count());
  leg.per_second = 0;
  leg.since = kernel_.now();
  work.leg_ = leg.number;
  rates_.start(leg.number, leg.path, core, changed_);
  apply_rates();
}

void Fabric::end_work(Leg& leg) noexcept {
  kernel_.cancel(leg);
  rates_.end(leg.number, changed_);
  apply_rates();
  leg.work->leg_.reset();
  leg.work = nullptr;
  leg.stage = Leg::Stage::free;
  free_legs_.push_back(leg.number);
}

void Work::stop() noexcept {
  if (leg_) fabric_.end_work(fabric_.legs_[*leg_]);
}

void Fabric::apply_rates() {
  counters_.rate_changes += changed_.size();
  for (const auto& [leg, per_second] : changed_) legs_[leg].set_rate(per_second);
  changed_.clear();
}

Move::~Move() {
  for (const std::uint32_t leg : legs_) fabric_.release(fabric_.legs_[leg]);
}

}  // namespace larder::sim
