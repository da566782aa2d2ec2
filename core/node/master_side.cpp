#include <algorithm>
#include <utility>

#include "core/base/assert.h"
#include "core/base/time.h"
#include "core/node/node.h"

namespace larder {

void Node::connected(Time now, NodeEffects& effects) { register_now(now, effects); }

void Node::disconnected(Time) {
  link_ = Link::none;
  awaited_ = {};
  heartbeat_at_ = time_never;
  register_at_ = time_never;
  corrupt_sent_ = 0;
  drop_confirmations();
}

// A master that has not heard a confirmation asks again.
void Node::drop_confirmations() {
  for (const ExtentName& name : held_) {
    if (const auto place = find(name)) place->extent().held_told = false;
  }
  held_.clear();
  confirm_.clear();
}

// Each time under a new number, so that nothing of an earlier try can be taken for this one.
void Node::register_now(Time now, NodeEffects& effects) {
  disconnected(now);
  if (lost_) return;
  link_ = Link::registering;
  ++registration_;
  RegisterNode request{.incarnation = incarnation_,
                       .registration = registration_,
                       .taken_epoch = taken_epoch_,
                       .name = config_.name,
                       .endpoint = config_.endpoint,
                       .host = config_.host,
                       .rack = config_.rack,
                       .segments = {}};
  for (const auto& [id, segment] : segments_) {
    request.segments.push_back({.id = id,
                                .name = segment.info.name,
                                .kind = segment.info.kind,
                                .size = segment.info.size,
                                .numa_node = segment.info.numa_node});
  }
  send(now, Call::register_node, std::move(request), effects);
}

void Node::send(Time now, Call call, RequestBody body, NodeEffects& effects) {
  awaited(call) = {.ticket = next_ticket_++,
                   .deadline = later(now, config_.timing.control_deadline)};
  Request request{.header = {}, .body = std::move(body)};
  request.header.highest_epoch = epoch_;
  effects.send.push_back({.ticket = awaited(call).ticket, .request = std::move(request)});
}

void Node::answered(Time now, std::uint64_t ticket, const Answer& answer, NodeEffects& effects) {
  std::size_t index = 0;
  while (index < awaited_.size() && awaited_[index].ticket != ticket) ++index;
  if (ticket == 0 || index == awaited_.size()) return;  // late, or doubled
  awaited_[index] = {};
  const Call call{static_cast<std::uint8_t>(index)};
  if (!answer) {
    refused(now, call, answer.error(), effects);
  } else if (const auto* accepted = std::get_if<NodeRegistered>(&*answer);
             (call == Call::register_node) != (accepted != nullptr)) {
    refused(now, call, Error(ErrorCode::internal_error, "the answer is to another request"),
            effects);
  } else if (accepted != nullptr) {
    registered(now, *accepted, effects);
  } else if (call == Call::inventory) {
    if (report_last_) {
      link_ = Link::reported;
    } else {
      send_inventory_part(now, effects);
    }
  } else if (call == Call::corrupt) {
    corrupt_.erase(corrupt_.begin(), corrupt_.begin() + static_cast<std::ptrdiff_t>(corrupt_sent_));
    corrupt_sent_ = 0;
  }
  settle(now, effects);
}

void Node::registered(Time now, const NodeRegistered& answer, NodeEffects& effects) {
  // An older master sees our epoch in the request. Another one of the same epoch is none of ours.
  const bool other = answer.epoch == epoch_ && answer.instance != instance_;
  if (answer.epoch < epoch_ || other || answer.epoch == Epoch{}) {
    last_error_ = "a master of epoch " + std::to_string(answer.epoch.value) +
                  " answers; this node obeys " + (other ? "another one of epoch " : "epoch ") +
                  std::to_string(epoch_.value);
    return leave(effects);
  }
  if (answer.epoch > epoch_) meet(answer.epoch, answer.instance, effects);
  ended_.raise_floor(answer.lowest_unfinished);
  heartbeat_ = answer.heartbeat > Duration(0) ? answer.heartbeat : config_.timing.heartbeat;
  heartbeat_at_ = later(now, heartbeat_);
  link_ = Link::preparing;
  if (answer.retire_everything && !retiring_all_) begin_retire_all(effects);
}

// The older master's fills end before anything is said to the new one.
void Node::meet(Epoch epoch, InstanceId instance, NodeEffects& effects) {
  epoch_ = epoch;
  instance_ = instance;
  ended_.begin_epoch(epoch);
  for (auto next = fills_.begin(); next != fills_.end();) {
    const auto at = next++;
    if (!std::exchange(at->second.older, true)) ++older_fills_;
    abort(at, effects);
  }
}

void Node::refused(Time now, Call call, const Error& error, NodeEffects& effects) {
  last_error_ = error.message();
  if (error.code() == ErrorCode::node_lost) return lose(effects);
  if (error.code() == ErrorCode::epoch_superseded) return leave(effects);
  const bool registering = call == Call::register_node;
  if (error.code() == ErrorCode::client_not_found && !registering) {
    return register_now(now, effects);
  }
  if (registering || call == Call::inventory) {
    disconnected(now);
    link_ = Link::registering;
    register_at_ = later(now, config_.timing.heartbeat);
  } else if (call == Call::corrupt) {
    corrupt_.clear();  // who reads those bytes next reports them again
    corrupt_sent_ = 0;
  }
}

void Node::lose(NodeEffects& effects) {
  lost_ = true;
  disconnected({});
  if (!retiring_all_) begin_retire_all(effects);
}

void Node::leave(NodeEffects& effects) {
  disconnected({});
  effects.reconnect = true;
}

void Node::command(Time now, const Command& command, NodeEffects& effects) {
  if (command.incarnation != incarnation_ || command.epoch != epoch_ || epoch_ == Epoch{} ||
      command.instance != instance_ || lost_) {
    return;
  }
  ended_.raise_floor(command.lowest_unfinished);
  if (const auto* retire = std::get_if<RetireExtents>(&command.body)) {
    for (const ExtentName& name : retire->extents) retire_named(name, effects);
  } else if (const auto* again = std::get_if<VerifyExtents>(&command.body)) {
    for (const ExtentName& name : again->extents) verify(now, name, effects);
  } else if (std::get<InventoryTaken>(command.body).registration == registration_) {
    const bool complete = link_ == Link::reported || (link_ == Link::reporting && report_last_);
    if (complete) {
      taken_epoch_ = epoch_;
      link_ = Link::reported;
      awaited(Call::inventory) = {};
    }
  }
  settle(now, effects);
}

void Node::send_inventory_part(Time now, NodeEffects& effects) {
  ReportInventory report{.incarnation = incarnation_,
                         .registration = registration_,
                         .part = report_part_++,
                         .last = false,
                         .items = {}};
  auto place = after(report_cursor_);
  for (; place && report.items.size() < config_.inventory_part_items;
       place = after(report_cursor_)) {
    report_cursor_ = {.segment = place->segment->info.id, .extent = place->at->first};
    if (place->extent().state != FillState::filling) {
      report.items.push_back(inventory_item(now, *place));
    }
  }
  report.last = report_last_ = !place;
  send(now, Call::inventory, std::move(report), effects);
}

ReportInventory::Item Node::inventory_item(Time now, const ExtentPlace& place) const {
  const Extent& extent = place.extent();
  ReportInventory::Item item{.extent = place.name(),
                             .retiring = extent.state == FillState::retiring,
                             .record = extent.record.at(now),
                             .checksum = {},
                             .age = Duration(0)};
  if (extent.has_checksum) item.checksum = extent.checksum;
  if (extent.sealed_at != Time::min()) item.age = now - extent.sealed_at;
  return item;
}

void Node::settle(Time now, NodeEffects& effects) {
  if (retiring_all_ && !retire_cursor_ && extent_count() == 0) retiring_all_ = false;
  if (lost_) {
    const bool over = !retiring_all_ && reads_.empty();
    if (over && !std::exchange(finished_told_, true)) effects.finished = true;
    return;
  }
  if (link_ == Link::preparing && !retiring_all_ && older_fills_ == 0) {
    link_ = Link::reporting;
    report_cursor_ = {};
    report_part_ = 0;
    send_inventory_part(now, effects);
  }
  if (link_ != Link::reported) return;
  if (awaited(Call::confirm).ticket == 0 && (!confirm_.empty() || !held_.empty())) {
    ConfirmRetirement request = next_confirmation(now);
    if (!request.retired.empty() || !request.held.empty()) {
      send(now, Call::confirm, std::move(request), effects);
    }
  }
  if (awaited(Call::corrupt).ticket == 0) send_corrupt(now, effects);
}

void Node::send_corrupt(Time now, NodeEffects& effects) {
  std::erase_if(corrupt_, [this](const ExtentName& name) { return !find(name); });
  corrupt_sent_ = std::min(corrupt_.size(), items_per_piece);
  if (corrupt_sent_ == 0) return;
  ReportCorrupt request{.incarnation = incarnation_, .registration = registration_, .extents = {}};
  for (std::size_t i = 0; i < corrupt_sent_; ++i) {
    const StoredRecord& record = find(corrupt_[i])->extent().record;
    request.extents.push_back(
        {.name = corrupt_[i], .tenant = record.tenant(), .key = record.key()});
  }
  send(now, Call::corrupt, std::move(request), effects);
}

}  // namespace larder
