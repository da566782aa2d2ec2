#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/master/master.h"
#include "core/node/node.h"
#include "core/protocol/owned_request.h"
#include "tests/property/reference.h"

namespace larder::property {

enum class Kind : std::uint8_t {
  deliver,
  deliver_late,  // any message, not the oldest
  drop,
  duplicate,
  calm,   // everything is delivered, in order
  store,  // a put from start to end, with all messages delivered
  start,
  fill,
  end,
  revoke,
  remove,
  get,
  pass,
  connect,
  disconnect,
  restart_node,
  restart_master,
};
struct Op {
  Kind kind;
  unsigned a, b;
};

// How often what a property is about came about, so that a test that sees nothing fails.
struct Seen {
  int listed = 0;
  int removed = 0;
  int upserts = 0;
  int restored = 0;  // answers that name a put of an older epoch
  int evicted = 0;
  int lost_nodes = 0;
};

// Masters, one after the other, and nodes, joined by messages that come in any order, late, twice
// or never; and clients that put, get and remove. One clock for all.
class World final : AnswerSink {
 public:
  explicit World(Seen& seen);
  void run(const Op& op);
  // No more faults: after a minute everything is free or COMPLETE.
  void finish();

 private:
  using SharedRequest = std::shared_ptr<const OwnedRequest>;
  struct NodeAddress {
    std::size_t node = 0;
    IncarnationId incarnation;  // what comes for another one is dropped
  };
  struct ToMaster {
    SharedRequest request;
    std::optional<NodeAddress> from;  // none: a client
    std::uint64_t ticket = 0;         // of the node
    Epoch to;                         // a node's connection ends with its master
  };
  struct ToNode {
    Command command;
  };
  struct Reply {
    NodeAddress to;
    std::uint64_t ticket = 0;
    Answer answer = Done{};
  };
  struct FillPart {
    NodeAddress to;
    FillItem item;
  };
  struct FillEnd {  // the bytes are there, or the connection is dead
    NodeAddress to;
    FillId id;
    ExtentName extent;
  };
  struct ReadEnd {
    NodeAddress to;
    ReadId id;
  };
  using Message = std::variant<ToMaster, ToNode, Reply, FillPart, FillEnd, ReadEnd>;

  struct Memory final : SegmentMemory {
    void write_footer(ReplicaLocation, const FooterBytes&) override {}
  };
  struct NodeProcess {
    IncarnationId incarnation;
    SegmentId segment;
    std::unique_ptr<Node> node;
    bool connected = false;
    std::set<ExtentName> reporting;
  };
  struct ClientPut {
    PutId put_id;
    std::string_view key;
    Bytes size;
    ReplicaLocations replicas;
    std::uint32_t sealed = 0;  // as the nodes have answered
  };
  struct Asked {
    SharedRequest request;
    std::optional<NodeAddress> from;
    std::uint64_t ticket = 0;
    std::size_t answers = 0;
    bool excused = false;  // from its answers: repeated since, or its session was lost
  };

  void make_master();
  void make_node(std::size_t index);
  void connect(std::size_t index);
  void disconnect(std::size_t index);
  void step(const Op& op);
  void store(const Op& op);
  void drop(std::size_t index);
  void call(RequestBody body);
  void open_session();
  ClientPut* recent_put(unsigned a);

  void deliver(std::size_t index);
  void take(const ToMaster& message);
  void take(const ToNode& message);
  void take(const Reply& message);
  void take(const FillPart& message);
  void take(const FillEnd& message);
  void take(const ReadEnd& message);
  void apply(const ToMaster& message);
  void deliver_all();
  void do_due();
  void answer(Ticket ticket, std::uint32_t index, const Answer& given) override;
  void answered_client(const Request& request, std::uint32_t index, const Answer& given);
  void read(const ReplicaList& list);
  void carry_out();  // what the master wants
  void carry_out(std::size_t node, NodeEffects& effects);
  NodeProcess* process(const NodeAddress& address);
  void check() const;
  void check_answered() const;

  Seen& seen_;
  Reference reference_;
  Time now_{std::chrono::hours(1)};
  MasterConfig config_;
  MasterState disk_;
  std::uint64_t epoch_ = 99;
  MasterEffects effects_;
  std::unique_ptr<Master> master_;
  Memory memory_;
  std::array<NodeProcess, 2> nodes_;
  std::uint64_t incarnations_ = 0;
  std::map<IncarnationId, SegmentId> segments_;
  std::vector<Message> messages_;
  std::vector<ClientPut> puts_;
  std::uint64_t tickets_ = 0;
  std::uint64_t calls_ = 0;
  std::map<Ticket, Asked> asked_;
  // What a removal ends: (epoch, number of the call, index) -> the puts when it was first asked.
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>, std::set<PutId>> removals_;
  const ReportInventory* taking_ = nullptr;  // by a master in recovery
  bool reads_ = false;                       // the next list is read from its node
};

}  // namespace larder::property
