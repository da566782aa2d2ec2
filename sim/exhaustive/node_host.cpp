#include "sim/exhaustive/node_host.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/assert.h"
#include "core/base/hash.h"
#include "core/protocol/footer.h"
#include "core/protocol/identity.h"
#include "sim/cluster/footer_check.h"
#include "sim/exhaustive/moving.h"
#include "sim/exhaustive/pool.h"

namespace larder::sim {

NodeHost::NodeHost(Pool& pool, std::uint32_t index, Bytes segment)
    : pool_(pool), index_(index), name_("node" + std::to_string(index)), size_(segment) {}

void NodeHost::start() {
  LARDER_ASSERT(!alive());
  ++life_;
  SegmentMemory& footers = *this;
  machine_ = std::make_unique<Node>(NodeConfig{.name = name_,
                                               .endpoint = name_,
                                               .host = name_,
                                               .rack = {},
                                               .timing = pool_.world().scenario.timing,
                                               .guards = pool_.guards()},
                                    incarnation(), footers);
  memory_ = std::make_unique<TrackedMemory>(size_);
  const Status added =
      machine_->add_segment(pool_.now(), {.id = segment(), .name = name_, .size = size_}, effects_);
  LARDER_ASSERT(added.has_value(), "the small world's segment was refused");
  carry_out();
}

void NodeHost::crash() {
  if (!alive()) return;
  pool_.for_each_moving_at(index_, [](Moving& moving) {
    moving.node_gone = true;
    if (moving.stage == Moving::Stage::moving) moving.stage = Moving::Stage::over;
  });
  const std::uint32_t master = master_;
  const std::uint64_t registration = registration_;
  if (connected_ && registration != 0) {
    pool_.connection_lost(master, {.incarnation = incarnation(), .registration = registration});
  }
  break_connection();
  effects_.clear();
  verifies_.clear();
  machine_.reset();
}

// ---- its connection -----------------------------------------------------------------------------

void NodeHost::break_connection() {
  connected_ = false;
  registration_ = 0;
  up_.clear();
  down_.clear();
}

void NodeHost::turn(std::uint32_t master) {
  if (connected_ && registration_ != 0) {
    pool_.connection_lost(master_, {.incarnation = incarnation(), .registration = registration_});
  }
  break_connection();
  master_ = master;
}

void NodeHost::connect() {
  connected_ = true;
  machine_->disconnected(pool_.now());
  machine_->connected(pool_.now(), effects_);
  carry_out();
}

void NodeHost::deliver_up() {
  const Sent sent = std::move(up_.front());
  up_.pop_front();
  if (const auto* registers = std::get_if<RegisterNode>(&sent.request->get().body)) {
    registration_ = registers->registration;
  }
  if (pool_.tells()) {
    pool_.tell(name_, std::string(request_name(sent.request->get().body)) + " reaches master" +
                          std::to_string(master_));
  }
  pool_.master(master_).serve_node(index_, sent.ticket, sent.request->get());
}

void NodeHost::answer(std::uint64_t ticket, Answer answer) {
  if (connected_) down_.emplace_back(Answered{ticket, std::move(answer)});
}

bool NodeHost::command(const Command& command) {
  if (!connected_ || registration_ == 0 || command.incarnation != incarnation()) return false;
  down_.emplace_back(command);
  return true;
}

void NodeHost::deliver_down() {
  const auto message = std::move(down_.front());
  down_.pop_front();
  if (const auto* answered = std::get_if<Answered>(&message)) {
    machine_->answered(pool_.now(), answered->ticket, answered->answer, effects_);
    if (pool_.tells()) pool_.tell(name_, "has the master's answer");
  } else {
    const auto& command = std::get<Command>(message);
    if (pool_.tells()) pool_.tell_command(name_, command);
    machine_->command(pool_.now(), command, effects_);
  }
  carry_out();
}

// ---- transfers ----------------------------------------------------------------------------------

void NodeHost::reach(Moving& moving) {
  if (!alive() || moving.node_life != life_) return close(moving);
  moving.stage = Moving::Stage::moving;
  if (moving.is_fill()) {
    const Result<FillBegun> begun =
        machine_->begin_fill(pool_.now(), moving.item, moving.connection);
    if (begun && !begun->already_sealed) moving.fill = begun->id;
    if (!begun) moving.result = std::unexpected(begun.error());
    if (pool_.tells()) {
      const std::string put = pool_.put_name(moving.item.put_id);
      pool_.tell(name_, begun ? "lets the fill of " + put + " in"
                              : "refuses to fill " + put + ": " + begun.error().message());
    }
    if (!moving.fill.value) moving.stage = Moving::Stage::answered;
  } else {
    const ReadRange& range = moving.read_range();
    const Result<ReadBegun> begun = machine_->begin_read(
        pool_.now(),
        {.extent = {.put_id = range.put_id, .location = {range.segment->id, range.extent_offset}},
         .tenant = pool_.tenant(),
         .offset = range.offset,
         .length = Pool::length_of(range)});
    if (pool_.tells()) {
      const std::string put = pool_.put_name(range.put_id);
      pool_.tell(name_, begun ? "lets the read of " + put + " in"
                              : "refuses to read " + put + ": " + begun.error().message());
    }
    if (begun) {
      moving.read = begun->id;
      moving.checksum = begun->checksum;
    } else {
      moving.result = std::unexpected(begun.error());
      moving.stage = Moving::Stage::answered;
    }
  }
  carry_out();
}

void NodeHost::chunk(Moving& moving, std::uint32_t number) {
  const Bytes size = pool_.world().scenario.chunk;
  const Bytes begin{size.value * number};
  moving.moved |= 1u << number;
  if (!moving.is_fill()) {
    const ReadRange& range = moving.read_range();
    const Slice into = range.into[0];
    const Bytes length{std::min(size.value, into.size() - begin.value)};
    std::ranges::copy(memory_->bytes(range.extent_offset + range.offset + begin, length),
                      into.begin() + static_cast<std::ptrdiff_t>(begin.value));
    return;
  }
  const ConstSlice from = moving.fill_range().from[0];
  const ConstSlice piece =
      from.subspan(begin.value, std::min(size.value, from.size() - begin.value));
  memory_->write({.at = moving.item.location.offset + begin,
                  .length = {piece.size()},
                  .put = moving.item.put_id,
                  .position = begin},
                 piece);
  machine_->progress(pool_.now(), moving.fill,
                     {static_cast<std::uint64_t>(std::popcount(moving.moved)) * size.value});
}

// The last byte is there.
void NodeHost::end(Moving& moving) {
  moving.stage = Moving::Stage::answered;
  if (moving.is_fill()) {
    const FillItem& item = moving.item;
    FillResult result{.expected = {}, .computed = {}, .writer_waits = !moving.left_noticed};
    if (item.checksum) {
      result.computed =
          checksum(std::as_const(*memory_).bytes(item.location.offset, item.record.size));
    }
    const FillId id = std::exchange(moving.fill, {});
    moving.result = machine_->seal(pool_.now(), id, result, effects_);
    if (pool_.tells()) {
      const std::string put = pool_.put_name(item.put_id);
      pool_.tell(name_, moving.result
                            ? "seals " + put
                            : "does not seal " + put + ": " + moving.result.error().message());
    }
  } else {
    machine_->end_read(pool_.now(), std::exchange(moving.read, {}), effects_);
    if (pool_.tells()) {
      pool_.tell(name_, "has read out " + pool_.put_name(moving.read_range().put_id));
    }
  }
  if (moving.left_noticed) close(moving);
  carry_out();
}

// What it had asked for: the connection is closed, and nothing moves any more.
void NodeHost::give_up(Moving& moving) {
  if (pool_.tells()) pool_.tell(name_, "ends a transfer that it has given up");
  if (moving.is_fill()) {
    machine_->end_fill(pool_.now(), std::exchange(moving.fill, {}), effects_);
    machine_->connection_closed(pool_.now(), moving.connection, effects_);
  } else {
    machine_->end_read(pool_.now(), std::exchange(moving.read, {}), effects_);
  }
  close(moving);
  carry_out();
}

void NodeHost::notice_left(Moving& moving) {
  moving.left_noticed = true;
  if (pool_.tells()) pool_.tell(name_, "notices that the client is gone");
  if (moving.stage == Moving::Stage::asked || moving.stage == Moving::Stage::answered) {
    return close(moving);
  }
  if (moving.is_fill()) {
    // What is whole already is sealed, or not, as the machine decides: end().
    if (moving.moved == moving.all_chunks() && !moving.ending) return;
    machine_->connection_closed(pool_.now(), moving.connection, effects_);
    moving.fill = {};
  } else {
    machine_->end_read(pool_.now(), std::exchange(moving.read, {}), effects_);
  }
  close(moving);
  carry_out();
}

void NodeHost::close(Moving& moving) {
  moving.stage = Moving::Stage::over;
  moving.node_gone = true;
}

// ---- what the machine asks for ------------------------------------------------------------------

void NodeHost::tick() {
  machine_->tick(pool_.now(), effects_);
  carry_out();
}

void NodeHost::verify() {
  const NodeEffects::Verify asked = verifies_.front();
  verifies_.pop_front();
  const std::uint64_t found =
      checksum(std::as_const(*memory_).bytes(asked.extent.location.offset, asked.size));
  machine_->verified(pool_.now(), asked.id, found, effects_);
  if (pool_.tells())
    pool_.tell(name_, "has read " + pool_.put_name(asked.extent.put_id) + " again");
  carry_out();
}

void NodeHost::carry_out() {
  for (const FillId fill : effects_.abort_fills) {
    pool_.for_each_moving_at(index_, [&](Moving& each) { each.ending |= each.fill == fill; });
  }
  for (const ReadId read : effects_.abort_reads) {
    pool_.for_each_moving_at(index_, [&](Moving& each) { each.ending |= each.read == read; });
  }
  verifies_.insert(verifies_.end(), effects_.verify.begin(), effects_.verify.end());
  for (const NodeEffects::Send& send : effects_.send) {
    if (!connected_) continue;
    up_.push_back({send.ticket, std::make_shared<const OwnedRequest>(send.request)});
  }
  const bool reconnects = effects_.reconnect;
  const bool finished = effects_.finished;
  effects_.clear();
  if (reconnects) turn(master_);
  if (finished) crash();
}

void NodeHost::write_footer(ReplicaLocation at, const FooterBytes& footer) {
  memory_->write_plain(at.offset, footer);
}

void NodeHost::check() const {
  if (!alive()) return;
  machine_->check_invariants();
  check_footers(*memory_, name_,
                [this](const std::string& what) { pool_.history().violation(what); });
}

void NodeHost::add_identity(Identity& identity) const {
  identity.add(alive()).add(life_).add(master_).add(connected_).add(registration_);
  if (!alive()) return;
  machine_->add_identity(identity, pool_.now());
  add_memory(identity);
  identity.add(up_.size());
  for (const Sent& sent : up_) {
    identity.name(Identity::Kind::node_ticket, IdHash{}(incarnation()), sent.ticket);
    identity.add(sent.request->get().header.highest_epoch.value);
    larder::add_identity(sent.request->get().body, identity);
  }
  identity.add(down_.size());
  for (const auto& message : down_) {
    identity.add(message.index());
    if (const auto* answered = std::get_if<Answered>(&message)) {
      identity.name(Identity::Kind::node_ticket, IdHash{}(incarnation()), answered->ticket);
      larder::add_identity(answered->answer, identity);
    } else {
      larder::add_identity(std::get<Command>(message), identity);
    }
  }
  for (const NodeEffects::Verify& each : verifies_) larder::add_identity(each.extent, identity);
}

// Bytes as they are, but a footer by what it says, since it names its put.
void NodeHost::add_memory(Identity& identity) const {
  for (Bytes at; at < size_; at += footer_size) {
    FooterBytes bytes;
    std::ranges::copy(std::as_const(*memory_).bytes(at, footer_size), bytes.begin());
    if (const std::optional<Footer> footer = decode_footer(bytes)) {
      identity.put(footer->put_id).add(footer->name).add(footer->length);
      identity.add(footer->checksum.has_value()).add(footer->checksum.value_or(0));
    } else {
      identity.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  }
  for (const Stamp& stamp : memory_->stamps().read({}, size_)) {
    identity.add(stamp.at).add(stamp.length).put(stamp.put).add(stamp.position);
  }
}

}  // namespace larder::sim
