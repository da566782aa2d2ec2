#include "core/base/assert.h"
#include "core/base/hash.h"
#include "core/node/node.h"

namespace larder {

NodeStatus Node::status(Time now) const {
  NodeStatus status{.incarnation = incarnation_,
                    .epoch = epoch_,
                    .instance = instance_,
                    .taken_epoch = taken_epoch_,
                    .registration = registration_,
                    .reported = link_ == Link::reported,
                    .fills_in_flight = fills_in_flight_,
                    .open_fills = fills_.size(),
                    .reads_in_flight = reads_.size(),
                    .ended_puts = ended_.size(),
                    .overlaps = overlaps_,
                    .fill_queue = fill_queue(now),
                    .last_error = last_error_};
  for (const auto& [id, segment] : segments_) {
    for (const auto& [key, extent] : segment.extents) {
      ++status.extents[static_cast<std::size_t>(extent.state)];
      status.bytes[static_cast<std::size_t>(extent.state)] += extent.length();
    }
  }
  return status;
}

void Node::check_invariants() const {
  std::uint64_t sealed = 0;
  std::size_t filled = 0;
  std::size_t counted_reads = 0;
  for (const auto& [id, segment] : segments_) {
    Bytes end;
    for (const auto& [key, extent] : segment.extents) {
      const ExtentName name{.put_id = key.put_id, .location = {id, key.offset}};
      LARDER_ASSERT(key.offset + extent.length() <= segment.info.size, "outside its segment");
      LARDER_ASSERT(!config_.guards.overlap || key.offset >= end, "extents overlap");
      end = key.offset + extent.length();
      const auto fill = fills_.find(extent.fill);
      const bool has_fill = extent.fill != FillId{};
      LARDER_ASSERT(has_fill == (fill != fills_.end()), "an extent names a fill that is none");
      LARDER_ASSERT(!has_fill || fill->second.place.name() == name, "a fill of another extent");
      switch (extent.state) {
        case FillState::filling:
          LARDER_ASSERT(has_fill && extent.reads == 0, "filling without a fill, or read");
          break;
        case FillState::sealed:
          LARDER_ASSERT(!has_fill && extent.sealed_at != Time::min(), "sealed and being filled");
          break;
        case FillState::retiring:
          LARDER_ASSERT(has_fill || extent.reads > 0, "retired and not confirmed");
          LARDER_ASSERT(!has_fill || fill->second.stage == Stage::ending, "a retired fill goes on");
          break;
      }
      LARDER_ASSERT(!config_.guards.retired_put_ids || extent.state == FillState::retiring ||
                        !ended_.remembers(name),
                    "an extent of a put that has ended here");
      sealed += extent.state == FillState::sealed;
      filled += has_fill;
      counted_reads += extent.reads;
    }
  }
  // Valid footers are those of sealed extents, so none stands outside the map.
  LARDER_ASSERT(footers_ == sealed, "a valid footer outside the map, or a sealed extent without");
  LARDER_ASSERT(filled == fills_.size(), "a fill without an extent");

  std::size_t in_flight = 0;
  std::size_t older = 0;
  std::size_t due = 0;
  for (const auto& [id, fill] : fills_) {
    in_flight += fill.stage != Stage::waiting;
    older += fill.older;
    due += due_.contains({fill.due, id.value});
    LARDER_ASSERT(fill.stage == Stage::ending || (fill.due <= fill.deadline && !fill.older),
                  "a fill that nothing gives up");
    LARDER_ASSERT(fill.received + fill.part_length <= fill.place.extent().record.size() ||
                      fill.stage == Stage::waiting,
                  "a part beyond the payload");
  }
  LARDER_ASSERT(in_flight == fills_in_flight_ && older == older_fills_, "miscounted fills");
  LARDER_ASSERT(in_flight <= config_.fill_slots && fills_.size() <= config_.open_fills_max);

  std::size_t of_extents = 0;
  for (const auto& [id, read] : reads_) {
    of_extents += read.place.has_value();
    due += due_.contains({read.due, id.value});
  }
  LARDER_ASSERT(of_extents == counted_reads, "miscounted reads");
  LARDER_ASSERT(due == due_.size(), "something that has ended is due");
  LARDER_ASSERT(link_ < Link::reporting || older_fills_ == 0, "a report before older fills ended");
  LARDER_ASSERT(confirm_.size() <= config_.confirmations_max &&
                held_.size() <= config_.confirmations_max &&
                ended_.size() <= config_.ended_puts_max);
}

std::uint64_t Node::digest() const {
  Digest digest;
  digest.add(epoch_.value).add(instance_.high).add(instance_.low).add(taken_epoch_.value);
  digest.add(registration_).add(static_cast<std::uint64_t>(link_)).add(report_part_);
  digest.add(lost_).add(retiring_all_).add(next_id_).add(next_ticket_).add(overlaps_);
  for (const auto& [id, segment] : segments_) {
    digest.add(id.high).add(id.low).add(segment.info.size.value);
    for (const auto& [key, extent] : segment.extents) {
      digest.add(key.offset.value).add(key.put_id.epoch.value).add(key.put_id.counter);
      digest.add(extent.record.size().value).add(extent.record.key()).add(extent.record.tenant());
      digest.add(static_cast<std::uint64_t>(extent.state)).add(extent.reads);
      digest.add(extent.fill.value).add(extent.checksum);
      digest.add(static_cast<std::uint64_t>(extent.sealed_at.time_since_epoch().count()));
    }
  }
  for (const auto& [at, id] : due_) {
    digest.add(static_cast<std::uint64_t>(at.time_since_epoch().count())).add(id);
  }
  digest.add(fills_.size()).add(fills_in_flight_).add(reads_.size()).add(ended_.size());
  digest.add(ended_.floor().counter).add(confirm_.size()).add(held_.size()).add(corrupt_.size());
  return digest.value();
}

}  // namespace larder
