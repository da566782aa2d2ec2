#include "proto/hardware/hardware_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "core/base/printable.h"

namespace larder {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t file_max = 16 << 20;
constexpr std::uint64_t number_max = std::uint64_t{1} << 62;

using Names = std::vector<std::string_view>;

std::unexpected<Error> wrong(const std::string& place, const std::string& what) {
  return failed(ErrorCode::bad_file, (place.empty() ? "the file" : place) + ": " + what);
}

std::string listed(const Names& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// An object of the file, and where it stands.
class Object {
 public:
  // Those that must be there, and those that may.
  struct Keys {
    Names needed;
    Names allowed;
  };

  static Result<Object> make(const json& value, std::string place, const Keys& keys) {
    if (!value.is_object()) {
      return wrong(place, std::string(value.type_name()) + " where an object belongs, with " +
                              listed(keys.needed));
    }
    for (const auto& [key, unused] : value.items()) {
      if (!std::ranges::count(keys.needed, key) && !std::ranges::count(keys.allowed, key)) {
        Names all = keys.needed;
        all.insert(all.end(), keys.allowed.begin(), keys.allowed.end());
        return wrong(place, in_quotes(key) + " is no key here: " +
                                (all.empty() ? "there is none" : "there are " + listed(all)));
      }
    }
    for (const std::string_view key : keys.needed) {
      if (!value.contains(key)) return wrong(place, "'" + std::string(key) + "' is missing");
    }
    return Object(value, std::move(place));
  }

  const std::string& place() const { return place_; }
  std::string place(std::string_view key) const { return place_ + "/" + std::string(key); }
  bool has(std::string_view key) const { return value_->contains(key); }
  const json& at(std::string_view key) const { return (*value_)[std::string(key)]; }

  Result<std::string> text(std::string_view key) const {
    if (!at(key).is_string()) return wrong_type(key, "a text");
    return at(key).get<std::string>();
  }

  // A whole number, which may be written as 2.5e10. Leaves `number` alone where the key is missing.
  template <class Number>
  Status number(std::string_view key, Number& number) const {
    if (!has(key)) return {};
    const json& value = at(key);
    if (!value.is_number()) return wrong_type(key, "a number");
    std::uint64_t whole = 0;
    if (value.is_number_unsigned()) {
      whole = value.get<std::uint64_t>();
    } else {
      const auto real = value.get<double>();
      if (!(real >= 0 && real <= static_cast<double>(number_max))) return not_whole(key, value);
      whole = static_cast<std::uint64_t>(real);
      if (static_cast<double>(whole) != real) return not_whole(key, value);
    }
    number = static_cast<Number>(whole);
    if (whole > number_max || static_cast<std::uint64_t>(number) != whole) {
      return not_whole(key, value);
    }
    return {};
  }
  Status number(std::string_view key, Bytes& bytes) const { return number(key, bytes.value); }
  Status number(std::string_view key, Duration& duration) const {
    auto count = static_cast<std::uint64_t>(duration.count());
    LARDER_CHECK(number(key, count));
    duration = Duration(static_cast<std::int64_t>(count));
    return {};
  }
  Status flag(std::string_view key, bool& flag) const {
    if (!has(key)) return {};
    if (!at(key).is_boolean()) return wrong_type(key, "true or false");
    flag = at(key).get<bool>();
    return {};
  }

  // Calls read(element, its place) for each of a list.
  template <class Read>
  Status each(std::string_view key, Read read) const {
    if (!at(key).is_array()) return wrong_type(key, "a list");
    std::size_t index = 0;
    for (const json& element : at(key)) {
      LARDER_CHECK(read(element, place(key) + "/" + std::to_string(index++)));
    }
    return {};
  }

 private:
  Object(const json& value, std::string place) : value_(&value), place_(std::move(place)) {}

  std::unexpected<Error> wrong_type(std::string_view key, const std::string& wanted) const {
    return wrong(place(key), std::string(at(key).type_name()) + " where " + wanted + " belongs");
  }
  std::unexpected<Error> not_whole(std::string_view key, const json& value) const {
    return wrong(place(key), value.dump() + " is no whole number from 0 on, or too large");
  }

  const json* value_;
  std::string place_;
};

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
    return wrong(place, "wants an object with a name and a kind: " + std::string(kinds));
  }
  const auto kind = host_part_kind(value["kind"].get_ref<const std::string&>());
  if (!kind) {
    return wrong(place + "/kind", in_quotes(value["kind"].get_ref<const std::string&>()) +
                                      " is no kind of part: " + std::string(kinds));
  }
  part.kind = *kind;
  LARDER_TRY(const Object object, Object::make(value, place, {.needed = part_keys(*kind)}));
  LARDER_TRY(part.name, object.text("name"));
  LARDER_CHECK(object.number("capacity_bytes", part.capacity));
  LARDER_CHECK(object.number("bytes_per_second", part.per_second));
  LARDER_CHECK(object.number("messages_per_second", part.messages_per_second));
  LARDER_CHECK(object.number("rail", part.rail));
  parts.push_back(std::move(part));
  return {};
}

Status read_link(const json& value, const std::string& place, std::vector<HardwareLink>& links) {
  LARDER_TRY(const Object object,
             Object::make(value, place,
                          {.needed = {"between", "bytes_per_second", "latency_ns"},
                           .allowed = {"count", "shared"}}));
  HardwareLink link;
  std::size_t ends = 0;
  LARDER_CHECK(object.each("between", [&](const json& end, const std::string& at) -> Status {
    if (!end.is_string()) return wrong(at, "wants the name of a part");
    if (ends < link.between.size()) link.between[ends] = end.get<std::string>();
    ++ends;
    return {};
  }));
  if (ends != link.between.size()) {
    return wrong(object.place("between"), std::to_string(ends) + " names where two belong");
  }
  LARDER_CHECK(object.number("bytes_per_second", link.per_second));
  LARDER_CHECK(object.number("count", link.count));
  LARDER_CHECK(object.flag("shared", link.shared));
  LARDER_CHECK(object.number("latency_ns", link.latency));
  links.push_back(std::move(link));
  return {};
}

Status read_costs(const json& value, const std::string& place, TransferCosts& costs) {
  LARDER_TRY(const Object object,
             Object::make(value, place,
                          {.allowed = {"posting_ns", "completion_ns", "registration_ns",
                                       "registration_ns_each_mib", "tcp_bytes_per_second"}}));
  LARDER_CHECK(object.number("posting_ns", costs.posting));
  LARDER_CHECK(object.number("completion_ns", costs.completion));
  LARDER_CHECK(object.number("registration_ns", costs.registration));
  LARDER_CHECK(object.number("registration_ns_each_mib", costs.registration_each_mib));
  return object.number("tcp_bytes_per_second", costs.tcp_per_second);
}

Status read_preset(const json& value, const std::string& place, std::vector<HardwareHost>& hosts) {
  LARDER_TRY(const Object object,
             Object::make(value, place, {.needed = {"preset", "count"}, .allowed = {"name"}}));
  LARDER_TRY(const std::string name, object.text("preset"));
  Result<Hardware> preset = hardware_preset(name);
  if (!preset) return wrong(object.place("preset"), preset.error().facts().detail);
  HardwareHost host = std::move(preset->hosts.front());
  LARDER_CHECK(object.number("count", host.count));
  if (object.has("name")) {
    LARDER_TRY(host.name, object.text("name"));
  }
  hosts.push_back(std::move(host));
  return {};
}

Status read_host(const json& value, const std::string& place, std::vector<HardwareHost>& hosts) {
  if (value.is_object() && value.contains("preset")) return read_preset(value, place, hosts);
  LARDER_TRY(const Object object,
             Object::make(value, place,
                          {.needed = {"name", "count", "parts", "links"}, .allowed = {"costs"}}));
  HardwareHost host;
  LARDER_TRY(host.name, object.text("name"));
  LARDER_CHECK(object.number("count", host.count));
  LARDER_CHECK(object.each("parts", [&](const json& part, const std::string& at) {
    return read_part(part, at, host.parts);
  }));
  LARDER_CHECK(object.each("links", [&](const json& link, const std::string& at) {
    return read_link(link, at, host.links);
  }));
  if (object.has("costs")) {
    LARDER_CHECK(read_costs(object.at("costs"), object.place("costs"), host.costs));
  }
  hosts.push_back(std::move(host));
  return {};
}

Status read_network(const json& value, const std::string& place, HardwareNetwork& network) {
  LARDER_TRY(
      const Object object,
      Object::make(value, place,
                   {.needed = {"hosts_per_leaf", "spines"},
                    .allowed = {"uplink_bytes_per_second", "nic_to_leaf_ns", "leaf_to_spine_ns"}}));
  LARDER_CHECK(object.number("hosts_per_leaf", network.hosts_per_leaf));
  LARDER_CHECK(object.number("spines", network.spines));
  LARDER_CHECK(object.number("uplink_bytes_per_second", network.uplink_per_second));
  LARDER_CHECK(object.number("nic_to_leaf_ns", network.nic_to_leaf));
  return object.number("leaf_to_spine_ns", network.leaf_to_spine);
}

// The text as JSON, without keys that stand twice in one object, of which the library would take
// the last.
Result<json> parse(std::string_view text) {
  if (text.size() > file_max) {
    return wrong("", std::to_string(text.size()) + " bytes: at most " + std::to_string(file_max));
  }
  std::vector<std::set<std::string>> keys;
  std::string doubled;
  const auto look = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && doubled.empty() &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      doubled = parsed.get<std::string>();
    }
    return true;
  };
  try {
    json value = json::parse(text, look);
    if (!doubled.empty()) return wrong("", in_quotes(doubled) + " stands twice in one object");
    return value;
  } catch (const json::exception& error) {
    return wrong("", "no JSON: " + printable(error.what(), 300));
  }
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
  return {{"name", host.name},
          {"count", host.count},
          {"parts", std::move(parts)},
          {"links", std::move(links)},
          {"costs",
           {{"posting_ns", host.costs.posting.count()},
            {"completion_ns", host.costs.completion.count()},
            {"registration_ns", host.costs.registration.count()},
            {"registration_ns_each_mib", host.costs.registration_each_mib.count()},
            {"tcp_bytes_per_second", host.costs.tcp_per_second.value}}}};
}

}  // namespace

Result<Hardware> read_hardware(std::string_view text) {
  LARDER_TRY(const json value, parse(text));
  LARDER_TRY(const Object object,
             Object::make(value, "", {.needed = {"hosts"}, .allowed = {"network"}}));
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
