#include <algorithm>
#include <utility>

#include "sim/cluster/client_process.h"
#include "sim/cluster/exchange.h"
#include "sim/cluster/labels.h"
#include "sim/cluster/node_process.h"
#include "sim/cluster/observer.h"

namespace larder::sim {

namespace {

constexpr Bytes header_size = 96_B;
constexpr Bytes header_item_size = 64_B;

// Copies to where the bytes from `offset` on of a range belong in its slices.
void scatter(ConstSlice from, std::span<const Slice> into, Bytes offset) {
  std::uint64_t skip = offset.value;
  for (const Slice slice : into) {
    if (from.empty()) return;
    if (skip >= slice.size()) {
      skip -= slice.size();
      continue;
    }
    const std::size_t length = std::min<std::size_t>(from.size(), slice.size() - skip);
    std::ranges::copy(from.first(length), slice.begin() + static_cast<std::ptrdiff_t>(skip));
    from = from.subspan(length);
    skip = 0;
  }
}

void flip_byte(std::span<const Slice> into, Bytes offset) {
  std::uint64_t skip = offset.value;
  for (const Slice slice : into) {
    if (skip < slice.size()) {
      slice[skip] ^= std::byte{1};
      return;
    }
    skip -= slice.size();
  }
}

}  // namespace

// ---- the node serves ----------------------------------------------------------------------------

ReadExchange::ReadExchange(const Parts& parts, Read read)
    : StreamExchange(parts), tenant_(parts.client.tenant()), read_(std::move(read)) {
  for (const ReadRange& range : read_.ranges) {
    Bytes length;
    for (const Slice slice : range.into) length += {slice.size()};
    items_.push_back({.item = {.extent = {.put_id = range.put_id,
                                          .location = {range.segment->id, range.extent_offset}},
                               .tenant = tenant_,
                               .offset = range.offset,
                               .length = length}});
  }
}

Bytes ReadExchange::request_size() const { return header_size + header_item_size * items_.size(); }

void ReadExchange::begin_item(std::size_t item) {
  Item& each = items_[item];
  NodeProcess& node = parts_.node;
  const Result<ReadBegun> begun = node.machine()->begin_read(node.now(), each.item);
  node.carry_out();
  if (!begun) {
    node.observer().read_refused(node, each.item.extent.put_id, begun.error());
    each.result = std::unexpected(begun.error());
    return item_done_soon(item);
  }
  each.read = begun->id;
  each.checksum = begun->checksum;
  const Route route{.from = node.host().id, .to = parts_.client.host().id};
  if (!over_at_client()) start_flow(item, route, each.item.length, paused());
}

void ReadExchange::copy(std::size_t item, Bytes offset, Bytes length) {
  const Item& each = items_[item];
  const ReplicaLocation& from = each.item.extent.location;
  if (const TrackedMemory* memory = parts_.node.memory(from.segment)) {
    scatter(memory->bytes(from.offset + each.item.offset + offset, length), read_.ranges[item].into,
            offset);
  }
}

void ReadExchange::corrupt(std::size_t item, Bytes offset) {
  if (parts_.settings.content) flip_byte(read_.ranges[item].into, offset);
}

void ReadExchange::moved(std::size_t item) {
  stop_flow(item);
  const auto self = std::static_pointer_cast<ReadExchange>(shared_from_this());
  parts_.node.enter([this, self, item] {
    Item& each = items_[item];
    if (!at_node() || !each.read) return;
    NodeProcess& node = parts_.node;
    node.machine()->end_read(node.now(), *std::exchange(each.read, std::nullopt), node.effects());
    node.carry_out();
    item_done(item);
  });
}

void ReadExchange::end_items_of_gone_client() {
  NodeProcess& node = parts_.node;
  for (Item& each : items_) {
    if (!each.read) continue;
    node.machine()->end_read(node.now(), *std::exchange(each.read, std::nullopt), node.effects());
  }
  close_at_node();
  node.carry_out();
}

void ReadExchange::abort_read(ReadId id) {
  if (std::ranges::find(items_, std::optional(id), &Item::read) == items_.end()) return;
  const auto self = std::static_pointer_cast<ReadExchange>(shared_from_this());
  const auto most = static_cast<std::uint64_t>(parts_.settings.abort_time.count());
  Kernel& kernel = parts_.node.kernel();
  kernel.post(later(kernel.now(), Duration(parts_.random.below(most + 1))), abort_label,
              [this, self] {
                parts_.node.enter([this, self] {
                  if (!at_node()) return;
                  stop_flows();
                  end_items_of_gone_client();
                });
              });
}

void ReadExchange::deliver_results() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    *read_.ranges[i].result = items_[i].result;
    if (read_.ranges[i].checksum) *read_.ranges[i].checksum = items_[i].checksum;
  }
}

void ReadExchange::set_all_results(const Error& error) {
  for (const ReadRange& range : read_.ranges) *range.result = std::unexpected(error);
}

// ---- the node is not asked ----------------------------------------------------------------------

OneSidedRead::OneSidedRead(const Parts& parts, Read read)
    : Exchange(parts), read_(std::move(read)), left_(read_.ranges.size()) {}

void OneSidedRead::begin() {
  flows_.resize(read_.ranges.size());
  const bool reachable =
      parts_.node.alive() && std::ranges::all_of(read_.ranges, [&](const ReadRange& range) {
        return parts_.node.has_segment(range.segment->id);
      });
  if (!reachable) return node_dies();
  parts_.node.add(shared_from_this());
  const Route route{.from = parts_.node.host().id, .to = parts_.client.host().id};
  for (std::size_t i = 0; i < read_.ranges.size(); ++i) {
    Bytes length;
    for (const Slice slice : read_.ranges[i].into) length += {slice.size()};
    start_flow(i, route, length, false);
  }
}

void OneSidedRead::node_dies() {
  stop_flows();
  Kernel& kernel = parts_.client.kernel();
  kernel.post(later(kernel.now(), parts_.settings.broken_queue_pair), deadline_label,
              [this, self = shared_from_this()] {
                if (over_at_client()) return;
                parts_.client.enter([this, self] {
                  finish_at_client(std::unexpected(failure("the queue pair is in error")));
                });
              });
}

void OneSidedRead::copy(std::size_t item, Bytes offset, Bytes length) {
  const ReadRange& range = read_.ranges[item];
  if (const TrackedMemory* memory = parts_.node.memory(range.segment->id)) {
    scatter(memory->bytes(range.extent_offset + range.offset + offset, length), range.into, offset);
  }
}

void OneSidedRead::corrupt(std::size_t item, Bytes offset) {
  if (parts_.settings.content) flip_byte(read_.ranges[item].into, offset);
}

void OneSidedRead::moved(std::size_t item) {
  stop_flow(item);
  Kernel& kernel = parts_.client.kernel();
  const Route route{.from = parts_.client.host().id, .to = parts_.node.host().id};
  kernel.post(later(kernel.now(), 2 * parts_.network.latency(route)), footer_read_label,
              [this, self = shared_from_this(), item] { read_footer(item); });
}

void OneSidedRead::read_footer(std::size_t item) {
  const ReadRange& range = read_.ranges[item];
  // If the incarnation is gone meanwhile, node_dies() has seen to the end; behind a blocked route
  // the deadline does.
  if (over_at_client() || !parts_.node.has_segment(range.segment->id)) return;
  const Route route{.from = parts_.node.host().id, .to = parts_.client.host().id};
  if (parts_.network.blocked(route)) return;
  const TrackedMemory* memory = parts_.node.memory(range.segment->id);
  if (range.footer != nullptr && memory != nullptr) {
    std::ranges::copy(
        memory->bytes(range.extent_offset + footer_offset(range.payload_size), footer_size),
        range.footer->begin());
  }
  *range.result = {};
  if (--left_ > 0) return;
  parts_.client.enter([this, self = shared_from_this()] { finish_at_client({}); });
}

void OneSidedRead::set_all_results(const Error& error) {
  for (const ReadRange& range : read_.ranges) *range.result = std::unexpected(error);
}

void OneSidedRead::close_at_client() { parts_.node.remove(*this); }

}  // namespace larder::sim
