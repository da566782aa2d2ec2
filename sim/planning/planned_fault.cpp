#include "sim/planning/planned_fault.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "core/base/duration_text.h"
#include "core/base/printable.h"

namespace larder::sim {
namespace {

using Kind = PlannedFault::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 4> kinds{
    {{"node", Kind::node}, {"host", Kind::host}, {"nic", Kind::nic}, {"master", Kind::master}}};

std::unexpected<Error> wrong(std::string_view text, std::string_view what) {
  return failed(ErrorCode::invalid_params,
                in_quotes(text) + " is no fault: " + std::string(what) +
                    "; such as node:3@600s+120s, host:3@600s, nic:host3/nic1@600s+60s, "
                    "master@600s+10s");
}

bool read_number(std::string_view text, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// As a hardware file allows them, behind their host.
bool is_part_name(std::string_view text) {
  constexpr std::size_t longest = 100;
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  });
}

Status read_subject(std::string_view text, std::string_view subject, PlannedFault& fault) {
  const std::size_t colon = subject.find(':');
  const std::string_view kind = subject.substr(0, colon);
  const auto* found = std::ranges::find(kinds, kind, &std::pair<std::string_view, Kind>::first);
  if (found == kinds.end()) return wrong(text, "it is of a node, host, nic or master");
  fault.kind = found->second;
  const bool named = colon != std::string_view::npos;
  if (fault.kind == Kind::master) {
    return named ? Status(wrong(text, "there is one master, which has no number")) : Status();
  }
  if (!named) return wrong(text, "it does not say which one");
  const std::string_view which = subject.substr(colon + 1);
  if (fault.kind == Kind::nic) {
    if (!is_part_name(which)) return wrong(text, "a NIC is named by its host and itself");
    fault.nic = which;
    return {};
  }
  return read_number(which, fault.number) ? Status() : wrong(text, "nodes and hosts have numbers");
}

}  // namespace

Result<PlannedFault> parse_fault(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return wrong(text, "it does not say when (@600s)");
  PlannedFault fault;
  LARDER_CHECK(read_subject(text, text.substr(0, at), fault));
  const std::string_view times = text.substr(at + 1);
  const std::size_t plus = times.find('+');
  const auto begins = parse_duration(times.substr(0, plus));
  if (!begins) return wrong(text, begins.error().facts().detail);
  fault.at = *begins;
  if (plus == std::string_view::npos) return fault;
  const auto lasts = parse_duration(times.substr(plus + 1));
  if (!lasts) return wrong(text, lasts.error().facts().detail);
  if (*lasts == Duration(0)) return wrong(text, "it must last for some time");
  fault.lasts = *lasts;
  return fault;
}

std::string fault_text(const PlannedFault& fault) {
  std::string text(kinds[static_cast<std::size_t>(fault.kind)].first);
  if (fault.kind == Kind::nic) text += ":" + fault.nic;
  if (fault.kind == Kind::node || fault.kind == Kind::host) {
    text += ":" + std::to_string(fault.number);
  }
  text += "@" + duration_text(fault.at);
  if (fault.lasts != Duration::max()) text += "+" + duration_text(fault.lasts);
  return text;
}

Result<std::vector<PlannedFault>> parse_faults(std::string_view text) {
  std::vector<PlannedFault> faults;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    LARDER_TRY(PlannedFault fault, parse_fault(text.substr(0, comma)));
    faults.push_back(std::move(fault));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return faults;
}

std::string faults_text(const std::vector<PlannedFault>& faults) {
  std::string text;
  for (const PlannedFault& fault : faults) text += (text.empty() ? "" : ",") + fault_text(fault);
  return text;
}

Result<PartId> find_nic(const Topology& topology, std::string_view name) {
  const std::size_t slash = name.find('/');
  std::uint32_t host = 0;
  if (name.starts_with("host") && slash != std::string_view::npos &&
      read_number(name.substr(4, slash - 4), host) && host < topology.hosts()) {
    const auto part = topology.find(host, name.substr(slash + 1));
    if (part && topology.kind(*part) == PartKind::nic) return *part;
  }
  return failed(
      ErrorCode::invalid_params,
      in_quotes(name) + " is no NIC of this cluster; such as " + topology.name(topology.nic(0, 0)));
}

}  // namespace larder::sim
