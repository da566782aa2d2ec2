#include "sim/capacity/pool_config.h"

#include <string>

#include "core/master/master.h"
#include "core/protocol/extent_shape.h"
#include "core/protocol/limits.h"

namespace larder::sim {

Bytes PoolConfig::page_bytes() const {
  Bytes sum;
  for (const Bytes object : objects) sum += object;
  return sum;
}

Status PoolConfig::check(const Topology& topology) const {
  const auto wrong = [](std::string text) -> Status {
    return failed(ErrorCode::invalid_params, std::move(text));
  };
  if (nodes.empty()) return wrong("a pool needs a node");
  if (objects.empty() || objects.size() > 255) {
    return wrong("a page has 1 to 255 objects, not " + std::to_string(objects.size()));
  }
  if (replicas == 0 || replicas > replicas_max) {
    return wrong(std::to_string(replicas) + " replicas; 1 to " + std::to_string(replicas_max) +
                 " are possible");
  }
  if (batch_pages == 0 || batches_under_way == 0) {
    return wrong("a read has at least one page in a batch, and one batch under way");
  }
  if (threads.client == 0 || threads.node == 0) return wrong("a process has at least one thread");
  if (const auto host = threads.master_host) {
    if (*host >= topology.hosts() || topology.hardware_of(*host).cores == 0) {
      return wrong("the master is on host " + std::to_string(*host) +
                   ", whose cores are not known");
    }
  }
  Bytes page;
  for (const Bytes object : objects) {
    if (object == Bytes{}) return wrong("an object of a page has zero bytes");
    if (object > master.object_bytes_max) {
      return wrong("an object of a page has " + std::to_string(object.value) +
                   " bytes; the master takes " + std::to_string(master.object_bytes_max.value));
    }
    const ExtentShape shape = extent_shape(object);
    page += shape.length.rounded_up(shape.alignment);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const PoolNodeShape& node = nodes[i];
    const std::string which = "node " + std::to_string(i);
    if (node.memory.value >= topology.parts() || topology.kind(node.memory) != PartKind::dram) {
      return wrong(which + " is in no memory of a host");
    }
    if (node.capacity < page) {
      return wrong(which + " has " + std::to_string(node.capacity.value) +
                   " bytes, and one page takes " + std::to_string(page.value));
    }
  }
  // What the master says of its own part.
  LARDER_TRY(const auto made, Master::make(Time{}, master, {.epoch = {1}, .instance = {1, 1}}, {}));
  (void)made;
  return {};
}

}  // namespace larder::sim
