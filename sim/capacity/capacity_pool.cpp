#include "sim/capacity/capacity_pool.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/assert.h"
#include "core/protocol/extent_shape.h"
#include "sim/capacity/operations.h"
#include "sim/capacity/page_names.h"

namespace larder::sim {

// ---- the whole ----------------------------------------------------------------------------------

Result<std::unique_ptr<CapacityPool>> CapacityPool::make(Kernel& kernel, const Topology& topology,
                                                         Fabric* fabric, const PoolConfig& config) {
  LARDER_CHECK(config.check(topology));
  std::unique_ptr<CapacityPool> pool(new CapacityPool(kernel, topology, fabric, config));
  for (const auto& node : pool->nodes_) {
    const Status joined = node->join_now();
    if (joined) continue;
    return failed(ErrorCode::invalid_params, "the master refuses node " +
                                                 std::to_string(node->place().number) + ": " +
                                                 joined.error().facts().detail);
  }
  return pool;
}

CapacityPool::CapacityPool(Kernel& kernel, const Topology& topology, Fabric* fabric,
                           const PoolConfig& config)
    : kernel_(kernel),
      topology_(topology),
      fabric_(fabric),
      config_(config),
      server_(kernel, config_, *this, fabric),
      sessions_(topology.hosts()),
      page_bytes_(config_.page_bytes()) {
  const PoolNode::Library& library = *this;
  for (std::uint32_t number = 0; number < config_.nodes.size(); ++number) {
    const PoolNodeShape& shape = config_.nodes[number];
    const std::uint32_t host = topology.host_of(shape.memory);
    nodes_.push_back(
        std::make_unique<PoolNode>(kernel, server_, library, config_,
                                   PoolNode::Place{.number = number,
                                                   .shape = shape,
                                                   .host = host,
                                                   .host_name = "host" + std::to_string(host)}));
    if (fabric != nullptr && topology.hardware_of(host).cores > 0) {
      nodes_.back()->set_threads(fabric->add_threads(host, config_.threads.node));
    }
  }
}

CapacityPool::~CapacityPool() = default;

// ---- what engines ask ---------------------------------------------------------------------------

template <class Operation>
Operation& CapacityPool::take(Shelf<Operation>& shelf) {
  if (shelf.free.empty()) {
    shelf.free.push_back(shelf.all.emplace_back(std::make_unique<Operation>(*this)).get());
  }
  Operation& operation = *shelf.free.back();
  shelf.free.pop_back();
  return operation;
}

template <class Operation, class Client>
Operation* CapacityPool::find(Shelf<Operation>& shelf, const Client& client) {
  const auto found = std::ranges::find_if(
      shelf.all, [&](const auto& operation) { return operation->serves(client); });
  return found == shelf.all.end() ? nullptr : found->get();
}

void CapacityPool::look_up(PartId host_memory, std::span<const PoolPage> pages, Lookup& lookup) {
  take(asking_).begin(session(host_memory), pages, lookup);
}

void CapacityPool::read(PartId into, std::span<const PoolPage> pages, Read& read) {
  take(reading_).begin(session(into), into, pages, read);
}

void CapacityPool::put(PartId from, std::span<const PoolPage> pages, Put& put) {
  take(putting_).begin(session(from), from, pages, put);
}

void CapacityPool::give_up(Lookup& lookup) {
  if (Asking* const asking = find(asking_, lookup)) asking->give_up();
}

void CapacityPool::give_up(Read& read) {
  if (Reading* const reading = find(reading_, read)) reading->give_up();
}

void CapacityPool::give_up(Put& put) {
  if (Putting* const putting = find(putting_, put)) putting->give_up();
}

ClientSession& CapacityPool::session(PartId memory) {
  const std::uint32_t host = topology_.host_of(memory);
  auto& session = sessions_[host];
  if (session == nullptr) {
    session = std::make_unique<ClientSession>(kernel_, server_, config_.costs, host,
                                              "host" + std::to_string(host));
    if (fabric_ != nullptr && topology_.hardware_of(host).cores > 0) {
      session->set_threads(*fabric_, fabric_->add_threads(host, config_.threads.client));
    }
  }
  return *session;
}

PoolNode* CapacityPool::node_of(SegmentId segment) {
  // A segment's id begins with its node's number.
  return segment.high == 0 || segment.high > nodes_.size() ? nullptr
                                                           : nodes_[segment.high - 1].get();
}

Transfer& CapacityPool::take_transfer() {
  if (free_transfers_.empty()) {
    free_transfers_.push_back(
        transfers_.emplace_back(std::make_unique<Transfer>(kernel_, *fabric_, config_)).get());
  }
  Transfer& transfer = *free_transfers_.back();
  free_transfers_.pop_back();
  return transfer;
}

void CapacityPool::release(Transfer& transfer) {
  transfer.stop();
  transfer.objects.clear();
  transfer.bytes = {};
  free_transfers_.push_back(&transfer);
}

// ---- why something is missing -------------------------------------------------------------------

bool CapacityPool::all_reachable() const {
  return std::ranges::all_of(nodes_, [](const auto& node) { return node->reachable(); });
}

bool CapacityPool::connected(PartId memory) const {
  return fabric_ == nullptr || fabric_->connected(memory);
}

MissReason CapacityPool::reason(PageNumber page, Told told) const {
  if (book_.under_way(page)) return MissReason::not_visible;
  switch (book_.fate(page)) {
    case PageBook::Fate::none:
      return MissReason::cold;
    case PageBook::Fate::evicted:
      return MissReason::evicted;
    case PageBook::Fate::lost:
      return MissReason::lost;
    case PageBook::Fate::refused:
      return MissReason::refused;
    case PageBook::Fate::fragmented:
      return MissReason::fragmented;
    case PageBook::Fate::stored:
      break;
  }
  // It is on a node that the master does not answer: one that is gone, or of which a new master has
  // not heard yet.
  return told == Told::nothing || all_reachable() ? MissReason::timed_out : MissReason::lost;
}

std::optional<MissReason> CapacityPool::why_missing(const PoolPage& page) const {
  const std::optional<PageNumber> number = book_.find(page.id);
  if (!number) return MissReason::cold;
  const bool stored = book_.fate(*number) == PageBook::Fate::stored;
  if (stored && !book_.under_way(*number)) return std::nullopt;
  return reason(*number, Told::not_there);
}

void CapacityPool::miss(PageCounts& counts, PageNumber page, MissReason reason) {
  ++counts.missed_for(reason);
  if (watcher_ != nullptr) watcher_->missed(kernel_.now(), page, reason);
}

bool CapacityPool::fragmented(Bytes size) {
  if (!room_ || room_->at != kernel_.now()) {
    const StatusReport status = server_.machine()->status(server_.now());
    room_ = {.at = kernel_.now(), .in_one_piece = status.largest_free, .on_one_node = {}};
    for (const StatusReport::Node& node : status.nodes) {
      room_->on_one_node =
          std::max(room_->on_one_node, node.capacity - node.used - node.quarantined);
    }
  }
  const Bytes length = extent_shape(size).length;
  return room_->in_one_piece < length && room_->on_one_node >= length;
}

// ---- what comes out of the master ---------------------------------------------------------------

void CapacityPool::object_left(const ObjectEvent& event) {
  const std::optional<PageNumber> page = book_.find(page_of(event.key));
  if (!page) return;
  if (event.kind == ObjectEvent::Kind::evicted) {
    ++evicted_objects_;
    evicted_bytes_ += config_.objects[object_of(event.key)];
    book_.took_away(*page, PageBook::Fate::evicted);
  } else if (event.kind == ObjectEvent::Kind::lost) {
    book_.took_away(*page, PageBook::Fate::lost);
  }
}

void CapacityPool::command(Command& command) {
  PoolNode& node = *nodes_[command.incarnation.high - 1];
  if (node.incarnation() == command.incarnation) node.take(command);
}

template <class Visit>
void CapacityPool::for_each_extent(Visit&& visit) const {
  const Time now = server_.now();
  std::string key;
  for (PageNumber page = 0; page < book_.pages(); ++page) {
    if (book_.fate(page) == PageBook::Fate::none && !book_.under_way(page)) continue;
    for (std::size_t object = 0; object < config_.objects.size(); ++object) {
      key.clear();
      append_object_key(key, book_.id(page), static_cast<std::uint8_t>(object));
      const ObjectDetails details = server_.machine()->describe(now, pool_tenant, key);
      for (const ObjectDetails::Version& version : details.versions) {
        if (version.state != "complete") continue;
        for (const ObjectDetails::Replica& replica : version.replicas) {
          visit(HeldExtent{.name = {version.put_id, {replica.segment, replica.offset}},
                           .page = page,
                           .object = static_cast<std::uint8_t>(object),
                           .since = kernel_.now() - version.age});
        }
      }
    }
  }
}

std::vector<HeldExtent> CapacityPool::held_on(SegmentId segment) const {
  std::vector<HeldExtent> held;
  for_each_extent([&](const HeldExtent& extent) {
    if (extent.name.location.segment == segment) held.push_back(extent);
  });
  return held;
}

void CapacityPool::master_back() {
  for (const auto& session : sessions_) {
    if (session != nullptr) session->open();
  }
  for (const auto& node : nodes_) node->meet_master();
}

// ---- faults -------------------------------------------------------------------------------------

template <class Condition>
void CapacityPool::break_off(Duration notice, Condition&& condition) {
  for (const auto& transfer : transfers_) {
    if (transfer->under_way() && condition(*transfer)) transfer->break_off(notice);
  }
}

void CapacityPool::lose_node(std::uint32_t node, bool silent) {
  nodes_[node]->lose(silent);
  // A connection that breaks is noticed at once; silence when a transfer has stood still for so
  // long.
  break_off(silent ? config_.master.timing.fill_stalled : config_.costs.message,
            [&](const Transfer& transfer) { return transfer.node == nodes_[node].get(); });
}

void CapacityPool::return_node(std::uint32_t node) { nodes_[node]->come_back(); }

void CapacityPool::lose_nic(PartId nic) {
  LARDER_ASSERT(fabric_ != nullptr, "there are no NICs without a fabric");
  const std::uint32_t host = topology_.host_of(nic);
  const bool last = fabric_->nics_up(host) == 1;
  if (last) {
    for (const auto& node : nodes_) {
      if (node->place().host == host) node->cut_off();
    }
    break_off(config_.master.timing.fill_stalled, [&](const Transfer& transfer) {
      const std::uint32_t engine = topology_.host_of(transfer.engine_memory);
      return engine != transfer.node->place().host &&
             (engine == host || transfer.node->place().host == host);
    });
  }
  fabric_->set_nic(nic, false);
}

void CapacityPool::return_nic(PartId nic) {
  const std::uint32_t host = topology_.host_of(nic);
  const bool first = fabric_->nics_up(host) == 0;
  fabric_->set_nic(nic, true);
  if (!first) return;
  for (const auto& node : nodes_) {
    if (node->place().host == host) node->reconnect();
  }
}

void CapacityPool::lose_master() {
  std::vector<std::vector<HeldExtent>> held(nodes_.size());
  for_each_extent([&](const HeldExtent& extent) {
    const PoolNode* const node = node_of(extent.name.location.segment);
    if (node->segment() == extent.name.location.segment) {
      held[node->place().number].push_back(extent);
    }
  });
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node]->alive()) nodes_[node]->remember(std::move(held[node]));
  }
  server_.crash();
  for (const auto& putting : putting_.all) {
    if (putting->under_way()) putting->master_lost();
  }
}

void CapacityPool::return_master() { server_.restart(); }

// ---- gauges -------------------------------------------------------------------------------------

PoolGauges CapacityPool::gauges() const {
  PoolGauges gauges{.at = kernel_.now(),
                    .master_queue = server_.queue_length(),
                    .master_alive = server_.alive(),
                    .evicted_objects = evicted_objects_,
                    .evicted_bytes = evicted_bytes_,
                    .master_requests = server_.counters().requests,
                    .master_items = server_.counters().items,
                    .master_queue_longest = server_.counters().queue_longest,
                    .master_busy = server_.counters().busy,
                    .lookups = lookups_,
                    .reads = reads_,
                    .puts = puts_,
                    .bytes_read = bytes_read_,
                    .bytes_put = bytes_put_};
  gauges.reachable_nodes = static_cast<std::uint64_t>(
      std::ranges::count_if(nodes_, [](const auto& node) { return node->reachable(); }));
  if (!server_.alive()) return gauges;
  const StatusReport status = server_.machine()->status(server_.now());
  gauges.capacity = status.capacity;
  gauges.used = status.used;
  gauges.quarantined = status.quarantined;
  gauges.largest_free = status.largest_free;
  gauges.objects = status.objects;
  gauges.waiting_puts = status.waiting_puts;
  gauges.master_recovering = status.recovering;
  return gauges;
}

}  // namespace larder::sim
