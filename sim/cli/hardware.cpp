#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/size_text.h"
#include "core/topology/topology.h"
#include "proto/hardware/hardware_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/hardware_argument.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;

struct HardwareArguments {
  std::string what;
  std::uint32_t hosts = 0;  // 0: as the file has it
  bool json = false;
  bool file = false;
};

double giga(Bytes per_second) { return static_cast<double>(per_second.value) / 1e9; }

std::string_view nearness_name(Nearness nearness) {
  switch (nearness) {
    case Nearness::nearest:
      return "nearest";
    case Nearness::same_socket:
      return "same-socket";
    case Nearness::other_socket:
      return "other-socket";
  }
  return "";
}

// The first host of each kind stands for all of them.
std::vector<std::uint32_t> first_hosts(const Hardware& hardware) {
  std::vector<std::uint32_t> firsts;
  std::uint32_t host = 0;
  for (const HardwareHost& kind : hardware.hosts) {
    firsts.push_back(host);
    host += kind.count;
  }
  return firsts;
}

// Where values lie, and so where transfers begin and end.
std::vector<PartId> places_of(const Topology& topology, std::uint32_t host) {
  std::vector<PartId> places;
  for (const PartKind kind : {PartKind::dram, PartKind::gpu, PartKind::disk}) {
    for (const PartId part : topology.parts_of(host, kind)) places.push_back(part);
  }
  return places;
}

std::string short_name(const Topology& topology, PartId part) {
  const std::string name = topology.name(part);
  return name.substr(name.find('/') + 1);
}

// From the place over the nearest NICs of both sides.
std::vector<EdgeId> example_path(const Topology& topology, PartId from, PartId to) {
  const PartId from_nic = topology.nic(topology.host_of(from), topology.nics_near(from)[0].nic);
  const PartId to_nic = topology.nic(topology.host_of(to), topology.nics_near(to)[0].nic);
  std::vector<EdgeId> path;
  topology.append_inside(from, from_nic, path);
  topology.append_wire(from_nic, to_nic, 0, path);
  topology.append_inside(to_nic, to, path);
  return path;
}

struct Example {
  PartId from;
  PartId to;
};
// From a GPU, or else DRAM, of the first host of each kind to DRAM of the last host.
std::vector<Example> examples(const Topology& topology, const Hardware& hardware) {
  std::vector<Example> all;
  const std::uint32_t last = topology.hosts() - 1;
  if (last == 0) return all;
  const PartId to = topology.parts_of(last, PartKind::dram).back();
  for (const std::uint32_t host : first_hosts(hardware)) {
    if (host == last) continue;
    const std::vector<PartId> gpus = topology.parts_of(host, PartKind::gpu);
    all.push_back(
        {.from = gpus.empty() ? topology.parts_of(host, PartKind::dram)[0] : gpus[0], .to = to});
  }
  return all;
}

// ---- for people ---------------------------------------------------------------------------------

std::string links_text(const HardwareHost& kind) {
  std::string text = fmt::format("  {:<28}{:>16}{:>10}\n", "link", "GB/s", "ns");
  for (const HardwareLink& link : kind.links) {
    const std::string rate = link.count == 1
                                 ? fmt::format("{:.2f}", giga(link.per_second))
                                 : fmt::format("{} x {:.2f}", link.count, giga(link.per_second));
    text += fmt::format("  {:<28}{:>16}{:>10}{}\n", link.between[0] + " - " + link.between[1], rate,
                        link.latency.count(), link.shared ? "  both ways together" : "");
  }
  return text;
}

std::string nics_text(const Topology& topology, std::uint32_t host) {
  std::string text = "  NICs by memory, nearest first (GB/s of the way)\n";
  for (const PartId place : places_of(topology, host)) {
    std::string line;
    const NearNic* before = nullptr;
    for (const NearNic& nic : topology.nics_near(place)) {
      if (before == nullptr || before->nearness != nic.nearness) {
        line += fmt::format("{}{}:", line.empty() ? "" : "; ", nearness_name(nic.nearness));
      }
      line += fmt::format(" {} ({:.2f})", short_name(topology, topology.nic(host, nic.nic)),
                          giga(nic.per_second));
      before = &nic;
    }
    text += fmt::format("  {:<10}{}\n", short_name(topology, place), line);
  }
  return text;
}

std::string kind_text(const Topology& topology, std::uint32_t host) {
  const HardwareHost& kind = topology.hardware_of(host);
  std::vector<std::string> parts;
  for (const HardwarePart& part : kind.parts) {
    if (part.kind == PartKind::nic) {
      parts.push_back(
          fmt::format("{} ({:.2f} GB/s, rail {})", part.name, giga(part.per_second), part.rail));
    } else if (part.capacity > Bytes{}) {
      parts.push_back(fmt::format("{} ({})", part.name, size_text(part.capacity)));
    }
  }
  return fmt::format("{}: host{} to host{}\n  {}\n", kind.name, host, host + kind.count - 1,
                     fmt::join(parts, ", ")) +
         links_text(kind) + nics_text(topology, host);
}

std::string example_text(const Topology& topology, const Example& example) {
  const std::vector<EdgeId> path = example_path(topology, example.from, example.to);
  std::string text = fmt::format("{} to {}: {:.2f} GB/s, {:.2f} us before the first byte\n",
                                 topology.name(example.from), topology.name(example.to),
                                 giga(topology.per_second(path)),
                                 static_cast<double>(topology.latency(path).count()) / 1e3);
  for (const EdgeId edge : path) {
    const bool narrowest = topology.per_second(edge) == topology.per_second(path);
    text += fmt::format("  {:<48}{:>10.2f} GB/s{}\n", topology.name(edge),
                        giga(topology.per_second(edge)), narrowest ? "  the narrowest" : "");
  }
  return text;
}

std::string to_text(const Topology& topology, const Hardware& hardware) {
  std::string text;
  for (const std::uint32_t host : first_hosts(hardware)) text += kind_text(topology, host) + "\n";
  const HardwareNetwork& network = hardware.network;
  text += fmt::format("network: {} hosts, {} on a leaf, {} spines", topology.hosts(),
                      network.hosts_per_leaf, network.spines);
  if (network.spines > 0) {
    text += fmt::format(", {:.2f} GB/s from leaf to spine", giga(network.uplink_per_second));
  }
  text += "\n";
  for (const Example& example : examples(topology, hardware)) {
    text += example_text(topology, example);
  }
  return text;
}

std::string presets_text() {
  std::string text = fmt::format("{:<16}{:>6}{:>12}{:>6}{:>14}{:>12}\n", "preset", "GPUs",
                                 "GPU memory", "NICs", "GB/s of each", "DRAM");
  for (const std::string_view name : hardware_preset_names()) {
    const HardwareHost host = std::move(hardware_preset(name).value().hosts.front());
    std::uint32_t gpus = 0;
    std::uint32_t nics = 0;
    Bytes gpu_memory;
    Bytes port;
    Bytes dram;
    for (const HardwarePart& part : host.parts) {
      if (part.kind == PartKind::gpu) ++gpus, gpu_memory += part.capacity;
      if (part.kind == PartKind::nic) ++nics, port = part.per_second;
      if (part.kind == PartKind::dram) dram += part.capacity;
    }
    text += fmt::format("{:<16}{:>6}{:>12}{:>6}{:>14.2f}{:>12}\n", name, gpus,
                        gpus == 0 ? "-" : exact_size_text(gpu_memory), nics, giga(port),
                        exact_size_text(dram));
  }
  return text;
}

// ---- for programs -------------------------------------------------------------------------------

ordered_json to_json(const Topology& topology, const Hardware& hardware) {
  ordered_json kinds = ordered_json::array();
  for (const std::uint32_t host : first_hosts(hardware)) {
    ordered_json places = ordered_json::array();
    for (const PartId place : places_of(topology, host)) {
      ordered_json nics = ordered_json::array();
      for (const NearNic& nic : topology.nics_near(place)) {
        nics.push_back({{"nic", short_name(topology, topology.nic(host, nic.nic))},
                        {"nearness", nearness_name(nic.nearness)},
                        {"rail", nic.rail},
                        {"bytes_per_second", nic.per_second.value}});
      }
      places.push_back({{"place", short_name(topology, place)}, {"nics", std::move(nics)}});
    }
    kinds.push_back({{"name", topology.hardware_of(host).name},
                     {"first_host", host},
                     {"places", std::move(places)}});
  }
  ordered_json paths = ordered_json::array();
  for (const auto& [from, to] : examples(topology, hardware)) {
    const std::vector<EdgeId> path = example_path(topology, from, to);
    ordered_json edges = ordered_json::array();
    for (const EdgeId edge : path) {
      edges.push_back({{"edge", topology.name(edge)},
                       {"bytes_per_second", topology.per_second(edge).value},
                       {"latency_ns", topology.latency(edge).count()}});
    }
    paths.push_back({{"from", topology.name(from)},
                     {"to", topology.name(to)},
                     {"bytes_per_second", topology.per_second(path).value},
                     {"latency_ns", topology.latency(path).count()},
                     {"edges", std::move(edges)}});
  }
  return {{"hosts", topology.hosts()},
          {"parts", topology.parts()},
          {"kinds", std::move(kinds)},
          {"paths", std::move(paths)},
          {"file", ordered_json::parse(write_hardware(hardware))}};
}

Status run(const HardwareArguments& arguments) {
  if (arguments.what.empty()) {
    if (arguments.json || arguments.file || arguments.hosts > 0) {
      return failed(ErrorCode::invalid_params,
                    "--json, --file and --hosts are of one preset or file: name it, such as "
                    "larder-sim hardware cpu-2x100 --file");
    }
    return terminal::print(presets_text());
  }
  LARDER_TRY(Hardware hardware, load_hardware(arguments.what));
  if (arguments.hosts > 0) {
    if (hardware.hosts.size() > 1) {
      return failed(ErrorCode::invalid_params,
                    "--hosts: there are several kinds of host, each with its own count");
    }
    hardware.hosts[0].count = arguments.hosts;
  }
  LARDER_TRY(const Topology topology, Topology::make(hardware));
  if (arguments.file) return terminal::print(write_hardware(hardware));
  if (arguments.json) return terminal::print(to_json(topology, hardware).dump(2) + "\n");
  return terminal::print(to_text(topology, hardware));
}

}  // namespace

void add_hardware(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "hardware",
      "Shows the hosts of a preset or hardware file, their links, and which NIC is near");
  command.footer(
      "Without a name: the presets. To describe your own machines, begin with the file of a "
      "preset:\n"
      "  larder-sim hardware cpu-2x100 --file > mine.json\n"
      "A rate is what one direction of a link carries, in GB (10^9 bytes) of payload a second.\n"
      "Example: larder-sim hardware 8xh800-4x200");
  const auto arguments = std::make_shared<HardwareArguments>();
  command.add_option("HARDWARE", arguments->what, "The name of a preset, or a file");
  terminal::add_number(command, "--hosts", arguments->hosts,
                       "So many hosts, where there is one kind of them; 0: as it says itself");
  const terminal::Option json = command.add_flag(
      "--json", arguments->json,
      "Print {hosts, parts, kinds: [{name, first_host, places: [{place, nics}]}], paths, file}");
  command.add_flag("--file", arguments->file, "Print it as a hardware file").excludes(json);
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
