#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/assert.h"
#include "core/master/master.h"

namespace larder::scale {

// Object number i of a large pool has this key: 64 bytes.
constexpr std::size_t key_bytes = 64;
inline void write_key(std::uint64_t number, char* out) {
  for (std::size_t i = key_bytes; i-- > 0; number /= 10) {
    out[i] = number == 0 ? 'k' : static_cast<char>('0' + number % 10);
  }
}

// Keys of a list of objects, one behind the other in memory, as a decoder leaves them.
class Keys {
 public:
  void clear() { texts_.clear(); }
  void add(std::uint64_t number) {
    texts_.resize(texts_.size() + key_bytes);
    write_key(number, texts_.data() + texts_.size() - key_bytes);
  }
  std::size_t size() const { return texts_.size() / key_bytes; }
  std::string_view operator[](std::size_t i) const {
    return std::string_view(texts_).substr(i * key_bytes, key_bytes);
  }

 private:
  std::string texts_;
};

// A master with eight nodes that have reported very many small objects, the i-th of them on node
// i % 8. The nodes are played: they confirm what they are told to retire. `now` stands still unless
// it is moved. What is asked must be granted.
class LargePool final : public AnswerSink {
 public:
  static constexpr std::uint64_t nodes = 8;
  static constexpr SessionId session{1, 1};
  static constexpr Bytes extent = 4096_B;
  static constexpr Bytes value = 4000_B;
  static constexpr std::size_t part_items = items_per_piece;  // of a node's report

  // `filled`: the share of the memory that the objects take.
  struct Shape {
    std::uint64_t objects = 0;
    double filled = 0.5;
    Watermarks watermarks{1, 1};
  };
  explicit LargePool(const Shape& shape) : shape_(shape) {
    MasterConfig config;
    config.watermarks = shape.watermarks;
    config.quarantine_share_max = 1;
    master_ =
        std::move(Master::make(now, config, {.epoch = {100}, .instance = {1, 1}}, {})).value();
    call(OpenSession{.tenant = "t"});
  }

  void join_all() {
    for (std::uint64_t node = 0; node < nodes; ++node) {
      join(node);
      for (std::uint64_t part = 0; !report(node, part); ++part) {
      }
    }
  }
  void join(std::uint64_t node) {
    const std::string name = "n" + std::to_string(node);
    const auto of_each =
        static_cast<std::uint64_t>(static_cast<double>(of_node(node)) / shape_.filled) + 1;
    send(
        {.body = RegisterNode{
             .incarnation = incarnation(node),
             .registration = 1,
             .name = name,
             .endpoint = name,
             .host = name,
             .segments = {{.id = segment(node), .name = name, .size = {of_each * extent.value}}}}});
  }
  // The next objects of the node; whether these were the last.
  bool report(std::uint64_t node, std::uint64_t part) {
    ReportInventory report{.incarnation = incarnation(node),
                           .registration = 1,
                           .part = static_cast<std::uint32_t>(part)};
    const std::uint64_t end = std::min(of_node(node), (part + 1) * part_items);
    keys_.clear();
    for (std::uint64_t i = part * part_items; i < end; ++i) keys_.add(i * nodes + node);
    report.items.resize(keys_.size());
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const std::uint64_t place = part * part_items + i;
      report.items[i] = {.extent = {.put_id = {{1}, place * nodes + node + 1},
                                    .location = {segment(node), {place * extent.value}}},
                         .record = {.tenant = "t", .key = keys_[i], .size = value},
                         .checksum = place};
    }
    report.last = end == of_node(node);
    send({.body = report});
    return report.last;
  }

  // ---- what others ask -------------------------------------------------------------------------
  // How many of these keys the master knows a replica of.
  std::size_t look_up(const Keys& keys) {
    GetReplicaList list;
    for (std::size_t i = 0; i < keys.size(); ++i) list.items.push_back({keys[i]});
    return ask(std::move(list));
  }
  // The same with one call of any length, in pieces; `between` is called after each.
  template <class Between>
  std::size_t exist(const Keys& keys, Between between) {
    Exists exists;
    for (std::size_t i = 0; i < keys.size(); ++i) exists.items.push_back({keys[i]});
    const Request request{.header = {.session = session}, .body = std::move(exists)};
    const Ticket ticket = ++ticket_;
    std::size_t found = 0;
    for (std::size_t first = 0; first < keys.size(); first += items_per_piece) {
      found_ = 0;
      master_->apply(now, ticket, request, effects_, {first, first + items_per_piece});
      found += found_;
      between();
    }
    return found;
  }
  // Whether it was answered at once.
  bool heartbeat(std::uint64_t node) {
    const std::size_t before = answers_;
    send({.body = Heartbeat{.incarnation = incarnation(node), .registration = 1}});
    return answers_ == before + 1;
  }
  void lose(std::uint64_t node) {
    send({.body = UnregisterNode{.incarnation = incarnation(node), .registration = 1}});
  }

  // Time goes by, in which everybody says that they are there and nothing else is done.
  void pass(Duration duration) {
    const Time end = now + duration;
    while (now < end) {
      now = std::min<Time>(end, now + std::chrono::seconds(1));
      for (std::uint64_t node = 0; node < nodes; ++node) heartbeat(node);
      call(KeepAlive{});
    }
  }

  // ---- what its driver does --------------------------------------------------------------------
  bool due() const {
    const std::optional<Time> next = master_->next_deadline();
    return next && *next <= now;
  }
  // As a driver: what is due, once, and what the nodes answer.
  void turn() {
    if (due()) master_->tick(now, effects_);
    confirm();
  }
  StatusReport status() const { return master_->status(now); }
  const Master& master() const { return *master_; }
  const Shape& shape() const { return shape_; }

  Time now{std::chrono::hours(1)};

 private:
  static IncarnationId incarnation(std::uint64_t node) { return {2, node + 1}; }
  static SegmentId segment(std::uint64_t node) { return {3, node + 1}; }
  std::uint64_t of_node(std::uint64_t node) const {
    return (shape_.objects + nodes - 1 - node) / nodes;
  }
  void send(const Request& request) { master_->apply(now, ++ticket_, request, effects_); }
  void call(RequestBody body) { send({.header = {.session = session}, .body = std::move(body)}); }
  std::size_t ask(RequestBody body) {
    found_ = 0;
    call(std::move(body));
    return found_;
  }
  void confirm() {
    for (Command& command : std::exchange(effects_.commands, {})) {
      auto* retire = std::get_if<RetireExtents>(&command.body);
      if (retire == nullptr) continue;
      send({.body = ConfirmRetirement{.incarnation = command.incarnation,
                                      .registration = 1,
                                      .retired = std::move(retire->extents)}});
    }
    effects_.clear();
  }
  void answer(Ticket, std::uint32_t, const Answer& given) override {
    ++answers_;
    if (!given) {
      LARDER_ASSERT(given.error().code() == ErrorCode::object_not_found, "it is granted");
    } else if (const auto* existence = std::get_if<Existence>(&*given)) {
      found_ += existence->exists;
    } else {
      found_ += std::holds_alternative<ReplicaList>(*given);
    }
  }

  Shape shape_;
  MasterEffects effects_{*this};
  std::unique_ptr<Master> master_;
  Keys keys_;
  Ticket ticket_ = 0;
  std::size_t answers_ = 0;
  std::size_t found_ = 0;
};

}  // namespace larder::scale
