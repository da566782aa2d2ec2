// The node against a reference of ordinary maps, by random calls, with memory that knows who wrote
// it: what is read never changes under the reader, and is one put's.
#include <rapidcheck.h>

#include <array>
#include <set>
#include <source_location>
#include <sstream>
#include <stdexcept>

#include "core/base/assert.h"
#include "tests/unit/core/node/harness.h"

namespace larder::test {
namespace {

enum class Kind : std::uint8_t {
  begin,
  begin_part,
  seal,
  seal_badly,
  end_fill,
  close,
  write,
  read,
  end_read,
  retire,
  raise_floor,
  answer,
  answer_again,
  reconnect,
  new_epoch,
  retire_everything,
  pass,
  count
};
struct Op {
  Kind kind;
  unsigned a, b;
};
void showValue(const Op& op, std::ostream& out) {
  out << static_cast<int>(op.kind) << "/" << op.a << "/" << op.b;
}

constexpr std::size_t slots = 3;
constexpr Duration stalled = 2s;

class World {
 public:
  World() : bench_({.fill_slots = slots, .inventory_part_items = 2}) {}

  void run(const Op& op) {
    step(op);
    carry_out();
    compare();
  }

 private:
  enum class State : std::uint8_t { receiving, waiting, ending, sealed, retiring };
  struct Held {
    State state = State::receiving;
    Bytes size;
    Bytes received;
    FillId fill;  // in flight
    bool last_part = true;
    bool orphaned = false;
    ConnectionId connection;
    Time deadline;
    int reads = 0;
  };
  using HeldMap = std::map<ExtentName, Held>;
  struct Pending {
    std::uint64_t ticket;
    RequestBody body;
  };

  static Bytes size_of(std::uint64_t counter) {
    return std::array{1_B, 64_B, 200_B, 500_B}[counter % 4];
  }
  // Few names, so that they meet.
  ExtentName pick(const Op& op) const {
    const std::uint64_t counter = op.a % 4;
    const Epoch of{master_epoch_.value - (op.b % 7 == 6 ? 1 : 0)};
    const Bytes offset{std::array<std::uint64_t, 3>{0, 64, 576}[op.b % 3]};
    return {put(counter, of), {segment_a, offset}};
  }
  Bytes end_of(const ExtentName& name, Bytes size) const {
    return name.location.offset + footer_offset(size) + footer_size;
  }

  void step(const Op& op) {
    switch (op.kind) {
      case Kind::begin:
        return begin(op, true);
      case Kind::begin_part:
        return begin(op, false);
      case Kind::seal:
        return with_fill(op, [&](auto held) { finish_part(held, 77, true); });
      case Kind::seal_badly:
        return with_fill(op, [&](auto held) {
          if (held->second.last_part) finish_part(held, op.b % 2 == 0 ? 78 : 77, op.b % 2 == 0);
        });
      case Kind::end_fill:
        return with_fill(op, [&](auto held) {
          bench_.node.end_fill(bench_.now, held->second.fill, bench_.effects);
          fill_ended(held);
        });
      case Kind::close:
        return close(ConnectionId{op.a % 3});
      case Kind::write:
        return with_fill(op, [&](auto held) {
          write(held->first, op.b % (footer_offset(held->second.size) / 64_B));
          bench_.node.progress(bench_.now, held->second.fill, Bytes{op.b % 500});
          if (held->second.state == State::receiving) progressed(held, op.b % 500);
        });
      case Kind::read:
        return read(op);
      case Kind::end_read:
        return end_read(op);
      case Kind::retire:
        return retire(pick(op));
      case Kind::raise_floor:
        return raise_floor(op);
      case Kind::answer:
        return answer(op);
      case Kind::answer_again:
        if (old_ticket_ != 0) bench_.node.answered(bench_.now, old_ticket_, Done{}, bench_.effects);
        return;
      case Kind::reconnect:
        return connect();
      case Kind::new_epoch:
        ++master_epoch_.value;
        retire_everything_ = false;
        return connect();
      case Kind::retire_everything:
        ++master_epoch_.value;
        retire_everything_ = true;
        return connect();
      case Kind::pass:
        return pass(std::chrono::milliseconds(op.a % 1500));
      case Kind::count:
        return;
    }
  }

  void begin(const Op& op, bool whole) {
    const ExtentName name = pick(op);
    FillItem item = Bench::item(name.put_id, name.location.offset, size_of(name.put_id.counter));
    const auto held = held_.find(name);
    if (!whole) {
      const bool next = held != held_.end() && op.a % 3 != 0;
      item.part_offset = next ? held->second.received : 0_B;
      item.last_part = op.a % 2 == 0;
      item.part_length = item.last_part ? item.record.size - item.part_offset : 1_B;
      if (item.part_offset + item.part_length > item.record.size) return;
    }
    const ConnectionId connection{op.b % 3};
    const auto expected = expect(item, name);
    const auto result = bench_.node.begin_fill(bench_.now, item, connection);
    RC_ASSERT(result.has_value() == !expected.has_value());
    if (!result) RC_ASSERT(result.error().code() == *expected);
    if (!result || result->already_sealed) {
      RC_ASSERT(!result || held->second.state == State::sealed);
      return;
    }
    Held& taken = held_[name];
    moved_[result->id] = 0;
    taken = {.state = State::receiving,
             .size = item.record.size,
             .received = item.part_offset,
             .fill = result->id,
             .last_part = item.last_part,
             .orphaned = false,
             .connection = connection,
             .deadline = bench_.now + stalled};
  }

  std::optional<ErrorCode> expect(const FillItem& item, const ExtentName& name) const {
    if (emptying_ || name.put_id.epoch != epoch_ || epoch_ == Epoch{}) {
      return ErrorCode::fill_refused;
    }
    const bool full = in_flight() >= slots;
    if (const auto at = held_.find(name); at != held_.end()) {
      const Held& held = at->second;
      if (held.state == State::sealed) return std::nullopt;
      if (held.state == State::retiring || held.state == State::ending) {
        return ErrorCode::fill_refused;
      }
      if (held.state == State::receiving) return ErrorCode::busy;
      const bool again = held.orphaned && item.part_offset == 0_B;
      if (item.part_offset != held.received && !again) return ErrorCode::fill_refused;
      return full ? std::optional(ErrorCode::busy) : std::nullopt;
    }
    if (name.put_id < floor_ || ended_.contains(name) || item.part_offset != 0_B) {
      return ErrorCode::fill_refused;
    }
    for (const auto& [other, held] : held_) {
      if (other.location.offset < end_of(name, item.record.size) &&
          name.location.offset < end_of(other, held.size)) {
        return ErrorCode::fill_refused;
      }
    }
    return full ? std::optional(ErrorCode::busy) : std::nullopt;
  }
  std::size_t in_flight() const {
    std::size_t count = 0;
    for (const auto& [name, held] : held_) count += held.fill != FillId{};
    return count;
  }

  template <class Do>
  void with_fill(const Op& op, Do&& act) {
    std::vector<HeldMap::iterator> open;
    for (auto at = held_.begin(); at != held_.end(); ++at) {
      if (at->second.fill != FillId{}) open.push_back(at);
    }
    if (!open.empty()) act(open[op.a % open.size()]);
  }
  void progressed(HeldMap::iterator at, std::uint64_t moved) {
    if (moved > moved_[at->second.fill]) at->second.deadline = bench_.now + stalled;
    // The node counts no more than the part has.
    const Bytes rest = at->second.last_part ? at->second.size - at->second.received : 1_B;
    moved_[at->second.fill] = std::max(moved_[at->second.fill], std::min(moved, rest.value));
  }
  void write(const ExtentName& name, std::uint64_t chunk) {
    memory_.at(name.location.offset / 64_B + chunk) = name.put_id;
  }

  void finish_part(HeldMap::iterator at, std::uint64_t computed, bool waits) {
    Held& held = at->second;
    const bool ending = held.state != State::receiving;
    if (!held.last_part) {
      const Status status = bench_.node.part_done(bench_.now, held.fill, bench_.effects);
      RC_ASSERT(status.has_value() == !ending);
      if (ending) return fill_ended(at);
      held.state = State::waiting;
      held.received += 1_B;
      held.fill = {};
      held.deadline = bench_.now + Timing::allowed(held.size);
      return;
    }
    for (std::uint64_t i = 0; i < footer_offset(held.size) / 64_B; ++i) write(at->first, i);
    const Status status = bench_.node.seal(
        bench_.now, held.fill, {.expected = {}, .computed = computed, .writer_waits = waits},
        bench_.effects);
    RC_ASSERT(status.has_value() == (!ending && waits && computed == 77));
    if (!status) return fill_ended(at);
    held.state = State::sealed;
    held.fill = {};
  }
  void fill_ended(HeldMap::iterator at) {
    end(at->first);
    held_.erase(at);  // whatever it was: nothing reads what was never sealed
  }
  void end(const ExtentName& name) {
    if (name.put_id.epoch == epoch_) ended_.insert(name);
  }

  void close(ConnectionId connection) {
    bench_.node.connection_closed(bench_.now, connection, bench_.effects);
    for (auto next = held_.begin(); next != held_.end();) {
      const auto at = next++;
      Held& held = at->second;
      const bool filling = held.fill != FillId{} || held.state == State::waiting;
      if (!filling || held.connection != connection) continue;
      if (held.state == State::ending || held.state == State::retiring) {
        fill_ended(at);
        continue;
      }
      held.state = State::waiting;
      held.orphaned = true;
      held.fill = {};
      held.deadline = std::min(held.deadline, bench_.now + stalled);
    }
  }

  void read(const Op& op) {
    const ExtentName name = pick(op);
    const auto result = bench_.read(name, 0_B, 1_B);
    const auto held = held_.find(name);
    const bool sealed = held != held_.end() && held->second.state == State::sealed;
    RC_ASSERT(result.has_value() == sealed);
    if (!result) return;
    RC_ASSERT(result->payload_size == held->second.size);
    ++held->second.reads;
    reads_[result->id] = name;
  }
  void end_read(const Op& op) {
    if (reads_.empty()) return;
    const auto read = std::next(reads_.begin(), op.a % reads_.size());
    bench_.node.end_read(bench_.now, read->first, bench_.effects);
    const auto held = held_.find(read->second);
    RC_ASSERT(held != held_.end());
    if (--held->second.reads == 0 && held->second.state == State::retiring) held_.erase(held);
    reads_.erase(read);
  }

  void retire(const ExtentName& name) {
    bench_.node.command(bench_.now, command(RetireExtents{{name}}), bench_.effects);
    if (master_epoch_ != epoch_) return;  // not the master that it obeys
    end(name);
    retired(name);
  }
  void retired(const ExtentName& name) {
    const auto at = held_.find(name);
    if (at == held_.end()) return;
    at->second.state = State::retiring;
    if (at->second.fill == FillId{} && at->second.reads == 0) held_.erase(at);
  }
  Command command(CommandBody body, PutId lowest = {}) const {
    return {.incarnation = incarnation,
            .epoch = master_epoch_,
            .instance = instance,
            .lowest_unfinished = lowest,
            .body = std::move(body)};
  }
  void raise_floor(const Op& op) {
    const PutId lowest = put(op.a % 3, master_epoch_);
    bench_.node.command(bench_.now, command(RetireExtents{}, lowest), bench_.effects);
    if (master_epoch_ == epoch_) floor_ = std::max(floor_, lowest);
  }

  void connect() {
    pending_.clear();
    reported_ = false;
    bench_.node.connected(bench_.now, bench_.effects);
  }
  void answer(const Op& op) {
    if (pending_.empty()) return;
    const Pending one = pending_.front();
    pending_.erase(pending_.begin());
    old_ticket_ = one.ticket;
    if (std::holds_alternative<RegisterNode>(one.body)) return registered(one.ticket);
    if (const auto* part = std::get_if<ReportInventory>(&one.body)) reported_ = part->last;
    if (op.a % 8 == 7) {  // it does not know the node any more: everything from the start
      reported_ = false;
      pending_.clear();
      bench_.node.answered(bench_.now, one.ticket, failed(ErrorCode::client_not_found),
                           bench_.effects);
      return;
    }
    bench_.node.answered(bench_.now, one.ticket, Done{}, bench_.effects);
  }
  void registered(std::uint64_t ticket) {
    if (master_epoch_ > epoch_) {
      epoch_ = master_epoch_;
      floor_ = put(0, epoch_);
      ended_.clear();
      for (auto next = held_.begin(); next != held_.end();) {
        const auto at = next++;
        if (at->second.state == State::waiting) {
          held_.erase(at);
        } else if (at->second.state == State::receiving) {
          at->second.state = State::ending;
        }
      }
      if (retire_everything_) {
        emptying_ = true;
        for (auto next = held_.begin(); next != held_.end();) retired((next++)->first);
      }
    }
    NodeRegistered answer{.epoch = master_epoch_, .instance = instance, .heartbeat = 1s};
    answer.retire_everything = emptying_;
    bench_.node.answered(bench_.now, ticket, answer, bench_.effects);
  }

  void pass(Duration time) {
    bench_.now += time;
    const bool unanswered = bench_.node.next_deadline().value_or(time_never) <= bench_.now;
    std::set<FillId> stalled_fills;
    for (auto next = held_.begin(); next != held_.end();) {
      const auto at = next++;
      if (at->second.deadline > bench_.now) continue;
      if (at->second.state == State::waiting) {
        fill_ended(at);
      } else if (at->second.state == State::receiving) {
        at->second.state = State::ending;
        stalled_fills.insert(at->second.fill);
      }
    }
    bench_.node.tick(bench_.now, bench_.effects);
    const auto& aborted = bench_.effects.abort_fills;
    RC_ASSERT(std::set<FillId>(aborted.begin(), aborted.end()) == stalled_fills);
    RC_ASSERT(unanswered || bench_.effects.send.empty());
  }

  // The master takes what was sent, and checks it.
  void carry_out() {
    if (held_.empty()) emptying_ = false;
    for (auto& send : bench_.effects.send) {
      const RequestBody& body = send.request.body;
      if (std::holds_alternative<RegisterNode>(body)) {
        pending_.clear();
        reported_ = false;
      } else if (const auto* report = std::get_if<ReportInventory>(&body)) {
        check_report(*report);
      } else if (const auto* confirmed = std::get_if<ConfirmRetirement>(&body)) {
        RC_ASSERT(reported_);
        for (const ExtentName& name : confirmed->retired) RC_ASSERT(!held_.contains(name));
        for (const auto& one : confirmed->held) {
          RC_ASSERT(held_.at(one.extent).state == State::retiring);
          RC_ASSERT(one.at_most > 0s);
        }
      }
      pending_.push_back({.ticket = send.ticket, .body = body});
    }
    bench_.effects.clear();
  }
  void check_report(const ReportInventory& report) {
    RC_ASSERT(!reported_);
    RC_ASSERT(!emptying_);
    if (report.part == 0) last_reported_.reset();
    std::vector<std::pair<Bytes, PutId>> expected;
    bool more = false;
    for (const auto& [name, held] : by_place()) {
      RC_ASSERT(held.fill == FillId{} || name.second.epoch == epoch_ ||
                held.state == State::retiring);
      const bool told = held.state == State::sealed || held.state == State::retiring;
      if (last_reported_ && name <= *last_reported_) continue;
      if (expected.size() == 2) {
        more = true;
        break;
      }
      last_reported_ = name;
      if (told) expected.push_back(name);
    }
    RC_ASSERT(report.items.size() == expected.size());
    RC_ASSERT(report.last == !more);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto& item = report.items[i];
      const auto& held = held_.at(item.extent);
      RC_ASSERT((std::pair(item.extent.location.offset, item.extent.put_id)) == expected[i]);
      RC_ASSERT(item.retiring == (held.state == State::retiring));
      RC_ASSERT(item.record.size == held.size);
    }
  }
  std::map<std::pair<Bytes, PutId>, Held> by_place() const {
    std::map<std::pair<Bytes, PutId>, Held> result;
    for (const auto& [name, held] : held_) result[{name.location.offset, name.put_id}] = held;
    return result;
  }

  void compare() const {
    bench_.node.check_invariants();
    std::array<std::uint64_t, 3> extents{};
    std::map<ReplicaLocation, PutId> footers;
    for (const auto& [name, held] : held_) {
      const bool sealed = held.state == State::sealed;
      ++extents[sealed ? 1 : held.state == State::retiring ? 2 : 0];
      if (sealed)
        footers[{segment_a, name.location.offset + footer_offset(held.size)}] = name.put_id;
      if (held.reads == 0) continue;
      for (std::uint64_t i = 0; i < footer_offset(held.size) / 64_B; ++i) {
        RC_ASSERT(memory_.at(name.location.offset / 64_B + i) == name.put_id);
      }
    }
    const NodeStatus status = bench_.node.status(bench_.now);
    RC_ASSERT(status.extents == extents);
    RC_ASSERT(status.fills_in_flight == in_flight());
    RC_ASSERT(status.reads_in_flight == reads_.size());
    RC_ASSERT(status.epoch == epoch_);
    RC_ASSERT(bench_.footers.valid.size() == footers.size());
    for (const auto& [at, id] : footers) RC_ASSERT(bench_.footers.valid.at(at).put_id == id);
  }

  Bench bench_;
  HeldMap held_;
  std::map<ReadId, ExtentName> reads_;
  std::map<FillId, std::uint64_t> moved_;
  std::set<ExtentName> ended_;
  PutId floor_;
  std::array<PutId, 64> memory_{};
  Epoch epoch_;
  Epoch master_epoch_ = epoch;
  bool retire_everything_ = false;
  bool emptying_ = false;
  bool reported_ = false;
  std::optional<std::pair<Bytes, PutId>> last_reported_;
  std::vector<Pending> pending_;
  std::uint64_t old_ticket_ = 0;
};

// Weights: mostly what moves things on.
rc::Gen<std::vector<Op>> ops() {
  return rc::gen::resize(300, rc::gen::container<std::vector<Op>>(rc::gen::construct<Op>(
                                  rc::gen::weightedElement<Kind>({{12, Kind::begin},
                                                                  {6, Kind::begin_part},
                                                                  {10, Kind::seal},
                                                                  {2, Kind::seal_badly},
                                                                  {2, Kind::end_fill},
                                                                  {2, Kind::close},
                                                                  {8, Kind::write},
                                                                  {10, Kind::read},
                                                                  {6, Kind::end_read},
                                                                  {8, Kind::retire},
                                                                  {1, Kind::raise_floor},
                                                                  {12, Kind::answer},
                                                                  {2, Kind::answer_again},
                                                                  {1, Kind::reconnect},
                                                                  {1, Kind::new_epoch},
                                                                  {1, Kind::retire_everything},
                                                                  {3, Kind::pass}}),
                                  rc::gen::inRange(0u, 10000u), rc::gen::inRange(0u, 10000u))));
}

void random_calls() {
  World world;
  world.run({Kind::reconnect, 0, 0});
  for (int i = 0; i < 2; ++i) world.run({Kind::answer, 0, 0});
  for (const Op& op : *ops()) world.run(op);
}

[[noreturn]] void throw_assertion(const char* condition, const char* message,
                                  std::source_location at) {
  std::ostringstream text;
  text << at.file_name() << ":" << at.line() << ": " << condition << " " << message;
  throw std::runtime_error(text.str());
}

TEST(NodeModel, AgreesWithOrdinaryMapsUnderRandomCalls) {
  const auto before = set_assertion_handler(throw_assertion);
  bool held = true;
  for (int round = 0; round < 5 && held; ++round) held = rc::check(random_calls);
  set_assertion_handler(before);
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace larder::test
