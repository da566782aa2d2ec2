#include "proto/hardware/hardware_file.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/printable.h"
#include "proto/hardware/json_object.h"

namespace larder {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Names = JsonObject::Names;

// The keys of a part that depend on its kind.
Names part_keys(PartKind kind) {
  switch (kind) {
    case PartKind::dram:
    case PartKind::gpu:
    case PartKind::disk:
      return {"name", "kind", "capacity_bytes"};
    case PartKind::nic:
      return {"name", "kind", "bytes_per_second", "messages_per_second", "rail"};
    default:
      return {"name", "kind"};
  }
}

Status read_part(const json& value, const std::string& place, std::vector<HardwarePart>& parts) {
  HardwarePart part;
  // The kind first, since it says which keys there are.
  constexpr std::string_view kinds = "socket, dram, root-port, pcie-switch, nic, gpu or disk";
  if (!value.is_object() || !value.contains("kind") || !value["kind"].is_string()) {
    return wrong_json(place, "wants an object with a name and a kind: " + std::string(kinds));
  }
  const auto kind = host_part_kind(value["kind"].get_ref<const std::string&>());
  if (!kind) {
    return wrong_json(place + "/kind", in_quotes(value["kind"].get_ref<const std::string&>()) +
                                           " is no kind of part: " + std::string(kinds));
  }
  part.kind = *kind;
  LARDER_TRY(const JsonObject object, JsonObject::make(value, place, {.needed = part_keys(*kind)}));
  LARDER_TRY(part.name, object.text("name"));
  LARDER_CHECK(object.number("capacity_bytes", part.capacity));
  LARDER_CHECK(object.number("bytes_per_second", part.per_second));
  LARDER_CHECK(object.number("messages_per_second", part.messages_per_second));
  LARDER_CHECK(object.number("rail", part.rail));
  parts.push_back(std::move(part));
  return {};
}

Status read_link(const json& value, const std::string& place, std::vector<HardwareLink>& links) {
  LARDER_TRY(const JsonObject object,
             JsonObject::make(value, place,
                              {.needed = {"between", "bytes_per_second", "latency_ns"},
                               .allowed = {"count", "shared"}}));
  HardwareLink link;
  std::size_t ends = 0;
  LARDER_CHECK(object.each("between", [&](const json& end, const std::string& at) -> Status {
    if (!end.is_string()) return wrong_json(at, "wants the name of a part");
    if (ends < link.between.size()) link.between[ends] = end.get<std::string>();
    ++ends;
    return {};
  }));
  if (ends != link.between.size()) {
    return wrong_json(object.place("between"), std::to_string(ends) + " names where two belong");
  }
  LARDER_CHECK(object.number("bytes_per_second", link.per_second));
  LARDER_CHECK(object.number("count", link.count));
  LARDER_CHECK(object.flag("shared", link.shared));
  LARDER_CHECK(object.number("latency_ns", link.latency));
  links.push_back(std::move(link));
  return {};
}

Status read_costs(const json& value, const std::string& place, TransferCosts& costs) {
  LARDER_TRY(const JsonObject object,
             JsonObject::make(value, place,
                              {.allowed = {"posting_ns", "completion_ns", "registration_ns",
                                           "registration_ns_each_mib", "tcp_bytes_per_second"}}));
  LARDER_CHECK(object.number("posting_ns", costs.posting));
  LARDER_CHECK(object.number("completion_ns", costs.completion));
  LARDER_CHECK(object.number("registration_ns", costs.registration));
  LARDER_CHECK(object.number("registration_ns_each_mib", costs.registration_each_mib));
  return object.number("tcp_bytes_per_second", costs.tcp_per_second);
}

Status read_preset(const json& value, const std::string& place, std::vector<HardwareHost>& hosts) {
  LARDER_TRY(const JsonObject object, JsonObject::make(value, place,
                                                       {.needed = {"preset", "count"},
                                                        .allowed = {"name", "price_per_hour"}}));
  LARDER_TRY(const std::string name, object.text("preset"));
  Result<Hardware> preset = hardware_preset(name);
  if (!preset) return wrong_json(object.place("preset"), preset.error().facts().detail);
  HardwareHost host = std::move(preset->hosts.front());
  LARDER_CHECK(object.number("count", host.count));
  if (object.has("name")) {
    LARDER_TRY(host.name, object.text("name"));
  }
  LARDER_CHECK(object.decimal("price_per_hour", host.price_per_hour));
  hosts.push_back(std::move(host));
  return {};
}

Status read_host(const json& value, const std::string& place, std::vector<HardwareHost>& hosts) {
  if (value.is_object() && value.contains("preset")) return read_preset(value, place, hosts);
  LARDER_TRY(const JsonObject object,
             JsonObject::make(value, place,
                              {.needed = {"name", "count", "parts", "links"},
                               .allowed = {"cores", "costs", "price_per_hour"}}));
  HardwareHost host;
  LARDER_TRY(host.name, object.text("name"));
  LARDER_CHECK(object.number("count", host.count));
  LARDER_CHECK(object.number("cores", host.cores));
  LARDER_CHECK(object.each("parts", [&](const json& part, const std::string& at) {
    return read_part(part, at, host.parts);
  }));
  LARDER_CHECK(object.each("links", [&](const json& link, const std::string& at) {
    return read_link(link, at, host.links);
  }));
  if (object.has("costs")) {
    LARDER_CHECK(read_costs(object.at("costs"), object.place("costs"), host.costs));
  }
  LARDER_CHECK(object.decimal("price_per_hour", host.price_per_hour));
  hosts.push_back(std::move(host));
  return {};
}

Status read_network(const json& value, const std::string& place, HardwareNetwork& network) {
  LARDER_TRY(const JsonObject object,
             JsonObject::make(
                 value, place,
                 {.needed = {"hosts_per_leaf", "spines"},
                  .allowed = {"uplink_bytes_per_second", "nic_to_leaf_ns", "leaf_to_spine_ns"}}));
  LARDER_CHECK(object.number("hosts_per_leaf", network.hosts_per_leaf));
  LARDER_CHECK(object.number("spines", network.spines));
  LARDER_CHECK(object.number("uplink_bytes_per_second", network.uplink_per_second));
  LARDER_CHECK(object.number("nic_to_leaf_ns", network.nic_to_leaf));
  return object.number("leaf_to_spine_ns", network.leaf_to_spine);
}

ordered_json part_json(const HardwarePart& part) {
  ordered_json value{{"name", part.name}, {"kind", part_kind_name(part.kind)}};
  if (part.capacity > Bytes{}) value["capacity_bytes"] = part.capacity.value;
  if (part.kind == PartKind::nic) {
    value["bytes_per_second"] = part.per_second.value;
    value["messages_per_second"] = part.messages_per_second;
    value["rail"] = part.rail;
  }
  return value;
}

ordered_json link_json(const HardwareLink& link) {
  ordered_json value{{"between", link.between}, {"bytes_per_second", link.per_second.value}};
  if (link.count != 1) value["count"] = link.count;
  if (link.shared) value["shared"] = true;
  value["latency_ns"] = link.latency.count();
  return value;
}

ordered_json host_json(const HardwareHost& host) {
  ordered_json parts = ordered_json::array();
  for (const HardwarePart& part : host.parts) parts.push_back(part_json(part));
  ordered_json links = ordered_json::array();
  for (const HardwareLink& link : host.links) links.push_back(link_json(link));
  ordered_json value{{"name", host.name}, {"count", host.count}};
  if (host.cores > 0) value["cores"] = host.cores;
  value["parts"] = std::move(parts);
  value["links"] = std::move(links);
  value["costs"] = {{"posting_ns", host.costs.posting.count()},
                    {"completion_ns", host.costs.completion.count()},
                    {"registration_ns", host.costs.registration.count()},
                    {"registration_ns_each_mib", host.costs.registration_each_mib.count()},
                    {"tcp_bytes_per_second", host.costs.tcp_per_second.value}};
  if (host.price_per_hour) value["price_per_hour"] = *host.price_per_hour;
  return value;
}

}  // namespace

Result<Hardware> read_hardware(std::string_view text) {
  LARDER_TRY(const json value, parse_json(text));
  LARDER_TRY(const JsonObject object,
             JsonObject::make(value, "", {.needed = {"hosts"}, .allowed = {"network"}}));
  Hardware hardware;
  LARDER_CHECK(object.each("hosts", [&](const json& host, const std::string& at) {
    return read_host(host, at, hardware.hosts);
  }));
  if (object.has("network")) {
    LARDER_CHECK(read_network(object.at("network"), object.place("network"), hardware.network));
  }
  LARDER_CHECK(check_hardware(hardware));
  return hardware;
}

std::string write_hardware(const Hardware& hardware) {
  ordered_json hosts = ordered_json::array();
  for (const HardwareHost& host : hardware.hosts) hosts.push_back(host_json(host));
  const ordered_json value{{"hosts", std::move(hosts)},
                           {"network",
                            {{"hosts_per_leaf", hardware.network.hosts_per_leaf},
                             {"spines", hardware.network.spines},
                             {"uplink_bytes_per_second", hardware.network.uplink_per_second.value},
                             {"nic_to_leaf_ns", hardware.network.nic_to_leaf.count()},
                             {"leaf_to_spine_ns", hardware.network.leaf_to_spine.count()}}}};
  return value.dump(2) + "\n";
}

}  // namespace larder
