#include <algorithm>
#include <utility>

#include "core/base/hash.h"
#include "sim/cluster/client_process.h"
#include "sim/cluster/exchange.h"
#include "sim/cluster/labels.h"
#include "sim/cluster/node_process.h"
#include "sim/cluster/observer.h"

namespace larder::sim {

namespace {
constexpr Bytes header_size = 128_B;
constexpr Bytes header_item_size = 128_B;
}  // namespace

FillExchange::FillExchange(const Parts& parts, Fill fill)
    : StreamExchange(parts), fill_(std::move(fill)), items_(fill_.ranges.size()) {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    Item& item = items_[i];
    item.item = fill_.ranges[i].item;
    ObjectRecord& record = item.item.record;
    std::string* copy = item.texts;
    for (std::string_view* text : {&record.tenant, &record.key, &record.group, &record.parent}) {
      *text = *copy++ = *text;
    }
  }
}

Bytes FillExchange::request_size() const { return header_size + header_item_size * items_.size(); }

bool FillExchange::follows_previous(std::size_t item) const {
  const FillItem& each = items_[item].item;
  const FillItem& before = items_[item - 1].item;
  return each.put_id == before.put_id && each.location == before.location;
}

void FillExchange::begin_item(std::size_t item) {
  Item& each = items_[item];
  NodeProcess& node = parts_.node;
  const Result<FillBegun> begun = node.machine()->begin_fill(node.now(), each.item, connection_id_);
  node.observer().fill_began(node, each.item, begun ? Status() : std::unexpected(begun.error()));
  node.carry_out();
  if (!begun) {
    each.result = std::unexpected(begun.error());
  } else if (!begun->already_sealed) {
    each.fill = begun->id;
  }
  // Over tcp the payload of a refused item comes all the same, and is dropped.
  if (!each.fill && parts_.settings.one_sided) return item_done_soon(item);
  const Route route{.from = parts_.client.host().id, .to = node.host().id};
  if (!over_at_client()) start_flow(item, route, each.item.part_length, paused());
}

void FillExchange::copy(std::size_t item, Bytes offset, Bytes length) {
  const Item& each = items_[item];
  if (!each.fill) return;
  NodeProcess& node = parts_.node;
  if (TrackedMemory* memory = node.memory(each.item.location.segment)) {
    std::uint64_t skip = offset.value;
    std::uint64_t left = length.value;
    Bytes position = each.item.part_offset + offset;
    for (const ConstSlice slice : fill_.ranges[item].from) {
      if (left == 0) break;
      if (skip >= slice.size()) {
        skip -= slice.size();
        continue;
      }
      const ConstSlice piece = slice.subspan(skip, std::min(left, slice.size() - skip));
      memory->write({.at = each.item.location.offset + position,
                     .length = {piece.size()},
                     .put = each.item.put_id,
                     .position = position},
                    piece);
      position += {piece.size()};
      left -= piece.size();
      skip = 0;
    }
  }
  if (!node.stopped()) node.machine()->progress(node.now(), *each.fill, flows_[item]->moved());
}

void FillExchange::corrupt(std::size_t item, Bytes offset) {
  const Item& each = items_[item];
  if (!each.fill) return;
  if (TrackedMemory* memory = parts_.node.memory(each.item.location.segment)) {
    memory->flip(each.item.location.offset + each.item.part_offset + offset, 0);
  }
}

void FillExchange::moved(std::size_t item) {
  stop_flow(item);
  NodeProcess& node = parts_.node;
  const auto self = std::static_pointer_cast<FillExchange>(shared_from_this());
  node.enter([this, self, item] {
    if (!at_node()) return;
    Item& each = items_[item];
    if (!each.fill) return item_done(item);
    if (!each.item.last_part) return seal(item);
    each.hashing = true;
    const auto busy = static_cast<std::uint64_t>(parts_.settings.hash_jitter.count());
    const std::uint64_t hashed =
        each.item.record.size.value * 1'000'000'000 / parts_.settings.hashed_per_second.value;
    Kernel& kernel = parts_.node.kernel();
    kernel.post(later(kernel.now(), Duration(hashed + parts_.random.below(busy + 1))), verify_label,
                [this, self, item] { parts_.node.enter([this, self, item] { seal(item); }); });
  });
}

void FillExchange::seal(std::size_t item) {
  Item& each = items_[item];
  if (!at_node() || !each.fill) return;
  NodeProcess& node = parts_.node;
  const FillId id = *std::exchange(each.fill, std::nullopt);
  each.hashing = false;
  if (each.item.last_part) {
    FillResult result{.writer_waits = !client_gone()};
    if (each.item.checksum) {
      const TrackedMemory* memory = node.memory(each.item.location.segment);
      result.computed =
          memory ? checksum(memory->bytes(each.item.location.offset, each.item.record.size))
                 : *each.item.checksum;
    }
    each.result = node.machine()->seal(node.now(), id, result, node.effects());
    node.observer().fill_ended(node, each.item, each.result);
  } else {
    each.result = node.machine()->part_done(node.now(), id, node.effects());
  }
  node.carry_out();
  if (client_gone()) return end_items_of_gone_client();
  item_done(item);
}

void FillExchange::end_items_of_gone_client() {
  // What is being hashed is sealed or not as the machine decides; seal() comes back here.
  if (std::ranges::any_of(items_, &Item::hashing)) return;
  NodeProcess& node = parts_.node;
  tell_unsealed("its writer is gone");
  node.machine()->connection_closed(node.now(), connection_id_, node.effects());
  for (Item& item : items_) item.fill.reset();
  close_at_node();
  node.carry_out();
}

void FillExchange::tell_unsealed(const char* why) const {
  for (const Item& each : items_) {
    if (!each.fill) continue;
    parts_.node.observer().fill_ended(parts_.node, each.item, failed(ErrorCode::cancelled, why));
  }
}

void FillExchange::abort_fill(FillId id) {
  if (std::ranges::find(items_, std::optional(id), &Item::fill) == items_.end()) return;
  aborted_.push_back(id);
  if (aborted_.size() > 1) return;
  const auto self = std::static_pointer_cast<FillExchange>(shared_from_this());
  const auto most = static_cast<std::uint64_t>(parts_.settings.abort_time.count());
  Kernel& kernel = parts_.node.kernel();
  kernel.post(later(kernel.now(), Duration(parts_.random.below(most + 1))), abort_label,
              [this, self] { parts_.node.enter([this, self] { end_aborted(); }); });
}

void FillExchange::end_aborted() {
  if (!at_node()) return;
  NodeProcess& node = parts_.node;
  stop_flows();  // before the machine hears of it
  tell_unsealed("it is given up");
  for (const FillId id : std::exchange(aborted_, {})) {
    node.machine()->end_fill(node.now(), id, node.effects());
  }
  node.machine()->connection_closed(node.now(), connection_id_, node.effects());
  for (Item& item : items_) item.fill.reset();
  close_at_node();
  node.carry_out();
}

void FillExchange::deliver_results() {
  for (std::size_t i = 0; i < items_.size(); ++i) *fill_.ranges[i].result = items_[i].result;
}

void FillExchange::set_all_results(const Error& error) {
  for (const FillRange& range : fill_.ranges) *range.result = std::unexpected(error);
}

}  // namespace larder::sim
