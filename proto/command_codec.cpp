#include "proto/codec.h"
#include "proto/columns.h"

namespace larder {

using namespace columns;

namespace {

void put(const RetireExtents& in, wire::Command& out) {
  put_extents(in.extents, itself, *out.mutable_retire_extents());
}
void put(const VerifyExtents& in, wire::Command& out) {
  put_extents(in.extents, itself, *out.mutable_verify_extents());
}
void put(const InventoryTaken& in, wire::Command& out) { out.set_inventory_taken(in.registration); }

template <class Body>
Result<CommandBody> take(std::string_view message, const wire::Extents& in, Body out) {
  LARDER_TRY(const Reader read, reader_of_ids(message, in.put_ids_size()));
  out.extents.resize(read.count());
  LARDER_CHECK(read.extents(in, [&](std::size_t i) -> auto& { return out.extents[i]; }));
  return out;
}

Result<CommandBody> take_body(const wire::Command& in) {
  switch (in.body_case()) {
    case wire::Command::kRetireExtents:
      return take("RetireExtents", in.retire_extents(), RetireExtents{});
    case wire::Command::kVerifyExtents:
      return take("VerifyExtents", in.verify_extents(), VerifyExtents{});
    case wire::Command::kInventoryTaken:
      return InventoryTaken{in.inventory_taken()};
    case wire::Command::BODY_NOT_SET:
      break;
  }
  return failed(ErrorCode::invalid_params, "a command of a kind that is not known here");
}

}  // namespace

void encode(const Command& command, std::string& frame) {
  wire::Command message;
  put_id(command.incarnation, *message.mutable_incarnation());
  message.set_epoch(command.epoch.value);
  put_id(command.instance, *message.mutable_instance());
  message.set_lowest_unfinished_epoch(command.lowest_unfinished.epoch.value);
  message.set_lowest_unfinished_counter(command.lowest_unfinished.counter);
  std::visit([&](const auto& body) { put(body, message); }, command.body);
  append(message, frame);
}

Result<Command> decode_command(FrameBytes bytes) {
  wire::Command message;
  LARDER_CHECK(parse(bytes, "Command", message));
  Command command{.incarnation = take_id<IncarnationTag>(message.incarnation()),
                  .epoch = {message.epoch()},
                  .instance = take_id<InstanceTag>(message.instance()),
                  .lowest_unfinished = {{message.lowest_unfinished_epoch()},
                                        message.lowest_unfinished_counter()}};
  LARDER_TRY(command.body, take_body(message));
  return command;
}

}  // namespace larder
