#include <algorithm>
#include <optional>

#include "sim/exhaustive/pool.h"

// The end of a small world: no faults any more, everything in one order, and time as it is needed.

namespace larder::sim {
namespace {

constexpr int steps_max = 2'000;

}  // namespace

// Nothing is under way, and the books are right; or why not.
std::optional<Violation> Pool::unrest() const {
  const auto broken = [&](Invariant invariant, std::string what) {
    return Violation{invariant, steps_as_instants_.now(), std::move(what)};
  };
  if (!std::ranges::all_of(clients_, &ClientHost::finished)) {
    return broken(Invariant::operations_end, "an operation does not end although nothing fails");
  }
  if (!quiet()) return broken(Invariant::operations_end, "something is always on its way");
  const MasterHost& newest = *masters_.back();
  const MasterHost& leads = newest.alive() ? newest : *masters_.front();
  if (!leads.alive()) return broken(Invariant::pool_serves, "no master leads");
  const StatusReport books = leads.machine()->status(now_);
  if (books.unfinished_puts != 0 || books.quarantined != 0_B || books.hidden_quarantined != 0_B) {
    return broken(Invariant::space_returns,
                  "the master still has " + std::to_string(books.unfinished_puts) +
                      " unfinished puts and " +
                      std::to_string((books.quarantined + books.hidden_quarantined).value) +
                      " bytes in quarantine");
  }
  for (const auto& node : nodes_) {
    if (std::string what = node->unrest(books); !what.empty()) {
      return broken(Invariant::space_returns, std::move(what));
    }
  }
  return std::nullopt;
}

void Pool::bring_to_rest() {
  left_ = {};
  std::vector<Action> next;
  std::optional<Violation> why;
  for (int i = 0; i < steps_max; ++i) {
    why = unrest();
    if (!why) return;
    actions(next);
    // A tick that leaves work behind must not keep time from passing.
    const bool only_ticks = std::ranges::all_of(next, [](const Action& each) {
      return each.kind == Action::Kind::tick_master || each.kind == Action::Kind::tick_node;
    });
    const Time timer = next_timer();
    if (timer != time_never && only_ticks && (next.empty() || i % 8 == 7)) {
      now_ = timer;
      continue;
    }
    if (next.empty()) break;
    check(take(next.front()));
    if (!history_.violations().empty()) return;
  }
  history_.report(why->invariant, std::move(why->what));
}

// Each extent is free on both sides, or sealed and in the directory.
std::string NodeHost::unrest(const StatusReport& books) const {
  if (!alive()) return name_ + " is dead";
  const NodeStatus status = machine_->status(pool_.now());
  const auto of = [](const auto& by_state, FillState state) {
    return by_state[static_cast<std::size_t>(state)];
  };
  if (of(status.extents, FillState::filling) != 0 || of(status.extents, FillState::retiring) != 0 ||
      status.reads_in_flight != 0) {
    return name_ + " still fills, reads or retires extents";
  }
  const auto book = std::ranges::find(books.nodes, name_, &StatusReport::Node::endpoint);
  if (book == books.nodes.end() || book->state != "shown") {
    return "the master does not show " + name_;
  }
  const Bytes sealed = of(status.bytes, FillState::sealed);
  if (book->used == sealed) return {};
  return "the master says that " + name_ + " holds " + std::to_string(book->used.value) +
         " bytes; it holds " + std::to_string(sealed.value);
}

}  // namespace larder::sim
