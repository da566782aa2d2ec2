#include "sim/exhaustive/search.h"

#include <algorithm>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>

#include "core/base/assert.h"
#include "sim/explore/run.h"

namespace larder::sim {
namespace {

constexpr std::size_t actions_max = 64;  // at once: bits of a set

using Actions = std::vector<Action>;
// Of the actions of one state, in their order.
using ActionSet = std::uint64_t;

// A running world, and whether it is still sound. One in which an assertion failed is left as it
// is, since taking it apart could break more.
class Run {
 public:
  Run(const SmallWorld& world, const Guards& guards)
      : pool_(std::make_unique<Pool>(world, guards)) {}
  ~Run() {
    if (broken_) static_cast<void>(pool_.release());
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Pool& operator*() { return *pool_; }
  Pool* operator->() { return pool_.get(); }
  bool violated() const { return !pool_->history().violations().empty(); }

  Footprint take(const Action& action) {
    return guarded([&] {
      const Footprint touched = pool_->take(action);
      pool_->check(touched);
      return touched;
    });
  }
  void bring_to_rest() {
    guarded([&] {
      pool_->bring_to_rest();
      return Footprint();
    });
  }

 private:
  template <class Work>
  Footprint guarded(Work&& work) {
    try {
      return work();
    } catch (const BrokenInvariant& broken) {
      broken_ = true;
      pool_->history().report(Invariant::machine, broken.text);
      return {.writes = Footprint::all};
    }
  }

  std::unique_ptr<Pool> pool_;
  bool broken_ = false;
};

class Search {
 public:
  Search(const SmallWorld& world, const SearchConfig& config) : world_(world), config_(config) {}

  SearchResult run();

 private:
  // A state on the way, and what of it is still to be gone through.
  struct Frame {
    Actions actions;
    ActionSet sleeping = 0;  // elsewhere, or here before
    ActionSet left = 0;
    std::vector<Footprint> footprints;  // of those that sleep
  };
  struct Sleeper {
    Action action;
    Footprint footprint;
  };

  Pool& pool() { return **run_; }
  void start_again();
  bool over() const { return result_.end != SearchResult::End::exhausted; }
  // The run has come to a state, in which these sleep.
  void arrive(const std::vector<Sleeper>& sleepers);
  Frame frame_of(const std::vector<Sleeper>& sleepers);
  void expand(Frame frame, ActionSet known_left);
  void step(std::size_t at);
  std::vector<Sleeper> sleepers_after(const Frame& frame, const Action& action,
                                      const Footprint& touched) const;
  bool test_merge(std::uint64_t identity);
  std::vector<std::uint64_t> successors();
  void found();

  const SmallWorld& world_;
  const SearchConfig& config_;
  SearchResult result_;
  std::unique_ptr<Run> run_;
  bool run_is_here_ = true;  // the run stands at the end of way_
  Actions way_;
  std::vector<Frame> frames_;
  // What sleeps in all histories of a state so far: the rest has been gone through.
  boost::unordered_flat_map<std::uint64_t, ActionSet> known_;
  // Where merges are tested: what came next when a state was met first.
  struct First {
    std::vector<std::uint64_t> successors;
    Actions way;
  };
  boost::unordered_flat_map<std::uint64_t, First> tested_;
};

void Search::start_again() {
  ++result_.executions;
  run_ = std::make_unique<Run>(world_, config_.guards);
  for (const Action& action : way_) (*run_)->take(action);
  run_is_here_ = true;
}

SearchResult Search::run() {
  start_again();
  arrive({});
  while (!frames_.empty() && !over()) {
    Frame& frame = frames_.back();
    if (frame.left == 0) {
      frames_.pop_back();
      if (!way_.empty()) way_.pop_back();
      run_is_here_ = false;
      continue;
    }
    step(static_cast<std::size_t>(std::countr_zero(frame.left)));
  }
  result_.states = known_.size();
  return std::move(result_);
}

void Search::step(std::size_t at) {
  if (!run_is_here_) start_again();
  Frame& frame = frames_.back();
  const Action action = frame.actions[at];
  const ActionSet bit = ActionSet{1} << at;
  frame.left &= ~bit;
  const Footprint touched = run_->take(action);
  ++result_.transitions;
  way_.push_back(action);
  const std::vector<Sleeper> sleepers = sleepers_after(frame, action, touched);
  // From here on whoever begins with something else need not do this one first.
  if (config_.sleep_sets) {
    frame.sleeping |= bit;
    frame.footprints[at] = touched;
  }
  if (run_->violated()) return found();
  const std::size_t frames = frames_.size();
  arrive(sleepers);
  if (frames_.size() > frames || over()) return;
  way_.pop_back();
  run_is_here_ = false;
}

std::vector<Search::Sleeper> Search::sleepers_after(const Frame& frame, const Action& action,
                                                    const Footprint& touched) const {
  std::vector<Sleeper> sleepers;
  for (ActionSet set = frame.sleeping; set != 0; set &= set - 1) {
    const auto at = static_cast<std::size_t>(std::countr_zero(set));
    if (frame.actions[at] == action || !frame.footprints[at].commutes(touched)) continue;
    sleepers.push_back({frame.actions[at], frame.footprints[at]});
  }
  return sleepers;
}

Search::Frame Search::frame_of(const std::vector<Sleeper>& sleepers) {
  Frame frame;
  pool().actions(frame.actions);
  LARDER_ASSERT(frame.actions.size() <= actions_max, "the world is not small");
  frame.footprints.resize(frame.actions.size());
  for (const Sleeper& sleeper : sleepers) {
    const auto place = std::ranges::lower_bound(frame.actions, sleeper.action);
    if (place == frame.actions.end() || *place != sleeper.action) continue;
    const auto at = static_cast<std::size_t>(place - frame.actions.begin());
    frame.sleeping |= ActionSet{1} << at;
    frame.footprints[at] = sleeper.footprint;
  }
  return frame;
}

void Search::arrive(const std::vector<Sleeper>& sleepers) {
  result_.depth = std::max(result_.depth, way_.size());
  Frame frame = frame_of(sleepers);
  const std::uint64_t identity = pool().identity();
  const auto [known, is_new] = known_.try_emplace(identity, frame.sleeping);
  const std::size_t count = frame.actions.size();
  const ActionSet all = count == actions_max ? ~ActionSet{0} : (ActionSet{1} << count) - 1;
  if (is_new) {
    if (known_.size() % 1024 == 0 && config_.goes_on &&
        !config_.goes_on(known_.size(), way_.size()))
      result_.end = SearchResult::End::stopped;
    if (known_.size() >= config_.states_max) result_.end = SearchResult::End::states;
    frame.left = all & ~frame.sleeping;
    if (std::ranges::all_of(frame.actions, &Action::is_bounded)) {
      ++result_.ends;
      run_->bring_to_rest();
      run_is_here_ = false;
      if (run_->violated()) return found();
    }
  } else {
    ++result_.merges;
    // What slept whenever this state was met, and does not now, is to be gone through.
    frame.left = known->second & ~frame.sleeping & all;
    known->second &= frame.sleeping;
  }
  if (config_.test_merges > 0 && !test_merge(identity)) ++result_.false_merges;
  if (frame.left != 0 || way_.empty()) frames_.push_back(std::move(frame));
}

// Whether this history of a state goes on as the first one did.
bool Search::test_merge(std::uint64_t identity) {
  if (identity % config_.test_merges != 0) return true;
  const auto known = tested_.find(identity);
  std::vector<std::uint64_t> now = successors();
  if (known == tested_.end()) {
    tested_.emplace(identity, First{std::move(now), way_});
    return true;
  }
  ++result_.merges_tested;
  if (known->second.successors == now) return true;
  result_.falsely_merged = {known->second.way, way_};
  return false;
}

std::vector<std::uint64_t> Search::successors() {
  std::vector<std::uint64_t> found;
  if (!run_is_here_) start_again();
  Actions next;
  pool().actions(next);
  for (const Action& action : next) {
    start_again();
    run_->take(action);
    found.push_back(pool().identity());
  }
  run_is_here_ = false;
  return found;
}

// The way is made as short as leaving out single actions can make it.
void Search::found() {
  result_.end = SearchResult::End::violation;
  result_.violations = pool().history().violations();
  const Invariant broken = result_.violations.front().invariant;
  Replay best = replay(world_, config_.guards, way_, false);
  bool shorter = true;
  while (shorter) {
    shorter = false;
    for (std::size_t i = best.taken.size(); i-- > 0;) {
      Actions without = best.taken;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      Replay tried = replay(world_, config_.guards, without, false);
      if (tried.violations.empty() || tried.violations.front().invariant != broken) continue;
      best = std::move(tried);
      shorter = true;
      i = std::min(i, best.taken.size());
    }
  }
  result_.way = std::move(best.taken);
  result_.violations = std::move(best.violations);
}

}  // namespace

SearchResult search(const SmallWorld& world, const SearchConfig& config) {
  const ThrowingAssertions throwing;
  return Search(world, config).run();
}

Replay replay(const SmallWorld& world, const Guards& guards, const std::vector<Action>& way,
              bool tells) {
  const ThrowingAssertions throwing;
  Replay done;
  Run run(world, guards);
  if (tells) run->tell_from_now_on();
  Actions next;
  for (const Action& action : way) {
    run->actions(next);
    if (!std::ranges::binary_search(next, action)) continue;
    run.take(action);
    done.taken.push_back(action);
    if (run.violated()) break;
  }
  if (!run.violated() && run->quiet()) {
    if (tells) run->tell("(rest)", "nothing fails any more, and everything runs on");
    run.bring_to_rest();
  }
  done.violations = run->history().violations();
  done.told = run->told();
  return done;
}

}  // namespace larder::sim
