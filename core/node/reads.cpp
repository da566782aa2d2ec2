#include <algorithm>

#include "core/base/assert.h"
#include "core/base/time.h"
#include "core/node/node.h"
#include "core/node/sentence.h"

namespace larder {

Result<ReadBegun> Node::begin_read(Time now, const ReadItem& item) {
  const auto segment = segments_.find(item.extent.location.segment);
  if (segment == segments_.end()) {
    return failed(ErrorCode::segment_not_found, sentence("segment ", item.extent.location.segment,
                                                         " is none of this incarnation's"));
  }
  if (reads_.size() >= config_.reads_max) {
    return failed(ErrorCode::busy, sentence(reads_.size(), " reads are in flight"));
  }
  const auto place = find(item.extent);
  if (!config_.guards.footer) return read_unchecked(now, segment->second, item);
  if (!place || place->extent().state == FillState::retiring || retiring_all_) {
    return failed(ErrorCode::replica_is_gone, sentence("put ", item.extent.put_id, " is not at ",
                                                       item.extent.location.offset, " (any more)"));
  }
  const Extent& extent = place->extent();
  if (item.tenant && *item.tenant != extent.record.tenant()) {
    return failed(ErrorCode::replica_is_gone, "the replica belongs to another tenant");
  }
  if (extent.state == FillState::filling) {
    return failed(ErrorCode::replica_is_not_ready,
                  sentence("put ", item.extent.put_id, " is being filled"));
  }
  const Bytes size = extent.record.size();
  if (item.offset > size || item.length > size - item.offset) {
    return failed(ErrorCode::invalid_params,
                  sentence(item.length, " bytes at ", item.offset, " of a payload of ", size));
  }
  return start_read(now, place, item);
}

// What a node without a map would do: the range only has to lie inside the segment.
Result<ReadBegun> Node::read_unchecked(Time now, StoredSegment& segment, const ReadItem& item) {
  const Bytes capacity = segment.info.size;
  const Bytes begin = item.extent.location.offset;
  if (begin > capacity || item.offset > capacity - begin ||
      item.length > capacity - begin - item.offset) {
    return failed(ErrorCode::invalid_params, sentence(item.length, " bytes at ", begin, " + ",
                                                      item.offset, " of a segment of ", capacity));
  }
  auto place = find(item.extent);
  if (place && place->extent().state != FillState::sealed) place.reset();
  return start_read(now, place, item);
}

ReadBegun Node::start_read(Time now, std::optional<ExtentPlace> place, const ReadItem& item) {
  const ReadId id{next_id_++};
  const Time due = later(now, Timing::allowed(item.length));
  reads_.emplace(id, Read{.place = place, .due = due, .began = now});
  due_.emplace(due, id.value);
  ReadBegun begun{.id = id, .payload_size = item.offset + item.length, .checksum = {}};
  if (place) {
    Extent& extent = place->extent();
    ++extent.reads;
    extent.read_until = std::max(extent.read_until, due);
    begun.payload_size = extent.record.size();
    if (extent.has_checksum) begun.checksum = extent.checksum;
  }
  return begun;
}

void Node::end_read(Time now, ReadId id, NodeEffects& effects) {
  const auto read = reads_.find(id);
  if (read == reads_.end()) return;
  stages_.add(NodeStage::read, now - read->second.began);
  finish(read);
  settle(now, effects);
}

void Node::finish(Reads::iterator at) {
  const Read read = at->second;
  due_.erase({read.due, at->first.value});
  if (read.verifies) --verifies_;
  reads_.erase(at);
  if (!read.place) return;
  LARDER_ASSERT(read.place->extent().reads > 0);
  --read.place->extent().reads;
  release_if_idle(*read.place);
}

// One that finds no slot is not verified: whoever reads bad bytes there reports them again.
void Node::verify(Time now, const ExtentName& name, NodeEffects& effects) {
  const auto place = find(name);
  if (!place || place->extent().state != FillState::sealed || retiring_all_) return;
  // What a one-sided reader could not make out may have been the footer. The map is the truth.
  write_footer(*place);
  if (!place->extent().has_checksum || verifies_ >= config_.verifies_max ||
      reads_.size() >= config_.reads_max) {
    return;
  }
  const Bytes size = place->extent().record.size();
  const ReadId id =
      start_read(now, place, {.extent = name, .tenant = {}, .offset = 0_B, .length = size}).id;
  reads_.at(id).verifies = true;
  ++verifies_;
  effects.verify.push_back({.id = id, .extent = name, .size = size});
}

void Node::verified(Time now, ReadId id, std::uint64_t checksum, NodeEffects& effects) {
  const auto read = reads_.find(id);
  if (read == reads_.end() || !read->second.verifies) return;
  const ExtentPlace place = *read->second.place;
  const bool bad = place.extent().checksum != checksum;
  if (bad && place.extent().state == FillState::sealed &&
      corrupt_.size() < config_.confirmations_max) {
    corrupt_.push_back(place.name());
  }
  finish(read);
  settle(now, effects);
}

}  // namespace larder
