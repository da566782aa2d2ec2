#include "proto/codec.h"
#include "proto/columns.h"
#include "proto/outcomes.h"

namespace larder {

using namespace columns;

void encode(std::span<const Status> outcomes, std::string& frame) {
  wire::Outcomes message;
  for (const Status& outcome : outcomes) {
    add_outcome(outcome ? nullptr : &outcome.error(), message);
  }
  close_outcomes(message);
  append(message, frame);
}

Result<std::vector<Status>> decode_outcomes(FrameBytes bytes) {
  wire::Outcomes message;
  LARDER_CHECK(parse(bytes, "Outcomes", message));
  return take_outcomes("Outcomes", message);
}

void encode(std::span<const FillRange> ranges, std::string& frame) {
  wire::Fill message;
  put_extents(
      ranges, [](auto& range) { return ExtentName{range.item.put_id, range.item.location}; },
      *message.mutable_extents());
  put_objects(
      ranges, [](auto& range) -> auto& { return range.item.record; }, *message.mutable_objects());
  put_numbers(
      ranges, [](auto& range) { return range.item.part_offset.value; },
      *message.mutable_part_offsets());
  const auto whole = [](auto& range) { return range.item.part_length == range.item.record.size; };
  if (!std::ranges::all_of(ranges, whole)) {
    put_numbers(
        ranges, [](auto& range) { return range.item.part_length.value; },
        *message.mutable_part_lengths());
  }
  put_flag(
      ranges, [](auto& range) { return !range.item.last_part; }, *message.mutable_more_parts());
  put_flag(
      ranges, [](auto& range) { return range.item.checksum.has_value(); },
      *message.mutable_checksummed());
  append(message, frame);
}

Result<DecodedFill> decode_fill(FrameBytes bytes) {
  auto owned = std::make_unique<wire::Fill>();
  const wire::Fill& in = *owned;
  LARDER_CHECK(parse(bytes, "Fill", *owned));
  LARDER_TRY(const Reader read, reader("Fill", in.objects().keys().lengths_size()));
  std::vector<FillItem> items(read.count());
  std::vector<bool> checksummed(read.count());
  std::vector<ExtentName> extents(read.count());
  LARDER_CHECK(read.extents(in.extents(), [&](std::size_t i) -> auto& { return extents[i]; }));
  LARDER_CHECK(
      take_objects(read, in.objects(), [&](std::size_t i) -> auto& { return items[i].record; }));
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].put_id = extents[i].put_id;
    items[i].location = extents[i].location;
    items[i].part_length = items[i].record.size;
  }
  LARDER_CHECK(
      read.numbers("part_offsets", in.part_offsets(),
                   [&](std::size_t i, std::uint64_t offset) { items[i].part_offset = {offset}; }));
  LARDER_CHECK(
      read.numbers("part_lengths", in.part_lengths(),
                   [&](std::size_t i, std::uint64_t length) { items[i].part_length = {length}; }));
  LARDER_CHECK(
      read.flag("more_parts", in.more_parts(), [&](std::size_t i) { items[i].last_part = false; }));
  LARDER_CHECK(
      read.flag("checksummed", in.checksummed(), [&](std::size_t i) { checksummed[i] = true; }));
  for (const FillItem& item : items) {
    if (item.part_length > item.record.size ||
        item.part_offset > item.record.size - item.part_length) {
      return read.malformed("a part of " + std::to_string(item.part_length.value) +
                            " bytes at offset " + std::to_string(item.part_offset.value) +
                            " of an object of " + std::to_string(item.record.size.value));
    }
  }
  return DecodedFill{.texts = MessageHolder(std::move(owned)),
                     .items = std::move(items),
                     .checksummed = std::move(checksummed)};
}

void encode(std::span<const ReadPart> items, std::string& frame) {
  wire::Read message;
  put_extents(items, [](auto& item) -> auto& { return item.extent; }, *message.mutable_extents());
  put_numbers(
      items, [](auto& item) { return item.payload_size.value; }, *message.mutable_payload_sizes());
  put_numbers(items, [](auto& item) { return item.offset.value; }, *message.mutable_offsets());
  put_numbers(items, [](auto& item) { return item.length.value; }, *message.mutable_lengths());
  append(message, frame);
}

Result<std::vector<ReadPart>> decode_read(FrameBytes bytes) {
  wire::Read in;
  LARDER_CHECK(parse(bytes, "Read", in));
  LARDER_TRY(const Reader read, reader_of_ids("Read", in.extents().put_ids_size()));
  std::vector<ReadPart> items(read.count());
  LARDER_CHECK(read.extents(in.extents(), [&](std::size_t i) -> auto& { return items[i].extent; }));
  LARDER_CHECK(
      read.numbers("payload_sizes", in.payload_sizes(),
                   [&](std::size_t i, std::uint64_t size) { items[i].payload_size = {size}; }));
  LARDER_CHECK(read.numbers("offsets", in.offsets(), [&](std::size_t i, std::uint64_t offset) {
    items[i].offset = {offset};
  }));
  LARDER_CHECK(read.numbers("lengths", in.lengths(), [&](std::size_t i, std::uint64_t length) {
    items[i].length = {length};
  }));
  for (const ReadPart& item : items) {
    if (item.length > item.payload_size || item.offset > item.payload_size - item.length) {
      return read.malformed("a range of " + std::to_string(item.length.value) +
                            " bytes at offset " + std::to_string(item.offset.value) +
                            " of a payload of " + std::to_string(item.payload_size.value));
    }
  }
  return items;
}

void encode(const ReadAnswer& answer, std::string& frame) {
  wire::ReadAnswer message;
  add_outcome(answer.status ? nullptr : &answer.status.error(), *message.mutable_outcome());
  close_outcomes(*message.mutable_outcome());
  if (answer.checksum) message.mutable_checksum()->add_values(*answer.checksum);
  append(message, frame);
}

Result<ReadAnswer> decode_read_answer(FrameBytes bytes) {
  wire::ReadAnswer in;
  LARDER_CHECK(parse(bytes, "ReadAnswer", in));
  LARDER_TRY(std::vector<Status> outcomes, take_outcomes("ReadAnswer", in.outcome()));
  const Reader read("ReadAnswer", 1);
  LARDER_CHECK(read.entries("outcome", to_int(outcomes.size()), 1));
  ReadAnswer answer{.status = std::move(outcomes[0])};
  LARDER_CHECK(read.checksums(in.checksum(),
                              [&](std::size_t, std::uint64_t value) { answer.checksum = value; }));
  return answer;
}

}  // namespace larder
