#include "real/system/nics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <tuple>

#include "core/topology/link_rates.h"
#include "real/system/kernel_files.h"

namespace larder::real {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t nics_max = 64;

// A port, and whatever speaks against it.
struct Found {
  MachineNic nic;
  std::string physical;  // the function of which this is a virtual one
  std::string trouble;
};

// "0000:3b:00.1"
bool is_pci_address(std::string_view name) {
  if (name.size() < 12 || name[name.size() - 8] != ':' || name[name.size() - 5] != ':') {
    return false;
  }
  return name[name.size() - 2] == '.' && std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
         });
}

// Of "400 Gb/sec (4X NDR)" or "16.0 GT/s PCIe" the number times `times`; 0 if there is none.
std::uint64_t leading_number(std::string_view text, double times) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number > 0 && number < 1e8)) return 0;
  return static_cast<std::uint64_t>(std::llround(number * times));
}

Bytes bus_rate(const fs::path& function) {
  const std::uint64_t transfers = leading_number(text_of(function / "current_link_speed"), 10);
  const auto lanes = number_of(text_of(function / "current_link_width")).value_or(0);
  constexpr std::uint64_t lanes_max = 32;
  return lanes > lanes_max ? Bytes{} : pcie_rate(transfers, lanes);
}

// Where the device behind an entry of a class stands: its PCI function and its NUMA node, which
// stand in it or in what it hangs on. False where there is no device behind it.
bool find_device(const fs::path& entry, const fs::path& sys, Found& found) {
  std::error_code error;
  const fs::path device = fs::canonical(entry / "device", error);
  const fs::path devices = error ? fs::path() : fs::canonical(sys, error) / "devices";
  if (error) return false;
  // In a recorded tree the devices may stand in the class itself.
  for (fs::path at = device; at.has_relative_path() && at != devices; at = at.parent_path()) {
    const auto node = number_of<std::int64_t>(text_of(at / "numa_node"));
    if (!found.nic.numa_node && node && *node >= 0) {
      found.nic.numa_node = static_cast<std::uint32_t>(*node);
    }
    if (!found.nic.address.empty() || !is_pci_address(at.filename().string())) continue;
    found.nic.address = at.filename().string();
    found.nic.bus_per_second = bus_rate(at);
    const fs::path physical = fs::read_symlink(at / "physfn", error);
    if (!error) found.physical = physical.filename().string();
  }
  return true;
}

std::string port_trouble(const std::string& state, const std::string& physical,
                         const std::string& link) {
  if (state == "ACTIVE") return "";
  const std::string is = fmt::format("its port is {}", state.empty() ? "in no state" : state);
  if (state == "INIT" && link == "InfiniBand") return is + ": no subnet manager has set it up";
  return fmt::format("{}, physically {}: look at its cable and the far side", is,
                     physical.empty() ? "unknown" : physical);
}

void read_rdma(const fs::path& sys, std::vector<Found>& all) {
  const fs::path devices = sys / "class/infiniband";
  for (const std::string& device : names_in(devices)) {
    const std::vector<std::string> ports = names_in(devices / device / "ports");
    for (const std::string& port : ports) {
      const fs::path files = devices / device / "ports" / port;
      Found found;
      found.nic.name = ports.size() == 1 ? device : device + "." + port;
      std::error_code missing;
      // Soft RoCE names the interface that it is over.
      const bool is_card = find_device(devices / device, sys, found) &&
                           !fs::exists(devices / device / "parent", missing);
      if (!is_card) found.nic.address.clear();
      found.nic.per_second = port_rate(leading_number(text_of(files / "rate"), 1'000));
      found.trouble = is_card ? port_trouble(behind_colon(text_of(files / "state")),
                                             behind_colon(text_of(files / "phys_state")),
                                             text_of(files / "link_layer"))
                              : "it is software over a network interface, which is used without it";
      all.push_back(std::move(found));
    }
  }
}

std::string interface_trouble(const std::string& name, const fs::path& files) {
  std::error_code error;
  if (fs::exists(files / "wireless", error) || fs::exists(files / "phy80211", error)) {
    return "it is wireless";
  }
  constexpr std::uint64_t set_up = 1;
  std::string flags = text_of(files / "flags");
  if (flags.starts_with("0x")) flags.erase(0, 2);
  if ((number_of(flags, 16).value_or(set_up) & set_up) == 0) {
    return fmt::format("it is not set up: ip link set dev {} up", name);
  }
  const std::string state = text_of(files / "operstate");
  if (state == "up" || (state == "unknown" && text_of(files / "carrier") == "1")) return "";
  return fmt::format("its link is {}: look at its cable and the far side",
                     state.empty() ? "in no state" : state);
}

// The interface of an RDMA port is the same card, and was read with it.
bool is_rdma_port(const Found& interface, std::uint64_t port, const std::vector<Found>& rdma) {
  if (interface.nic.address.empty()) return false;
  const auto same_function = [&](const Found& each) {
    return each.nic.address == interface.nic.address;
  };
  const auto ports = std::ranges::count_if(rdma, same_function);
  if (ports < 2) return ports == 1;
  return std::ranges::any_of(rdma, [&](const Found& each) {
    return same_function(each) && each.nic.name.ends_with("." + std::to_string(port));
  });
}

void read_interfaces(const fs::path& sys, std::vector<Found>& all) {
  const std::vector<Found> rdma = all;
  const fs::path interfaces = sys / "class/net";
  for (const std::string& name : names_in(interfaces)) {
    const fs::path files = interfaces / name;
    Found found;
    found.nic.name = name;
    if (!find_device(files, sys, found)) continue;
    const std::uint64_t port = number_of(text_of(files / "dev_port")).value_or(0) + 1;
    if (is_rdma_port(found, port, rdma)) continue;
    found.nic.per_second = port_rate(leading_number(text_of(files / "speed"), 1));
    found.trouble = interface_trouble(name, files);
    all.push_back(std::move(found));
  }
}

}  // namespace

MachineNics read_nics(const fs::path& root) {
  std::vector<Found> all;
  read_rdma(root / "sys", all);
  read_interfaces(root / "sys", all);
  std::ranges::sort(all, {},
                    [](const Found& found) { return std::tie(found.nic.address, found.nic.name); });
  MachineNics nics;
  for (const Found& found : all) {
    std::string trouble = found.trouble;
    const auto physical = std::ranges::find_if(all, [&](const Found& each) {
      return !found.physical.empty() && each.nic.address == found.physical;
    });
    if (physical != all.end()) {
      trouble =
          fmt::format("it is a virtual function of {}, whose port it shares", physical->nic.name);
    } else if (trouble.empty() && found.nic.per_second == Bytes{}) {
      trouble = "the kernel does not tell the rate of its link";
    } else if (trouble.empty() && nics.usable.size() == nics_max) {
      trouble = fmt::format("{} others come before it, as many as are used", nics_max);
    }
    if (trouble.empty()) {
      nics.usable.push_back(found.nic);
    } else {
      nics.excluded.push_back({.name = found.nic.name, .reason = std::move(trouble)});
    }
  }
  return nics;
}

}  // namespace larder::real
