// A master that is loaded from a saved state, beside the one that it was saved from: the same
// random requests, and the same effects and state after each.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "core/base/archive.h"
#include "core/base/assert.h"
#include "core/eviction/policy.h"
#include "core/master/effects_digest.h"
#include "core/master/master.h"

namespace larder::property {
namespace {

using namespace std::chrono_literals;

enum class Do : std::uint8_t {
  start,
  end,
  revoke,
  remove,
  get,
  exists,
  look,  // list, describe, status, quiesce
  open,
  close,
  repeat,
  heartbeat,
  confirm,
  corrupt,
  disconnect,
  register_node,
  report,
  pass,
  checkpoint,
};
struct Action {
  Do what;
  unsigned a, b;
};

void showValue(const Action& action, std::ostream& out) {
  out << "{Do(" << static_cast<int>(action.what) << ")," << action.a << "," << action.b << "}";
}

[[noreturn]] void throw_assertion(const char* condition, const char* message,
                                  std::source_location at) {
  std::ostringstream text;
  text << at.file_name() << ":" << at.line() << ": " << condition << " " << message;
  throw std::runtime_error(text.str());
}

std::string saved(const Master& master) {
  std::string bytes;
  Archive archive([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  master.save(archive);
  return bytes;
}

Result<std::unique_ptr<Master>> loaded(const std::string& bytes) {
  Archive archive(std::as_bytes(std::span(bytes)));
  return Master::load(archive);
}

struct Counts {
  int checkpoints = 0;
  int granted = 0;
  int published = 0;
  int evicted = 0;
  int with_waiting_puts = 0;
  int with_quarantine = 0;
  int with_groups = 0;
};

// One master and, after the first checkpoint, the one that it was saved from.
class Twins final : AnswerSink {
 public:
  Twins(std::string policy, Counts& seen)
      : seen_(seen), effects_(*this), other_effects_(other_sink_) {
    MasterConfig config;
    config.policy = std::move(policy);
    config.quarantine_bytes_min = 1_TiB;
    config.client_bytes_min = 3_KiB;
    config.timing.lease = 1s;
    // It is in recovery at first, and waits for a node that does not come.
    const MasterState before{
        .durable = true, .recovered_epoch = {6}, .known = {{{2, 1}, "n0"}, {{2, 99}, "gone"}}};
    master_ = Master::make(now_, config, {.epoch = {7}, .instance = {7, 1}}, before).value();
    for (std::size_t n = 0; n < nodes_.size(); ++n) register_node(n, Whole::yes);
    pass(1s);
    for (std::size_t s = 0; s < sessions; ++s) open(s);
  }

  void run(const Action& action) {
    step(action);
    ticks();
    master_->check_invariants();
    if (other_ == nullptr) return;
    RC_ASSERT(other_->digest(now_) == master_->digest(now_));
    RC_ASSERT(other_->next_deadline() == master_->next_deadline());
  }

  void finish() {
    pass(2min);
    if (other_ != nullptr) RC_ASSERT(saved(*other_) == saved(*master_));
  }

 private:
  static constexpr std::size_t sessions = 3;
  static constexpr std::array<std::string_view, 6> keys{"a",  "b",  "c",
                                                        "dd", "ee", "a/long/name/of"};
  static constexpr std::array<std::string_view, 4> groups{"", "", "g", "h"};
  static constexpr std::array<std::string_view, 5> parents{"", "a", "b", "g", "zz"};

  struct Node {
    IncarnationId incarnation;
    std::uint64_t registration = 0;
    SegmentId segment;
    std::uint32_t next_part = 0;
    std::deque<ExtentName> asked;
  };
  enum class Whole : bool { no, yes };
  struct Granted {
    std::size_t session;
    std::string_view key;  // one of `keys`
    PutId put_id;
    std::size_t replicas;
  };
  struct Digesting final : AnswerSink {
    void answer(Ticket ticket, std::uint32_t index, const Answer& given) override {
      digest.add(ticket, index, given);
    }
    EffectsDigest digest;
  };

  void step(const Action& action);

  void start(const Action& action) {
    const unsigned b = action.b;
    PutStart start{.upsert = b % 3 == 0};
    for (unsigned i = 0; i <= b % 2; ++i) {
      start.items.push_back({.key = keys[(action.a + i) % keys.size()],
                             .size = {200 * (1 + b % 5)},
                             .replicas = 1 + b / 2 % 2,
                             .group = groups[b / 4 % groups.size()],
                             .parent = parents[b / 16 % parents.size()],
                             .soft_pin = b / 80 % 4 == 0 ? 3s : 0s,
                             .time_to_live = b / 320 % 4 == 0 ? 2s : 0s,
                             .hard_pin = b / 1280 % 8 == 0});
    }
    if (b % 7 == 0) start.preferred.push_back(nodes_[0].segment);
    if (b % 11 == 0) start.avoid.push_back(nodes_[1].segment);
    call(action.a / 6 % sessions, std::move(start));
  }

  void call(std::size_t session, RequestBody body) {
    Request request{.header = {.session = SessionId{1, session + 1}}, .body = std::move(body)};
    request.header.number = ++numbers_[session];
    request.header.lowest_unanswered = request.header.number > 8 ? request.header.number - 8 : 0;
    request.header.lease_returns = std::exchange(returns_, {});
    last_ = request;
    apply(request);
  }
  void open(std::size_t session) {
    call(session, OpenSession{.tenant = session == 2 ? "u" : "t", .client = "c", .host = "h0"});
  }

  void apply(const Request& request) {
    const Ticket ticket = ++tickets_;
    asked_[ticket] = {request, request.header.session.low - 1};
    both([&](Master& master, MasterEffects& effects) {
      master.apply(now_, ticket, request, effects);
    });
  }

  template <class Call>
  void both(Call call) {
    call(*master_, effects_);
    own_.add(effects_);
    for (const Command& command : effects_.commands) take(command);
    if (other_ != nullptr) {
      call(*other_, other_effects_);
      other_sink_.digest.add(other_effects_);
      RC_ASSERT(other_sink_.digest.value() == own_.value());
      other_effects_.clear();
    }
    effects_.clear();
  }

  void take(const Command& command) {
    const auto* retire = std::get_if<RetireExtents>(&command.body);
    if (retire == nullptr) return;
    for (Node& node : nodes_) {
      if (node.incarnation != command.incarnation) continue;
      for (const ExtentName& extent : retire->extents) node.asked.push_back(extent);
    }
  }

  void answer(Ticket ticket, std::uint32_t index, const Answer& given) override {
    own_.add(ticket, index, given);
    if (!given) return;
    const auto& [request, session] = asked_.at(ticket);
    if (const auto* grant = std::get_if<PutGrant>(&*given)) {
      const auto& item = std::get<PutStart>(request.body).items[index];
      granted_.push_back({session, item.key, grant->put_id, grant->replicas.size()});
      ++seen_.granted;
      seen_.with_groups += item.group.empty() ? 0 : 1;
    } else if (const auto* list = std::get_if<ReplicaList>(&*given)) {
      if (ticket % 2 == 0) {
        returns_.push_back(
            {.slot = list->lease.slot, .round = list->lease.round, .put_id = list->put_id});
      }
      found_ = ExtentName{list->put_id, list->replicas[0]};
    } else if (std::holds_alternative<PutEnd>(request.body)) {
      ++seen_.published;
    }
  }

  void register_node(std::size_t index, Whole whole) {
    Node& node = nodes_[index];
    if (node.incarnation == IncarnationId{}) {
      node = {.incarnation = {2, ++incarnations_}, .segment = {3, incarnations_}};
    }
    ++node.registration;
    node.next_part = 0;
    const std::string name = "n" + std::to_string(index);
    apply({.body = RegisterNode{.incarnation = node.incarnation,
                                .registration = node.registration,
                                .name = name,
                                .endpoint = name,
                                .host = index == 0 ? "h0" : "h1",
                                .segments = {{.id = node.segment, .name = "s", .size = 6_KiB}}}});
    report(index, whole);
  }
  void report(std::size_t index, Whole whole) {
    Node& node = nodes_[index];
    apply({.body = ReportInventory{.incarnation = node.incarnation,
                                   .registration = node.registration,
                                   .part = node.next_part++,
                                   .last = whole == Whole::yes}});
  }

  void pass(Duration duration) {
    for (const Time end = now_ + duration; now_ < end;) {
      now_ += 500ms;
      for (Node& node : nodes_) {
        apply({.body =
                   Heartbeat{.incarnation = node.incarnation, .registration = node.registration}});
      }
      ticks();
    }
  }
  void ticks() {
    for (int i = 0; i < 1000; ++i) {
      const std::optional<Time> next = master_->next_deadline();
      if (!next || *next > now_) return;
      both([&](Master& master, MasterEffects& effects) { master.tick(now_, effects); });
    }
    RC_FAIL("the work never ends");
  }

  void confirm(Node& node, unsigned b) {
    ConfirmRetirement confirm{.incarnation = node.incarnation, .registration = node.registration};
    for (unsigned i = 0; i <= b % 4 && !node.asked.empty(); ++i) {
      if (b % 9 == 0) {
        confirm.held.push_back({.extent = node.asked.front(), .at_most = 1s});
      } else {
        confirm.retired.push_back(node.asked.front());
      }
      node.asked.pop_front();
    }
    apply({.body = std::move(confirm)});
  }

  void checkpoint() {
    const StatusReport before = master_->status(now_);
    ++seen_.checkpoints;
    seen_.with_waiting_puts += before.waiting_puts > 0 ? 1 : 0;
    seen_.with_quarantine += before.quarantined > 0_B ? 1 : 0;
    seen_.evicted += before.evicted_objects > 0 ? 1 : 0;
    const std::string bytes = saved(*master_);
    auto copy = loaded(bytes);
    RC_ASSERT(copy.has_value());
    (*copy)->check_invariants();
    RC_ASSERT(saved(**copy) == bytes);
    other_ = std::exchange(master_, std::move(*copy));
    other_sink_.digest = own_;
  }

  Counts& seen_;
  Time now_{1h};
  MasterEffects effects_;
  std::unique_ptr<Master> master_;
  EffectsDigest own_;
  std::unique_ptr<Master> other_;
  Digesting other_sink_;
  MasterEffects other_effects_;
  std::array<Node, 2> nodes_;
  std::uint64_t incarnations_ = 0;
  std::array<std::uint64_t, sessions> numbers_{};
  std::uint64_t tickets_ = 0;
  std::map<Ticket, std::pair<Request, std::size_t>> asked_;
  std::deque<Granted> granted_;
  std::optional<Request> last_;
  std::optional<ExtentName> found_;
  std::vector<LeaseReturn> returns_;
};

void Twins::step(const Action& action) {
  const std::string_view key = keys[action.a % keys.size()];
  const std::size_t session = action.b % sessions;
  Node& node = nodes_[action.a % nodes_.size()];
  switch (action.what) {
    case Do::start:
      return start(action);
    case Do::end:
    case Do::revoke: {
      if (granted_.empty()) return;
      const std::size_t at = action.b % std::min<std::size_t>(granted_.size(), 4);
      const Granted put = granted_[granted_.size() - 1 - at];
      if (action.what == Do::revoke) {
        return call(put.session, PutRevoke{.items = {{.key = put.key, .put_id = put.put_id}}});
      }
      return call(put.session, PutEnd{.items = {{.key = put.key,
                                                 .put_id = put.put_id,
                                                 .sealed = (1u << put.replicas) - 1,
                                                 .checksum = action.b}}});
    }
    case Do::remove:
      return call(session, Remove{.items = {{.key = key}}, .force = action.b % 4 == 0});
    case Do::get:
      return call(session, GetReplicaList{.items = {{.key = key}, {.key = "a"}}});
    case Do::exists:
      return call(session, Exists{.items = {{.key = key}}});
    case Do::look:
      if (action.a % 4 == 0) return call(session, ListObjects{.pattern = "a"});
      if (action.a % 4 == 1) return call(session, DescribeObjects{.items = {{.key = key}}});
      if (action.a % 4 == 2) return call(session, Quiesce{});
      return call(session, GetStatus{});
    case Do::open:
      return open(session);
    case Do::close:
      return call(session, CloseSession{});
    case Do::repeat:
      if (last_) apply(*last_);
      return;
    case Do::heartbeat:
      return apply({.body = Heartbeat{.incarnation = node.incarnation,
                                      .registration = node.registration,
                                      .fill_queue = action.b % 3 * 400ms}});
    case Do::confirm:
      return confirm(node, action.b);
    case Do::corrupt:
      if (!found_) return;
      return apply(
          {.body = ReportCorrupt{.incarnation = node.incarnation,
                                 .registration = node.registration,
                                 .extents = {{.name = *found_, .tenant = "t", .key = key}}}});
    case Do::disconnect:
      return both([&](Master& master, MasterEffects&) {
        master.node_disconnected(now_, node.incarnation, node.registration);
      });
    case Do::register_node:
      if (action.b % 3 == 0) node.incarnation = {};
      return register_node(action.a % nodes_.size(), Whole(action.b / 3 % 2 == 0));
    case Do::report:
      return report(action.a % nodes_.size(), Whole(action.b % 2 == 0));
    case Do::pass:
      return pass(std::chrono::milliseconds(500 * (1 + action.b % 6)));
    case Do::checkpoint:
      return checkpoint();
  }
}

class Checkpoint : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Checkpoint, HasAllThatDecidesWhatTheMasterDoesNext) {
  Counts seen;
  setenv("RC_PARAMS", "max_success=400", 0);
  const auto before = set_assertion_handler(throw_assertion);
  const bool held = rc::check([&] {
    const auto actions =
        *rc::gen::resize(800, rc::gen::container<std::vector<Action>>(rc::gen::construct<Action>(
                                  rc::gen::weightedElement<Do>({{16, Do::start},
                                                                {14, Do::end},
                                                                {2, Do::revoke},
                                                                {3, Do::remove},
                                                                {8, Do::get},
                                                                {2, Do::exists},
                                                                {2, Do::look},
                                                                {1, Do::open},
                                                                {1, Do::close},
                                                                {2, Do::repeat},
                                                                {1, Do::heartbeat},
                                                                {6, Do::confirm},
                                                                {1, Do::corrupt},
                                                                {1, Do::disconnect},
                                                                {1, Do::register_node},
                                                                {1, Do::report},
                                                                {4, Do::pass},
                                                                {3, Do::checkpoint}}),
                                  rc::gen::inRange(0u, 10000u), rc::gen::inRange(0u, 100000u))));
    Twins twins(std::string(GetParam()), seen);
    for (const Action& action : actions) twins.run(action);
    twins.finish();
  });
  set_assertion_handler(before);
  EXPECT_TRUE(held);
  EXPECT_GT(seen.checkpoints, 300);
  EXPECT_GT(seen.published, 1000);
  EXPECT_GT(seen.with_groups, 300);
  EXPECT_GT(seen.with_waiting_puts, 30);
  EXPECT_GT(seen.with_quarantine, 100);
  EXPECT_GT(seen.evicted, 100);
}

INSTANTIATE_TEST_SUITE_P(Policies, Checkpoint, ::testing::ValuesIn(policy_names()),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::erase(name, '-');
                           return name;
                         });

// A file that was cut or altered is refused or loads; it never brings the reader down.
TEST(CheckpointOfNoMaster, IsRefusedAtEveryLength) {
  const auto master = Master::make(Time{1h}, {}, {.epoch = {7}, .instance = {7, 1}}, {}).value();
  const std::string bytes = saved(*master);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto result = loaded(bytes.substr(0, length));
    ASSERT_FALSE(result.has_value()) << length;
  }
  EXPECT_TRUE(loaded(bytes).has_value());
  EXPECT_FALSE(loaded(bytes + "x").has_value());
}

}  // namespace
}  // namespace larder::property
