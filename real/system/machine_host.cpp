#include "real/system/machine_host.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "real/system/kernel_files.h"

namespace larder::real {
namespace {

constexpr std::uint64_t nic_messages = 200'000'000;  // a second; assumed, of the order of presets
constexpr std::size_t name_max = 64;
constexpr std::size_t nodes_max = 64;

class Builder {
 public:
  Builder(std::vector<NumaNode> nodes, const MachineRates& rates)
      : nodes_(std::move(nodes)), rates_(rates) {
    if (nodes_.size() > nodes_max) nodes_.resize(nodes_max);
    if (nodes_.empty()) nodes_.push_back({});
    if (std::ranges::all_of(nodes_, [](const NumaNode& node) { return node.memory == Bytes{}; })) {
      const Bytes each = std::max(rates.memory / nodes_.size(), Bytes{1});
      for (NumaNode& node : nodes_) node.memory = each;
    }
  }

  HardwareHost build(const std::vector<MachineNic>& nics) {
    host_.name = "this-machine";
    host_.cores = rates_.cores;
    sockets();
    for (const MachineNic& nic : nics) slots_[slot_of(nic)].push_back(nic);
    for (const auto& [slot, of_it] : slots_) card(of_it);
    if (nics.empty()) {
      card({{.name = "nic0",
             .address = {},
             .numa_node = {},
             .per_second = rates_.loopback_per_second,
             .bus_per_second = {}}});
    }
    return std::move(host_);
  }

 private:
  void link(std::string above, std::string below, Bytes per_second, bool shared = false) {
    host_.links.push_back({.between = {std::move(above), std::move(below)},
                           .per_second = std::max(per_second, Bytes{1}),
                           .shared = shared});
  }

  void part(HardwarePart part) {
    names_.insert(part.name);
    host_.parts.push_back(std::move(part));
  }

  static std::string socket(const NumaNode& node) { return "socket" + std::to_string(node.number); }

  void sockets() {
    const auto memories =
        std::ranges::count_if(nodes_, [](const NumaNode& node) { return node.memory > Bytes{}; });
    const Bytes rate = rates_.memory_per_second / static_cast<std::uint64_t>(memories);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const NumaNode& node = nodes_[i];
      part({.name = socket(node), .kind = PartKind::socket});
      if (node.memory > Bytes{}) {
        const std::string dram = "dram" + std::to_string(node.number);
        part({.name = dram, .kind = PartKind::dram, .capacity = node.memory});
        link(socket(node), dram, rate, true);
      }
      for (std::size_t other = 0; other < i; ++other)
        link(socket(nodes_[other]), socket(node), rate);
    }
  }

  // Ports whose cards stand in one slot: all functions of a device. What has no address stands
  // alone.
  static std::string slot_of(const MachineNic& nic) {
    return nic.address.empty() ? "/" + nic.name : nic.address.substr(0, nic.address.rfind('.'));
  }

  void card(const std::vector<MachineNic>& ports) {
    const MachineNic& first = ports.front();
    auto node = std::ranges::find(nodes_, first.numa_node.value_or(0), &NumaNode::number);
    if (!first.numa_node || node == nodes_.end()) node = nodes_.begin();
    Bytes bus = first.bus_per_second;
    if (bus == Bytes{}) {
      for (const MachineNic& port : ports) bus += port.per_second;
    }
    const std::string root = unique("root" + std::to_string(roots_++));
    part({.name = root, .kind = PartKind::root_port});
    link(socket(*node), root, bus);
    for (const MachineNic& port : ports) {
      const std::string name = name_of(port);
      part({.name = name,
            .kind = PartKind::nic,
            .per_second = std::max(port.per_second, Bytes{1}),
            .messages_per_second = nic_messages});
      link(root, name, bus);
    }
  }

  // As hardware files want it, and no other part's.
  std::string name_of(const MachineNic& nic) const {
    std::string name = nic.name.substr(0, name_max - 8);
    for (char& c : name) {
      const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
      if (!allowed) c = '_';
    }
    return unique(std::move(name));
  }

  std::string unique(std::string name) const {
    std::string other = name;
    for (int i = 2; names_.contains(other); ++i) other = name + "-" + std::to_string(i);
    return other;
  }

  std::vector<NumaNode> nodes_;
  const MachineRates& rates_;
  HardwareHost host_;
  std::set<std::string> names_;
  std::map<std::string, std::vector<MachineNic>> slots_;
  std::size_t roots_ = 0;
};

}  // namespace

std::vector<NumaNode> read_numa_nodes(const std::filesystem::path& root) {
  const std::filesystem::path directory = root / "sys/devices/system/node";
  std::vector<NumaNode> nodes;
  for (const std::string& name : names_in(directory)) {
    if (!name.starts_with("node")) continue;
    const auto number = number_of<std::uint32_t>(std::string_view(name).substr(4));
    if (!number) continue;
    NumaNode& node = nodes.emplace_back(NumaNode{.number = *number, .memory = {}});
    // "Node 0 MemTotal:       65536 kB"
    for (const std::string& line : lines_of(directory / name / "meminfo")) {
      const auto words = words_of(line);
      if (words.size() < 4 || words[2] != "MemTotal:") continue;
      const auto kib = number_of(words[3]);
      if (kib && *kib < std::uint64_t{1} << 50) node.memory = {*kib << 10};
    }
  }
  std::ranges::sort(nodes, {}, &NumaNode::number);
  return nodes;
}

HardwareHost machine_host(const std::vector<NumaNode>& nodes, const MachineNics& nics,
                          const MachineRates& rates) {
  return Builder(nodes, rates).build(nics.usable);
}

}  // namespace larder::real
