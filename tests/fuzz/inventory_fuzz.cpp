#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/assert.h"
#include "core/master/master.h"
#include "proto/codec.h"

// A master that is told things by two nodes that keep no rule: parts of reports in any order, of
// extents that overlap, lie outside, are named twice or belong to the other node, between
// registrations, confirmations, broken connections and calls of a client. Every request goes
// through the codec, as from a socket. Whatever the master accepts, its invariants hold after it.

namespace larder {
namespace {

using std::chrono::milliseconds;

constexpr Epoch own_epoch{101};
constexpr Bytes segment_size{8192};
constexpr std::array<std::string_view, 4> keys{"a", "b", "c", ""};
constexpr std::array<std::string_view, 3> groups{"", "g", "a"};

class Play final : public AnswerSink {
 public:
  explicit Play(FuzzedDataProvider& input) : input_(input), effects_(*this) {
    MasterConfig config;
    config.quarantine_bytes_min = Bytes{1} * (1 << 20);
    MasterState before;
    before.durable = input_.ConsumeBool();
    if (before.durable) {
      before.recovered_epoch = {100};
      before.known = {{incarnation(0), "n0"}, {incarnation(1), "n1"}};
    }
    auto made = Master::make(now_, config, {.epoch = own_epoch, .instance = {1, 1}}, before);
    LARDER_ASSERT(made.has_value());
    master_ = std::move(*made);
    send({.header = {.session = session, .number = ++calls_},
          .body = OpenSession{.tenant = "t", .client = "fuzz"}});
  }

  // False: this master serves no more.
  bool step() {
    switch (input_.ConsumeIntegralInRange(0, 9)) {
      case 0:
        register_node();
        break;
      case 1:
      case 2:
      case 3:
        report();
        break;
      case 4:
        confirm();
        break;
      case 5:
        pass_time();
        break;
      case 6:
        disturb();
        break;
      case 7:
        client_call();
        break;
      case 8:
        finish_put();
        break;
      default:
        take_any_bytes();
        break;
    }
    master_->check_invariants();
    return !master_->superseded();
  }

  void answer(Ticket, std::uint32_t, const Answer& answer) override {
    if (!answer) return;
    const auto* grant = std::get_if<PutGrant>(&*answer);
    if (grant != nullptr) grants_.push_back(grant->put_id);
  }

 private:
  static constexpr SessionId session{3, 3};

  struct FakeNode {
    std::uint64_t registration = 0;
    std::uint32_t part = 0;
    std::uint64_t life = 0;
    std::deque<ExtentName> asked;
  };

  IncarnationId incarnation(std::size_t node) const { return {node + 1, nodes_[node].life + 1}; }
  SegmentId segment(std::size_t node) const { return {node + 1, nodes_[node].life + 1000}; }

  void send(const Request& request) {
    std::string frame;
    encode(request, frame);
    take(std::as_bytes(std::span(frame)));
  }

  void take(FrameBytes bytes) {
    const auto decoded = decode_request(bytes);
    if (!decoded || answer_count(decoded->request.body) == 0) return;
    master_->apply(now_, ++tickets_, decoded->request, effects_);
    for (const Command& command : effects_.commands) {
      const auto* retire = std::get_if<RetireExtents>(&command.body);
      const std::size_t node = command.incarnation.high - 1;
      if (retire == nullptr || node >= nodes_.size()) continue;
      nodes_[node].asked.insert(nodes_[node].asked.end(), retire->extents.begin(),
                                retire->extents.end());
    }
    effects_.clear();
  }

  std::size_t any_node() { return input_.ConsumeIntegralInRange<std::size_t>(0, 1); }

  void register_node() {
    const std::size_t n = any_node();
    FakeNode& node = nodes_[n];
    if (input_.ConsumeIntegralInRange(0, 7) == 0) node = {.life = node.life + 1};
    node.registration += input_.ConsumeIntegralInRange<std::uint64_t>(0, 2);
    node.part = 0;
    const std::string name = "n" + std::to_string(n);
    send({.body =
              RegisterNode{.incarnation = incarnation(n),
                           .registration = node.registration,
                           .taken_epoch = {input_.ConsumeIntegralInRange<std::uint64_t>(98, 102)},
                           .name = name,
                           .endpoint = name + ":1",
                           .host = name,
                           .segments = {{.id = segment(n), .name = name, .size = segment_size}}}});
  }

  ReportInventory::Item item() {
    const std::uint64_t offset = input_.ConsumeIntegralInRange<std::uint64_t>(0, 140) * 64;
    ReportInventory::Item item;
    item.extent = {.put_id = put_id(),
                   .location = {segment(any_node()), Bytes{input_.ConsumeBool() ? offset : 0}}};
    item.retiring = input_.ConsumeIntegralInRange(0, 3) == 0;
    item.record = {.tenant = "t",
                   .key = input_.PickValueInArray(keys),
                   .group = input_.PickValueInArray(groups),
                   .parent = input_.PickValueInArray(groups),
                   .size = Bytes{input_.ConsumeIntegralInRange<std::uint64_t>(0, 3000)},
                   .soft_pin = milliseconds(input_.ConsumeIntegralInRange(0, 3) * 1000),
                   .time_to_live = milliseconds(input_.ConsumeIntegralInRange(0, 3) * 1000),
                   .hard_pin = input_.ConsumeBool()};
    if (input_.ConsumeBool()) item.checksum = 7;
    item.age = milliseconds(input_.ConsumeIntegral<std::uint16_t>());
    return item;
  }

  // Of an older epoch mostly; of this master's own, which it granted or not; or of a later one.
  PutId put_id() {
    if (!grants_.empty() && input_.ConsumeBool()) return input_.PickValueInArray(last_grants());
    return {{input_.ConsumeIntegralInRange<std::uint64_t>(99, 102)},
            input_.ConsumeIntegralInRange<std::uint64_t>(0, 5)};
  }
  std::array<PutId, 2> last_grants() const { return {grants_.front(), grants_.back()}; }

  void report() {
    const std::size_t n = any_node();
    FakeNode& node = nodes_[n];
    ReportInventory part{.incarnation = incarnation(n), .registration = node.registration};
    part.part = input_.ConsumeIntegralInRange(0, 7) == 0
                    ? input_.ConsumeIntegralInRange<std::uint32_t>(0, 3)
                    : node.part++;
    part.last = input_.ConsumeBool();
    const int items = input_.ConsumeIntegralInRange(0, 6);
    for (int i = 0; i < items; ++i) part.items.push_back(item());
    send({.body = std::move(part)});
  }

  // What it was asked for, or something else.
  void confirm() {
    const std::size_t n = any_node();
    FakeNode& node = nodes_[n];
    ConfirmRetirement body{.incarnation = incarnation(n), .registration = node.registration};
    if (input_.ConsumeIntegralInRange(0, 3) == 0) {
      const ExtentName any = item().extent;
      if (input_.ConsumeBool()) body.retired.push_back(any);
      body.held.push_back({any, milliseconds(500)});
    } else {
      body.retired.assign(node.asked.begin(), node.asked.end());
      node.asked.clear();
    }
    send({.body = std::move(body)});
  }

  void pass_time() {
    now_ += milliseconds(input_.ConsumeIntegralInRange(0, 12'000));
    for (int i = 0; i < 50 && master_->next_deadline().value_or(time_never) <= now_; ++i) {
      master_->tick(now_, effects_);
      effects_.clear();
    }
    if (input_.ConsumeBool()) send({.header = {.session = session}, .body = KeepAlive{}});
  }

  void disturb() {
    const std::size_t n = any_node();
    const std::uint64_t registration = nodes_[n].registration;
    switch (input_.ConsumeIntegralInRange(0, 4)) {
      case 0:
        return send({.body = UnregisterNode{incarnation(n), registration}});
      case 1:
        return master_->node_disconnected(now_, incarnation(n), registration);
      case 2: {
        ReportCorrupt body{.incarnation = incarnation(n), .registration = registration};
        const ReportInventory::Item bad = item();
        body.extents.push_back({bad.extent, bad.record.tenant, bad.record.key});
        return send({.body = std::move(body)});
      }
      default:
        return send(
            {.body = Heartbeat{.incarnation = incarnation(n), .registration = registration}});
    }
  }

  void client_call() {
    const RequestHeader header{.session = session, .number = ++calls_};
    const std::string_view key = input_.PickValueInArray(keys);
    switch (input_.ConsumeIntegralInRange(0, 3)) {
      case 0:
        return send({header, GetReplicaList{.items = {{key}}}});
      case 1:
        return send({header, Remove{.items = {{key}}, .force = input_.ConsumeBool()}});
      case 2:
        return send({header, DescribeObjects{.items = {{key}}}});
      default: {
        PutStart start{.upsert = input_.ConsumeBool()};
        start.items = {{.key = key,
                        .size = Bytes{input_.ConsumeIntegralInRange<std::uint64_t>(1, 3000)},
                        .replicas = input_.ConsumeIntegralInRange<std::uint32_t>(1, 2),
                        .group = input_.PickValueInArray(groups)}};
        return send({header, std::move(start)});
      }
    }
  }

  void finish_put() {
    if (grants_.empty()) return;
    const RequestHeader header{.session = session, .number = ++calls_};
    const std::string_view key = input_.PickValueInArray(keys);
    const PutId id = put_id();
    if (input_.ConsumeBool()) return send({header, PutRevoke{.items = {{key, id}}}});
    send({header,
          PutEnd{.items = {{.key = key,
                            .put_id = id,
                            .sealed = input_.ConsumeIntegralInRange<std::uint32_t>(0, 3)}}}});
  }

  void take_any_bytes() {
    const std::string bytes = input_.ConsumeRandomLengthString(256);
    take(std::as_bytes(std::span(bytes)));
  }

  FuzzedDataProvider& input_;
  MasterEffects effects_;
  Time now_{};
  std::array<FakeNode, 2> nodes_;
  std::unique_ptr<Master> master_;
  std::vector<PutId> grants_;
  Ticket tickets_ = 0;
  std::uint64_t calls_ = 0;
};

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  larder::Play play(input);
  for (int steps = 0; steps < 60 && input.remaining_bytes() > 0; ++steps) {
    if (!play.step()) break;
  }
  return 0;
}
