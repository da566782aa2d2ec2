#include "sim/planning/one_more.h"

#include <algorithm>
#include <utility>

#include "core/base/size_text.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

Bytes one_more(Bytes bytes, std::uint64_t of) { return bytes + bytes / of; }

std::uint64_t nics_of(const HardwareHost& host) {
  return static_cast<std::uint64_t>(
      std::ranges::count(host.parts, PartKind::nic, &HardwarePart::kind));
}

// The rate of a NIC is that of its port, and of the bus that it hangs on.
void add_nic(HardwareHost& host) {
  const std::uint64_t nics = nics_of(host);
  for (HardwarePart& part : host.parts) {
    if (part.kind != PartKind::nic) continue;
    part.per_second = one_more(part.per_second, nics);
    for (HardwareLink& link : host.links) {
      if (link.between[1] == part.name || link.between[0] == part.name) {
        link.per_second = one_more(link.per_second, nics);
      }
    }
  }
}

bool is_of_kind(const HardwareHost& host, const std::string& name, PartKind kind) {
  const auto part = std::ranges::find(host.parts, name, &HardwarePart::name);
  return part != host.parts.end() && part->kind == kind;
}

void double_links_inside(HardwareHost& host) {
  for (HardwareLink& link : host.links) {
    if (is_of_kind(host, link.between[0], PartKind::nic) ||
        is_of_kind(host, link.between[1], PartKind::nic)) {
      continue;
    }
    link.per_second = link.per_second * 2;
  }
}

void add_dram(Setting& setting, Bytes to_each) {
  for (HardwareHost& host : setting.hardware.hosts) {
    for (HardwarePart& part : host.parts) {
      if (part.kind == PartKind::dram) part.capacity += to_each;
    }
  }
}

}  // namespace

std::vector<OneMore> one_more_of_each(const Setting& setting) {
  std::vector<OneMore> all;
  const auto add = [&](std::string resource, std::string change) -> Setting& {
    return all.emplace_back(OneMore{std::move(resource), std::move(change), setting}).setting;
  };
  if (setting.serving) {
    Setting& gpus =
        add("GPU compute", "GPUs as fast as one more engine's would make them together");
    gpus.gpu_speed *= 1 + 1.0 / setting.engines;
    const Bytes more = setting.host_memory / 2;
    Setting& host =
        add("host memory", "each engine's host cache has " + size_text(setting.host_memory + more));
    host.host_memory += more;
    add_dram(host, more);
  }
  if (setting.memory_per_node) {
    const Bytes each = one_more(*setting.memory_per_node, setting.nodes);
    Setting& pool =
        add("pool memory", "one node's memory more, over all nodes: " + size_text(each) + " each");
    pool.memory_per_node = each;
    add_dram(pool, each);
  }
  if (setting.fabric) {
    Setting& nics = add("NICs", "each host's NICs are as fast as with one more");
    for (HardwareHost& host : nics.hardware.hosts) add_nic(host);
    if (nics.hardware.network.spines > 0) {
      Setting& uplinks = add("uplinks", "one spine more");
      ++uplinks.hardware.network.spines;
    }
    Setting& inside = add("links in hosts", "DRAM, sockets and PCIe are twice as fast");
    for (HardwareHost& host : inside.hardware.hosts) double_links_inside(host);
  }
  add("master", "it is twice as fast").master_speed *= 2;
  return all;
}

}  // namespace larder::sim
