#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/protocol/limits.h"
#include "sim/cluster/observer.h"
#include "sim/fabric/network.h"
#include "sim/faults/fault.h"
#include "sim/kernel/host_clock.h"

// All that happens in one simulated pool, as a value: its shape, the faults of its links, and what
// clients do and what goes wrong, each at an instant. People read and write it (scenario_text.h),
// seeds draw it (draw.h), it runs (run.h), and it can be made smaller (shrink.h).

namespace larder::sim {

enum class Operation : std::uint8_t { put, upsert, get, exists, remove };

// One operation. Of the items, each kind uses what it needs.
struct OperationStep {
  std::uint32_t client = 0;
  Operation operation = Operation::put;
  struct Item {
    std::string key;
    Bytes size;  // put: of the value; get: of the buffer, zero: room for any value
    std::optional<Bytes> range_offset;  // get
    std::uint32_t replicas = 1;         // put, and all below
    std::string group;
    std::string parent;
    Duration soft_pin{0};
    Duration time_to_live{0};
    bool hard_pin = false;
    bool operator==(const Item&) const = default;
  };
  std::vector<Item> items;
  bool force = false;       // remove
  std::uint32_t parts = 1;  // put and upsert: the values are written in so many parts
  Duration time{0};         // until its deadline; zero: the usual one
  bool operator==(const OperationStep&) const = default;
};

struct Step {
  Duration at;  // from the world's beginning
  std::variant<OperationStep, Fault> what;
  bool operator==(const Step&) const = default;
};

struct Scenario {
  // Of a process's host. The rate is within what leases promise, unless a person wants otherwise.
  struct Clock {
    Duration offset{0};
    std::int64_t parts_per_million = 0;
    bool operator==(const Clock&) const = default;
  };
  struct Node {
    Bytes segment;
    Clock clock;
    bool operator==(const Node&) const = default;
  };
  struct Client {
    Clock clock;
    std::optional<std::uint32_t> on_node;  // it runs on this node's host
    bool operator==(const Client&) const = default;
  };

  std::uint64_t seed = 1;  // of what stays random: what is lost, where a value goes, how long
  std::string policy = "leaf-first";
  bool one_sided = false;  // readers read without the node's process, and check footers
  bool checksum = true;
  bool epochs_of_clock = false;  // two masters that start at the same millisecond have the same one
  bool shared_state = false;     // a second master is started on the first one's directory
  Bytes value_max = 16_KiB;      // no put is larger, and a get has room for it
  Bytes chunk = 4_KiB;           // of what comes in one piece
  Bytes transfer_max = 1_GiB;    // longer values go in parts
  Bytes nic_per_second{12'500'000'000};
  Timing timing;
  LinkFaults links;
  std::vector<Clock> masters = std::vector<Clock>(1);  // a second one runs only while `start` holds
  std::vector<Node> nodes;
  std::vector<Client> clients;
  std::vector<Step> steps;  // in the order of their instants
};

// What a run of it must keep beyond what always holds.
struct Promises {
  // A second master, or a state directory that was lost, may show what was removed or replaced.
  bool not_superseded = true;
  // Bytes that the hardware changed are found by the checksum alone; a part of a value has none.
  bool parts_whole = true;
};
Promises promises(const Scenario& scenario);

// The settings of Timing by their names.
struct TimingName {
  std::string_view name;
  Duration Timing::* member;
};
std::span<const TimingName> timing_names();

// One way in which things go wrong in scenarios: a kind of fault that comes at an instant, or a
// fault of the links.
class FaultOfScenario {
 public:
  std::string_view name() const { return name_; }
  bool is_in(const Scenario& scenario) const;
  void take_out(Scenario& scenario) const;

 private:
  friend std::span<const FaultOfScenario> faults_of_scenarios();
  std::string_view name_;
  std::optional<FaultKind> kind_;
  double LinkFaults::* chance_ = nullptr;
  Duration LinkFaults::* time_ = nullptr;
};
std::span<const FaultOfScenario> faults_of_scenarios();

// Those that it has, for people: "crash, cut, messages lost". "none".
std::string fault_names(const Scenario& scenario);

}  // namespace larder::sim
