#include "sim/explore/rest.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace larder::sim {
namespace {

using std::chrono::seconds;

// Longer than any time-out of the protocol at these sizes.
constexpr Duration time_to_rest = seconds(60);

class Rest {
 public:
  Rest(const Scenario& scenario, World& world, History& history)
      : scenario_(scenario), world_(world), history_(history) {
    for (const Step& step : scenario.steps) {
      const auto* operation = std::get_if<OperationStep>(&step.what);
      if (operation == nullptr) continue;
      for (const OperationStep::Item& item : operation->items) keys_.insert(item.key);
    }
  }

  void let_pass(Duration time);
  void end_operations();
  void check_books();
  void check_objects(std::uint64_t flipped);
  void check_removals();
  void check_service();

 private:
  using Codes = std::vector<std::optional<ErrorCode>>;
  static constexpr int restarts_max = 4;

  void hear_everyone();
  template <class Begin>
  Codes outcome(Begin&& begin);
  Codes get_all(std::size_t client);
  void check_node(NodeProcess& node, const StatusReport& books);
  std::vector<std::string> keys() const { return {keys_.begin(), keys_.end()}; }
  ClientProcess& client(std::size_t number) {
    return *world_.clients()[number % world_.clients().size()];
  }
  void broken(Invariant invariant, std::string what) {
    history_.report(invariant, std::move(what));
  }

  const Scenario& scenario_;
  World& world_;
  History& history_;
  std::set<std::string> keys_;
  int restarts_ = 0;
};

std::string text(const std::optional<ErrorCode>& code) {
  return code ? std::string(error_name(*code)) : "OK";
}

// A master that is shown a higher epoch ends by itself, and its supervisor starts it again: with
// its own epoch once more, if it had none, and then with one above that.
void Rest::let_pass(Duration time) {
  MasterProcess& master = *world_.masters().front();
  for (Duration passed{0}; passed < time; passed += seconds(1)) {
    world_.run_for(seconds(1));
    if (master.alive()) continue;
    if (++restarts_ > restarts_max) {
      return broken(Invariant::pool_serves, "the master ends by itself again and again");
    }
    master.start();
  }
}

void Rest::end_operations() {
  let_pass(seconds(5));
  if (!world_.run_until_idle(seconds(120))) {
    broken(Invariant::operations_end, "operations are still under way after 120 s");
  }
  hear_everyone();
  let_pass(time_to_rest);
}

// A client that has met a newer master tells the one that is left with its next call, however late,
// and ends it. What is checked are the calls after that.
void Rest::hear_everyone() {
  int before = -1;
  while (before != restarts_ && restarts_ <= restarts_max) {
    before = restarts_;
    for (const auto& client : world_.clients()) {
      history_.begins(client->exists({keys_.empty() ? "any" : *keys_.begin()}));
    }
    if (!world_.run_until_idle(seconds(60))) {
      broken(Invariant::operations_end, "an operation does not end although all faults are over");
    }
    let_pass(seconds(1));
  }
}

// The result of each item of an operation; none: OK. An operation that does not end has no items.
template <class Begin>
Rest::Codes Rest::outcome(Begin&& begin) {
  const OperationId id = begin();
  if (!world_.run_until_idle(seconds(60))) {
    broken(Invariant::operations_end, "an operation does not end although all faults are over");
  }
  return history_.codes(id);
}

Rest::Codes Rest::get_all(std::size_t number) {
  std::vector<GetWanted> wanted;
  for (const std::string& key : keys_) wanted.push_back({.key = key, .room = scenario_.value_max});
  return outcome([&] {
    const OperationId id = client(number).get(wanted);
    history_.begins(id);
    return id;
  });
}

// Each extent is free on both sides, or sealed and in the directory; nothing is under way.
void Rest::check_books() {
  const MasterProcess& master = *world_.masters().front();
  if (!master.alive()) return broken(Invariant::pool_serves, "the master is not back");
  const StatusReport books = master.machine()->status(world_.masters().front()->now());
  for (const auto& node : world_.nodes()) check_node(*node, books);
  if (books.unfinished_puts != 0 || books.quarantined != 0_B) {
    broken(Invariant::space_returns,
           "the master still has " + std::to_string(books.unfinished_puts) +
               " unfinished puts and " + std::to_string(books.quarantined.value) +
               " bytes in quarantine");
  }
  if (books.nodes.size() != world_.nodes().size()) {
    broken(Invariant::space_returns, std::to_string(books.nodes.size()) + " of " +
                                         std::to_string(world_.nodes().size()) +
                                         " nodes are in the pool");
  }
  if (books.sessions > world_.clients().size()) {
    broken(Invariant::space_returns, std::to_string(books.sessions) + " sessions are open of " +
                                         std::to_string(world_.clients().size()) + " clients");
  }
}

void Rest::check_node(NodeProcess& node, const StatusReport& books) {
  const std::string& name = node.endpoint();
  if (node.machine() == nullptr) return broken(Invariant::space_returns, name + " is not back");
  const NodeStatus status = node.machine()->status(node.now());
  const auto of = [](const auto& by_state, FillState state) {
    return by_state[static_cast<std::size_t>(state)];
  };
  if (of(status.extents, FillState::filling) != 0 || of(status.extents, FillState::retiring) != 0 ||
      status.open_fills != 0 || status.fills_in_flight != 0 || status.reads_in_flight != 0) {
    broken(Invariant::space_returns, name + " still fills, reads or retires extents");
  }
  const auto book = std::ranges::find(books.nodes, name, &StatusReport::Node::endpoint);
  if (book == books.nodes.end()) {
    return broken(Invariant::space_returns, "the master does not know " + name);
  }
  const Bytes sealed = of(status.bytes, FillState::sealed);
  const std::uint64_t extents = of(status.extents, FillState::sealed);
  if (book->state != "shown" || book->used != sealed || book->objects != extents) {
    broken(Invariant::space_returns, "the master says that " + name + " is " + book->state +
                                         " and holds " + std::to_string(book->objects) +
                                         " extents of " + std::to_string(book->used.value) +
                                         " bytes; it holds " + std::to_string(extents) + " of " +
                                         std::to_string(sealed.value));
  }
}

// What is there can be read, and what exists is there. A flipped bit costs one failed get; then the
// value is gone.
void Rest::check_objects(std::uint64_t flipped) {
  Codes got = get_all(0);
  if (flipped > 0 || scenario_.links.corrupt_chunk > 0) {
    // The next calls of the client bring what it saw; the nodes look, and tell the master.
    for (std::size_t again = 0; again < 2; ++again) {
      world_.run_for(seconds(5));
      got = get_all(0);
    }
  }
  std::size_t at = 0;
  for (const std::string& key : keys_) {
    const std::optional<ErrorCode>& code = got.at(at++);
    if (!code || code == ErrorCode::object_not_found) continue;
    broken(Invariant::pool_serves,
           "a get of '" + key + "' ends in " + text(code) + " although all faults are over");
  }
}

void Rest::check_removals() {
  const Codes removed = outcome([&] {
    const OperationId id = client(1).remove(keys(), true);
    history_.begins(id);
    return id;
  });
  std::size_t at = 0;
  for (const std::string& key : keys_) {
    const std::optional<ErrorCode>& code = removed.at(at++);
    if (!code || code == ErrorCode::object_not_found) continue;
    broken(Invariant::pool_serves,
           "a removal of '" + key + "' ends in " + text(code) + " although all faults are over");
  }
  const Codes got = get_all(2);
  at = 0;
  for (const std::string& key : keys_) {
    const std::optional<ErrorCode>& code = got.at(at++);
    if (code == ErrorCode::object_not_found) continue;
    broken(Invariant::not_superseded,
           "a get of '" + key + "' after its removal ends in " + text(code));
  }
}

// Every client can store something new and replace it, and read what another one has stored.
void Rest::check_service() {
  const Bytes size{1 + scenario_.value_max.value / 16};
  for (std::size_t i = 0; i < world_.clients().size(); ++i) {
    const std::string key = "fresh" + std::to_string(i);
    const auto good = [&](const char* what, const Codes& codes) {
      if (codes.size() == 1 && !codes[0]) return;
      broken(Invariant::pool_serves,
             "a " + std::string(what) + " of client" + std::to_string(i) + " ends in " +
                 (codes.empty() ? "nothing" : text(codes[0])) + " although all faults are over");
    };
    good("fresh put", outcome([&] {
           const OperationId id = client(i).put({{.key = key, .size = size}});
           history_.begins(id);
           return id;
         }));
    good("fresh upsert", outcome([&] {
           const OperationId id = client(i).put({{.key = key, .size = size}}, true);
           history_.upsert_begins(id);
           return id;
         }));
    good("fresh object", outcome([&] {
           const OperationId id = client(i + 1).get({{.key = key, .room = size}});
           history_.begins(id);
           return id;
         }));
  }
}

}  // namespace

void bring_to_rest(const Scenario& scenario, World& world, History& history,
                   std::uint64_t flipped) {
  Rest rest(scenario, world, history);
  rest.end_operations();
  world.check_invariants();
  if (!history.violations().empty()) return;
  history.keep_codes();
  rest.check_books();
  if (!history.violations().empty()) return;
  history.all_promised();
  rest.check_objects(flipped);
  rest.check_removals();
  rest.check_service();
  rest.let_pass(time_to_rest);
  rest.check_books();
  world.check_invariants();
}

}  // namespace larder::sim
