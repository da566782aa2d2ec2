#include <algorithm>

#include "core/base/assert.h"
#include "core/base/time.h"
#include "core/node/node.h"
#include "core/node/sentence.h"

namespace larder {
namespace {

Status check_texts(const ObjectRecord& record) {
  if (record.key.empty() || record.key.size() > key_bytes_max) {
    return failed(ErrorCode::invalid_key,
                  sentence("a key has 1 to ", key_bytes_max, " bytes, not ", record.key.size()));
  }
  if (record.tenant.size() > tenant_bytes_max || record.group.size() > key_bytes_max ||
      record.parent.size() > key_bytes_max) {
    return failed(ErrorCode::invalid_params,
                  sentence("tenant, group and parent of ", record.tenant.size(), ", ",
                           record.group.size(), " and ", record.parent.size(), " bytes: too long"));
  }
  return {};
}

Status check_part(const FillItem& item) {
  const Bytes size = item.record.size;
  const bool inside = item.part_offset <= size && item.part_length <= size - item.part_offset;
  const bool ends = inside && item.part_offset + item.part_length == size;
  if (inside && (ends || !item.last_part) && (item.last_part || item.part_length > 0_B)) return {};
  return failed(ErrorCode::invalid_params,
                sentence("a ", item.last_part ? "last " : "", "part of ", item.part_length,
                         " bytes at ", item.part_offset, " of ", size));
}

std::unexpected<Error> refuse(const FillItem& item, std::string_view why) {
  return failed(ErrorCode::fill_refused, sentence("put ", item.put_id, ": ", why));
}

std::unexpected<Error> ended_already() {
  return failed(ErrorCode::cancelled, "the fill has ended");
}

}  // namespace

Result<FillBegun> Node::begin_fill(Time now, const FillItem& item, ConnectionId connection) {
  LARDER_TRY(StoredSegment * segment, check_shape(item));
  if (retiring_all_ || lost_) return refuse(item, "the node is retiring everything");
  if (config_.guards.overlap && (item.put_id.epoch != epoch_ || epoch_ == Epoch{})) {
    return refuse(item, sentence("the node obeys epoch ", epoch_));
  }
  const ExtentKey key{.offset = item.location.offset, .put_id = item.put_id};
  if (auto held = segment->extents.find(key); held != segment->extents.end()) {
    return continue_fill(now, {.segment = segment, .at = held}, item, connection);
  }
  LARDER_CHECK(check_new(*segment, item));
  LARDER_CHECK(check_slot(now));
  if (fills_.size() >= config_.open_fills_max) {
    return failed(ErrorCode::busy, sentence(fills_.size(), " fills are open"));
  }
  const auto at =
      segment->extents.emplace(key, Extent{.record = StoredRecord(now, item.record), .fill = {}})
          .first;
  return start_part(now, Fill{.place = {.segment = segment, .at = at}, .connection = connection},
                    item);
}

// What can be said without the node's state: the place, the part, the texts.
Result<StoredSegment*> Node::check_shape(const FillItem& item) {
  const auto segment = segments_.find(item.location.segment);
  if (segment == segments_.end()) {
    return failed(ErrorCode::segment_not_found,
                  sentence("segment ", item.location.segment, " is none of this incarnation's"));
  }
  const Bytes capacity = segment->second.info.size;
  const Bytes size = item.record.size;
  if (size > capacity - footer_size || item.location.offset.value % 64 != 0 ||
      item.location.offset > capacity - footer_offset(size) - footer_size) {
    return failed(ErrorCode::invalid_params,
                  sentence(size, " bytes and a footer at offset ", item.location.offset,
                           " of a segment of ", capacity));
  }
  LARDER_CHECK(check_part(item));
  LARDER_CHECK(check_texts(item.record));
  return &segment->second;
}

Status Node::check_new(const StoredSegment& segment, const FillItem& item) {
  if (config_.guards.retired_put_ids &&
      ended_.contains({.put_id = item.put_id, .location = item.location})) {
    return refuse(item, "it was retired, or its fill has ended");
  }
  if (item.part_offset != 0_B) {
    return refuse(item, sentence("its part at ", item.part_offset, " is the first to come"));
  }
  if (!config_.guards.overlap) return {};
  const Bytes length = footer_offset(item.record.size) + footer_size;
  if (const auto* other = segment.overlapping(item.location.offset, length)) {
    ++overlaps_;
    return refuse(item, sentence(length, " bytes at ", item.location.offset, " overlap put ",
                                 other->first.put_id, " at ", other->first.offset));
  }
  return {};
}

Status Node::check_slot(Time now) {
  const Duration queue = fill_queue(now);
  stages_.add(NodeStage::queue, queue);
  if (fills_in_flight_ < config_.fill_slots) return {};
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(queue);
  return failed(ErrorCode::busy, sentence("all ", config_.fill_slots,
                                          " fill slots are taken for about ", wait.count(), " ms"));
}

// Another part, or the same put once more.
Result<FillBegun> Node::continue_fill(Time now, ExtentPlace place, const FillItem& item,
                                      ConnectionId connection) {
  const Extent& extent = place.extent();
  if (extent.record.size() != item.record.size) {
    return failed(ErrorCode::invalid_params,
                  sentence("put ", item.put_id, " has ", extent.record.size(), " bytes here, not ",
                           item.record.size));
  }
  if (extent.state == FillState::sealed) return FillBegun{.id = {}, .already_sealed = true};
  if (extent.state == FillState::retiring) return refuse(item, "it is being retired");

  const auto old = fills_.find(extent.fill);
  LARDER_ASSERT(old != fills_.end(), "an extent is filling without a fill");
  const Fill& fill = old->second;
  if (fill.stage == Stage::ending) return refuse(item, "its fill is being ended");
  if (fill.stage == Stage::receiving) {
    return failed(ErrorCode::busy, sentence("put ", item.put_id, " is being filled"));
  }
  const bool again = fill.orphaned && item.part_offset == 0_B;
  if (item.part_offset != fill.received && !again) {
    return refuse(
        item, sentence("its next part begins at ", fill.received, ", not at ", item.part_offset));
  }
  LARDER_CHECK(check_slot(now));
  forget(old);
  return start_part(
      now, Fill{.place = place, .connection = connection, .received = item.part_offset}, item);
}

FillBegun Node::start_part(Time now, Fill fill, const FillItem& item) {
  const FillId id{next_id_++};
  fill.place.extent().fill = id;
  fill.last_part = item.last_part;
  fill.expected = item.checksum;
  fill.part_length = item.part_length;
  fill.began = now;
  fill.due = time_never;
  const auto at = fills_.emplace(id, fill).first;
  schedule(at, later(now, config_.timing.fill_stalled));
  ++fills_in_flight_;
  return {.id = id, .already_sealed = false};
}

void Node::progress(Time now, FillId id, Bytes moved) {
  const auto fill = fills_.find(id);
  if (fill == fills_.end() || fill->second.stage != Stage::receiving) return;
  if (moved <= fill->second.moved) return;
  fill->second.moved = std::min(moved, fill->second.part_length);
  schedule(fill, later(now, config_.timing.fill_stalled));
}

Status Node::part_done(Time now, FillId id, NodeEffects& effects) {
  const auto at = fills_.find(id);
  if (at == fills_.end() || at->second.stage == Stage::waiting) return ended_already();
  Fill& fill = at->second;
  if (fill.stage == Stage::ending) {
    end_fill(now, id, effects);
    return ended_already();
  }
  LARDER_ASSERT(!fill.last_part, "the last part of a fill is sealed");
  stages_.add(NodeStage::fill, now - fill.began);
  --fills_in_flight_;
  fill.stage = Stage::waiting;
  fill.received += fill.part_length;
  schedule(at, later(now, Timing::allowed(fill.place.extent().record.size())));
  return {};
}

Status Node::seal(Time now, FillId id, const FillResult& result, NodeEffects& effects) {
  const auto at = fills_.find(id);
  if (at == fills_.end() || at->second.stage == Stage::waiting) return ended_already();
  const Fill& fill = at->second;
  if (fill.stage == Stage::ending) {
    end_fill(now, id, effects);
    return ended_already();
  }
  LARDER_ASSERT(fill.last_part, "only the last part of a fill is sealed");
  if (config_.guards.writer_waits && !result.writer_waits) {
    end_fill(now, id, effects);
    return failed(ErrorCode::cancelled, "the writer does not wait any more");
  }
  const auto expected = result.expected ? result.expected : fill.expected;
  const ExtentPlace place = fill.place;
  Extent& extent = place.extent();
  if (expected && config_.guards.checksum) {
    LARDER_ASSERT(result.computed.has_value(), "the driver did not hash the payload");
    if (*expected != *result.computed) {
      Error error = Error(ErrorCode::checksum_mismatch,
                          sentence("put ", place.name().put_id, ": the writer says ", *expected,
                                   ", the node has ", *result.computed))
                        .with_key(extent.record.key());
      end_fill(now, id, effects);
      return std::unexpected(std::move(error));
    }
  }
  stages_.add(NodeStage::fill, now - fill.began);
  --fills_in_flight_;
  forget(at);
  extent.fill = {};
  extent.state = FillState::sealed;
  extent.sealed_at = now;
  extent.has_checksum = expected.has_value();
  extent.checksum = expected.value_or(0);
  ++footers_;
  write_footer(place);
  return {};
}

void Node::write_footer(ExtentPlace place) {
  const Extent& extent = place.extent();
  memory_.write_footer(
      place.footer(),
      encode(
          Footer{.name = fingerprint(extent.record.tenant(), extent.record.key()),
                 .put_id = place.name().put_id,
                 .length = extent.record.size(),
                 .checksum = extent.has_checksum ? std::optional(extent.checksum) : std::nullopt}));
}

void Node::end_fill(Time now, FillId id, NodeEffects& effects) {
  const auto fill = fills_.find(id);
  if (fill == fills_.end()) return;
  if (fill->second.stage != Stage::waiting) --fills_in_flight_;
  finish(fill);
  settle(now, effects);
}

void Node::connection_closed(Time now, ConnectionId connection, NodeEffects& effects) {
  // Without that guard a fill goes on although nobody waits for it.
  if (!config_.guards.writer_waits) return;
  for (auto next = fills_.begin(); next != fills_.end();) {
    const auto at = next++;
    Fill& fill = at->second;
    if (fill.connection != connection) continue;
    if (fill.stage != Stage::waiting) --fills_in_flight_;
    if (fill.stage == Stage::ending) {
      finish(at);
      continue;
    }
    fill.stage = Stage::waiting;
    fill.orphaned = true;
    schedule(at, std::min(fill.deadline, later(now, config_.timing.fill_stalled)));
  }
  settle(now, effects);
}

void Node::abort(Fills::iterator at, NodeEffects& effects) {
  if (at->second.stage == Stage::waiting) return finish(at);
  if (at->second.stage == Stage::ending) return;
  at->second.stage = Stage::ending;
  schedule(at, time_never);
  effects.abort_fills.push_back(at->first);
}

void Node::finish(Fills::iterator at) {
  const ExtentPlace place = at->second.place;
  forget(at);
  place.extent().fill = {};
  ended_.add(place.name());
  if (place.extent().state == FillState::retiring) return release_if_idle(place);
  place.segment->extents.erase(place.at);
}

void Node::forget(Fills::iterator at) {
  due_.erase({at->second.due, at->first.value});
  if (at->second.older) --older_fills_;
  fills_.erase(at);
}

// A later deadline leaves the entry in due_ as it is: it is moved when it comes up, so that
// progress costs nothing.
void Node::schedule(Fills::iterator at, Time deadline) {
  Fill& fill = at->second;
  fill.deadline = deadline;
  if (fill.due <= deadline && deadline != time_never) return;
  due_.erase({fill.due, at->first.value});
  fill.due = deadline;
  if (deadline != time_never) due_.emplace(deadline, at->first.value);
}

void Node::fill_due(Time now, Fills::iterator at, NodeEffects& effects) {
  Fill& fill = at->second;
  fill.due = time_never;  // its entry is gone
  if (fill.deadline > now) return schedule(at, fill.deadline);
  abort(at, effects);
}

Duration Node::fill_queue(Time now) const {
  if (fills_in_flight_ < config_.fill_slots) return Duration(0);
  Duration shortest = config_.timing.fill_stalled;
  for (const auto& [id, fill] : fills_) {
    if (fill.stage != Stage::receiving || fill.moved == 0_B) continue;
    const auto left = static_cast<double>((fill.part_length - fill.moved).value);
    const auto rest = static_cast<double>((now - fill.began).count()) * left /
                      static_cast<double>(fill.moved.value);
    if (rest < static_cast<double>(shortest.count())) {
      shortest = Duration(static_cast<std::int64_t>(rest));
    }
  }
  return shortest;
}

}  // namespace larder
