#include "sim/fabric/network.h"

#include <algorithm>
#include <utility>

#include "core/base/assert.h"

namespace larder::sim {

Network::Network(Kernel& kernel, const Config& config, std::unique_ptr<RateModel> rates)
    : kernel_(kernel),
      config_(config),
      rates_(std::move(rates)),
      message_random_(kernel.random("network messages")),
      flow_random_(kernel.random("network flows")) {
  LARDER_ASSERT(config_.chunk > 0_B);
}

Network::~Network() { LARDER_ASSERT(free_numbers_.size() == flows_.size()); }

void Network::drop_all() {
  std::vector<std::vector<std::function<void()>>> dropped;
  for (Droppable& droppable : droppables_) dropped.push_back(droppable.drop());
  droppables_.clear();
}

HostId Network::add_host(const HostSpec& spec) {
  const HostId id{static_cast<std::uint32_t>(hosts_.size())};
  hosts_.push_back(spec);
  for (std::vector<Link>& row : links_) row.emplace_back();
  links_.emplace_back(hosts_.size());
  rates_->add_host(spec);
  return id;
}

Duration Network::latency(Route route) const {
  if (route.from == route.to) return hosts_[route.from.value].local_latency;
  return hosts_[route.from.value].latency + hosts_[route.to.value].latency;
}

void Network::set_faults(const LinkFaults& faults) {
  for (std::uint32_t from = 0; from < hosts_.size(); ++from) {
    for (std::uint32_t to = 0; to < hosts_.size(); ++to) {
      if (from != to) links_[from][to].faults = faults;
    }
  }
}

void Network::set_faults(Route route, const LinkFaults& faults) { link(route).faults = faults; }

void Network::set_blocked(Route route, bool blocked) {
  link(route).blocked = blocked;
  reconsider_flows();
}

void Network::isolate(std::span<const HostId> island) {
  std::vector<bool> inside(hosts_.size());
  for (const HostId host : island) inside[host.value] = true;
  for (std::size_t from = 0; from < hosts_.size(); ++from) {
    for (std::size_t to = 0; to < hosts_.size(); ++to) {
      if (inside[from] != inside[to]) links_[from][to].blocked = true;
    }
  }
  reconsider_flows();
}

void Network::heal() {
  for (std::vector<Link>& row : links_) {
    for (Link& each : row) each.blocked = false;
  }
  reconsider_flows();
}

void Network::degrade(HostId host, double share) {
  rates_->degrade(host, share, changed_);
  apply_rates();
}

Duration Network::part_of(Duration whole) {
  return Duration(message_random_.below(static_cast<std::uint64_t>(whole.count()) + 1));
}

Network::Arrivals Network::draw_arrivals(Route route, Bytes size) {
  ++counters_.sent;
  Link& path = link(route);
  if (path.blocked) {
    ++counters_.blocked;
    return {};
  }
  // All numbers are drawn in any case, so that switching one fault off does not shift the others.
  const bool lost = message_random_.chance(path.faults.lose);
  const bool twice = message_random_.chance(path.faults.duplicate);
  const bool reordered = message_random_.chance(path.faults.reorder);
  const bool corrupted = message_random_.chance(path.faults.corrupt);
  const Duration jitter = part_of(path.faults.jitter);
  const Duration disorder = part_of(path.faults.disorder);
  const Duration disorder_of_copy = part_of(path.faults.disorder);
  const std::uint64_t speed = route.from == route.to
                                  ? hosts_[route.from.value].memory_per_second.value
                                  : std::min(hosts_[route.from.value].nic_per_second.value,
                                             hosts_[route.to.value].nic_per_second.value);
  const Duration on_wire(static_cast<std::int64_t>(size.value * 1'000'000'000 / speed));
  const Instant in_order = std::max(
      kernel_.now() + latency(route) + on_wire + path.faults.delay + jitter, path.last_arrival);

  Arrivals arrivals;
  if (twice) {
    ++counters_.duplicated;
    arrivals.second = in_order + disorder_of_copy;
  }
  if (lost) {
    ++counters_.lost;
  } else if (reordered) {
    ++counters_.reordered;
    arrivals.first = in_order + disorder;
  } else {
    arrivals.first = path.last_arrival = in_order;
  }
  if (corrupted && arrivals.first != instant_never) {
    ++counters_.corrupted;
    arrivals.corrupted = true;
  }
  return arrivals;
}

bool Network::arrives(Route route) {
  const bool blocked = link(route).blocked;
  ++(blocked ? counters_.blocked : counters_.delivered);
  return !blocked;
}

bool Network::corrupts_chunk(Route route) {
  const double chance = link(route).faults.corrupt_chunk;
  const bool corrupts = chance > 0 && flow_random_.chance(chance);
  counters_.corrupted_chunks += corrupts ? 1 : 0;
  return corrupts;
}

void Network::add(Flow& flow) {
  if (free_numbers_.empty()) {
    free_numbers_.push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.push_back(nullptr);
  }
  flow.number_ = free_numbers_.back();
  free_numbers_.pop_back();
  flows_[flow.number_] = &flow;
}

void Network::remove(Flow& flow) noexcept {
  end_rate(flow);
  flows_[flow.number_] = nullptr;
  free_numbers_.push_back(flow.number_);
}

void Network::start_rate(Flow& flow) {
  if (std::exchange(flow.in_rate_model_, true)) return;
  rates_->start(flow.number_, flow.plan_.route, changed_);
  apply_rates();
}

void Network::end_rate(Flow& flow) {
  if (!std::exchange(flow.in_rate_model_, false)) return;
  rates_->end(flow.number_, changed_);
  apply_rates();
}

void Network::apply_rates() {
  for (const auto& [flow, per_second] : changed_) flows_[flow]->set_rate(per_second);
  changed_.clear();
}

void Network::reconsider_flows() {
  for (Flow* flow : flows_) {
    if (flow != nullptr) flow->reconsider();
  }
}

}  // namespace larder::sim
