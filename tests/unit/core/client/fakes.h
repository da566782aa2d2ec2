#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/client/waiting.h"
#include "core/ports/master_link.h"
#include "core/ports/transport.h"
#include "core/protocol/footer.h"
#include "core/protocol/owned_request.h"

// The four ports, small and scripted, for tests of the client alone: a virtual clock with timers, a
// master that answers as most do unless it is told what to say, and nodes that keep what they are
// given unless they are told to fail.

namespace larder::fakes {

using std::chrono::milliseconds;
using std::chrono::seconds;

class World final : public Clock, public Timers {
 public:
  Time now() const override { return now_; }
  void arm(Time deadline, Completion& completion) override {
    armed_.push_back({.at = std::max(deadline, now_), .order = next_++, .completion = &completion});
  }
  void disarm(Completion& completion) noexcept override {
    std::erase_if(armed_, [&](const Armed& armed) { return armed.completion == &completion; });
  }
  void pass(Duration duration) { now_ += duration; }
  // Lets time pass to the next event and runs it. False: there is none.
  bool step() {
    const auto first = std::ranges::min_element(
        armed_, {}, [](const Armed& armed) { return std::pair(armed.at, armed.order); });
    if (first == armed_.end()) return false;
    Completion& completion = *first->completion;
    now_ = std::max(now_, first->at);
    armed_.erase(first);
    completion.complete({});
    return true;
  }
  std::size_t armed() const { return armed_.size(); }

 private:
  struct Armed {
    Time at;
    std::uint64_t order = 0;
    Completion* completion = nullptr;
  };
  Time now_{seconds(1000)};
  std::uint64_t next_ = 0;
  std::vector<Armed> armed_;
};

inline SegmentDescription segment(std::uint64_t number) {
  return {.id = {7, number},
          .incarnation = {8, number},
          .name = "segment-" + std::to_string(number),
          .size = 1_GiB,
          .node = "node-" + std::to_string(number),
          .endpoint = "node-" + std::to_string(number) + ":7701",
          .host = "host-" + std::to_string(number)};
}

class Master final : public MasterLink {
 public:
  // What to say instead of the usual, to the next request of a kind. Nothing: silence.
  using Say = std::function<std::optional<Result<Reply>>(const Request&)>;

  explicit Master(World& world) : world_(world) {}

  Task<Result<Reply>> call(const Request& request, Time deadline) override {
    asked.emplace_back(request);
    std::optional<Result<Reply>> reply;
    auto& say = says[std::string(request_name(request.body))];
    if (say.empty()) {
      reply = usual(request);
    } else {
      reply = say.front()(request);
      say.pop_front();
    }
    const Time at = reply ? world_.now() + latency : time_never;
    co_await Sleep(world_, std::min(at, deadline));
    if (at > deadline) {
      co_return failed(ErrorCode::rpc_timeout, "the master did not answer in time");
    }
    co_return *std::move(reply);
  }

  void say(std::string_view kind, Say what) { says[std::string(kind)].push_back(std::move(what)); }
  // The same error to each item of the next request of a kind.
  void refuse(std::string_view kind, ErrorCode code) {
    say(kind, [this, code](const Request& request) {
      return Reply{epoch, std::vector<Answer>(answer_count(request.body), failed(code))};
    });
  }
  // Requests of a kind so far.
  std::vector<const Request*> requests(std::string_view kind) const {
    std::vector<const Request*> found;
    for (const OwnedRequest& request : asked) {
      if (request_name(request.get().body) == kind) found.push_back(&request.get());
    }
    return found;
  }
  std::size_t count(std::string_view kind) const { return requests(kind).size(); }
  template <class Body>
  const Body& last() const {
    for (auto it = asked.rbegin(); it != asked.rend(); ++it) {
      if (const Body* body = std::get_if<Body>(&it->get().body)) return *body;
    }
    throw std::out_of_range("no such request");
  }

  Reply usual(const Request& request) {
    Reply reply{.epoch = epoch};
    std::visit([&](const auto& body) { answer(body, reply.answers); }, request.body);
    return reply;
  }

  Epoch epoch{5};
  Duration latency = milliseconds(1);
  Duration lease = seconds(10);
  Duration time_allowed = seconds(10);
  std::vector<std::uint64_t> places{1};  // where objects lie and are put: numbers of segments
  struct Object {
    PutId put_id;
    Bytes size;
    std::optional<std::uint64_t> checksum;
    std::vector<ReplicaLocation> replicas;
  };
  std::map<std::string, Object, std::less<>> objects;
  std::map<std::string, std::deque<Say>> says;
  std::deque<OwnedRequest> asked;
  std::uint64_t next_put = 1;

 private:
  void answer(const OpenSession&, std::vector<Answer>& answers) {
    answers.push_back(SessionOpened{
        .epoch = epoch, .lease = lease, .keep_alive = seconds(1), .object_bytes_max = 1_GiB});
  }
  void answer(const PutStart& body, std::vector<Answer>& answers) {
    for (const auto& item : body.items) {
      if (objects.contains(item.key) && !body.upsert) {
        answers.push_back(failed(ErrorCode::object_already_exists));
        continue;
      }
      PutGrant grant{.put_id = {epoch, next_put++}, .time_allowed = time_allowed};
      for (const std::uint64_t place : places) {
        const SegmentId id = segment(place).id;
        if (std::ranges::find(body.avoid, id) != body.avoid.end()) continue;
        if (grant.replicas.size() == item.replicas) break;
        grant.replicas.push_back({id, 1_MiB * next_put});
      }
      if (grant.replicas.empty()) {
        answers.push_back(failed(ErrorCode::no_available_handle));
        continue;
      }
      answers.push_back(grant);
      started[grant.put_id] = {.put_id = grant.put_id,
                               .size = item.size,
                               .replicas = {grant.replicas.begin(), grant.replicas.end()}};
    }
  }
  void answer(const PutEnd& body, std::vector<Answer>& answers) {
    for (const auto& item : body.items) {
      Object object = started.at(item.put_id);
      object.checksum = item.checksum;
      object.replicas.clear();
      for (std::size_t i = 0; i < started.at(item.put_id).replicas.size(); ++i) {
        if (item.sealed >> i & 1) object.replicas.push_back(started.at(item.put_id).replicas[i]);
      }
      objects.insert_or_assign(std::string(item.key), object);
      answers.push_back(Done{});
    }
  }
  void answer(const GetReplicaList& body, std::vector<Answer>& answers) {
    for (const auto& item : body.items) {
      const auto found = objects.find(item.key);
      if (found == objects.end()) {
        answers.push_back(failed(ErrorCode::object_not_found));
        continue;
      }
      const Object& object = found->second;
      answers.push_back(ReplicaList{
          .put_id = object.put_id,
          .size = object.size,
          .checksum = object.checksum,
          .lease = {.slot = 3, .round = next_round++, .duration = lease},
          .replicas = ReplicaLocations(object.replicas.begin(), object.replicas.end())});
    }
  }
  void answer(const Exists& body, std::vector<Answer>& answers) {
    for (const auto& item : body.items) {
      answers.push_back(Existence{.exists = objects.contains(item.key), .lease = seconds(1)});
    }
  }
  void answer(const Remove& body, std::vector<Answer>& answers) {
    for (const auto& item : body.items) {
      const auto found = objects.find(item.key);
      if (found == objects.end()) {
        answers.push_back(failed(ErrorCode::object_not_found));
      } else {
        objects.erase(found);
        answers.push_back(Done{});
      }
    }
  }
  void answer(const DescribeSegments& body, std::vector<Answer>& answers) {
    for (const SegmentId id : body.items) answers.push_back(segment(id.low));
  }
  void answer(const GetStatus&, std::vector<Answer>& answers) {
    answers.push_back(StatusReport{.epoch = epoch, .objects = objects.size()});
  }
  void answer(const Quiesce&, std::vector<Answer>& answers) { answers.push_back(QuiesceReport{}); }
  template <class Body>
  void answer(const Body& body, std::vector<Answer>& answers) {
    answers.assign(answer_count(body), Done{});
  }

  World& world_;
  std::map<PutId, Object> started;
  std::uint32_t next_round = 1;
};

class Nodes final : public Transport {
 public:
  struct Node {
    Duration delay = milliseconds(1);
    bool dead = false;                // silent until the deadline of a transfer
    std::optional<ErrorCode> refuse;  // to each item
    std::size_t transfers = 0;        // that it was asked for
  };
  struct Stored {
    PutId put_id;
    std::string bytes;
    FooterBytes footer{};
  };

  explicit Nodes(World& world) : world_(world) {}
  ~Nodes() {
    for (auto& flight : flights_) world_.disarm(*flight);
  }

  TransportTraits traits() const override { return traits_; }
  TransportTraits& traits_to_set() { return traits_; }
  Node& node(std::uint64_t number) { return nodes_[segment(number).endpoint]; }
  Stored& stored(ReplicaLocation location) { return stored_.at(location); }

  void submit(Transfer transfer, Time deadline, Completion& completion) override {
    const SegmentDescription* to = std::holds_alternative<Fill>(transfer)
                                       ? std::get<Fill>(transfer).segment
                                       : std::get<Read>(transfer).ranges.front().segment;
    Node& node = nodes_[to->endpoint];
    ++node.transfers;
    const Time at = node.dead ? deadline : std::min(world_.now() + node.delay, deadline);
    flights_.push_back(
        std::make_unique<Flight>(*this, std::move(transfer), at == deadline, node, completion));
    world_.arm(at, *flights_.back());
    last_deadline = deadline;
  }
  void abandon(Completion& completion, std::shared_ptr<void>) noexcept override {
    for (auto& flight : flights_) {
      if (flight->completion != &completion) continue;
      world_.disarm(*flight);
      ++abandoned;
    }
    std::erase_if(flights_, [&](auto& flight) { return flight->completion == &completion; });
  }

  std::size_t in_flight() const { return flights_.size(); }
  std::size_t abandoned = 0;
  std::size_t ranges = 0;  // of all transfers
  Time last_deadline;

 private:
  struct Flight final : Completion {
    Flight(Nodes& the_nodes, Transfer the_transfer, bool is_late, Node& the_node,
           Completion& the_completion)
        : nodes(the_nodes),
          transfer(std::move(the_transfer)),
          late(is_late),
          node(the_node),
          completion(&the_completion) {}
    void complete(Status) override { nodes.finish(*this); }
    Nodes& nodes;
    Transfer transfer;
    bool late;
    Node& node;
    Completion* completion;
  };

  void finish(Flight& flight) {
    Status whole;
    if (flight.late) whole = failed(ErrorCode::transfer_fail, "no answer in time");
    std::visit(
        [&](auto& transfer) {
          for (auto& range : transfer.ranges) {
            ++ranges;
            if (!whole) {
              *range.result = whole;
            } else if (flight.node.refuse) {
              *range.result = failed(*flight.node.refuse);
            } else {
              *range.result = move(range);
            }
          }
        },
        flight.transfer);
    Completion& completion = *flight.completion;
    std::erase_if(flights_, [&](auto& other) { return other.get() == &flight; });
    completion.complete(std::move(whole));
  }
  Status move(FillRange& range) {
    const bool ends = range.item.part_offset + range.item.part_length == range.item.record.size;
    if (range.item.last_part != ends || (range.item.checksum && !ends)) {
      return failed(ErrorCode::fill_refused, "only the last part ends a fill");
    }
    Stored& stored = stored_[range.item.location];
    if (range.item.part_offset == 0_B) stored = {.put_id = range.item.put_id};
    if (stored.bytes.size() != range.item.part_offset.value) {
      return failed(ErrorCode::fill_refused, "a gap");
    }
    for (const ConstSlice slice : range.from) {
      stored.bytes.append(reinterpret_cast<const char*>(slice.data()), slice.size());
    }
    if (range.item.last_part) {
      stored.footer = encode({.name = fingerprint(range.item.record.tenant, range.item.record.key),
                              .put_id = stored.put_id,
                              .length = {stored.bytes.size()},
                              .checksum = range.item.checksum});
    }
    return {};
  }
  Status move(ReadRange& range) {
    const auto found = stored_.find({range.segment->id, range.extent_offset});
    if (found == stored_.end()) return failed(ErrorCode::replica_is_gone);
    if (!traits_.one_sided && found->second.put_id != range.put_id) {
      return failed(ErrorCode::replica_is_gone);
    }
    const char* from = found->second.bytes.data() + range.offset.value;
    for (const Slice slice : range.into) {
      std::memcpy(slice.data(), from, slice.size());
      from += slice.size();
    }
    if (range.footer) *range.footer = found->second.footer;
    return {};
  }

  World& world_;
  TransportTraits traits_{.name = "fake"};
  std::map<std::string, Node> nodes_;
  std::map<ReplicaLocation, Stored> stored_;
  std::vector<std::unique_ptr<Flight>> flights_;
};

}  // namespace larder::fakes
