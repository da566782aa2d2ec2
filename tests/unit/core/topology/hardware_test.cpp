#include "core/topology/hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

namespace larder {
namespace {

using testing::HasSubstr;

HardwareHost preset_host(std::string_view name) {
  return hardware_preset(name).value().hosts.front();
}

std::int64_t count(const HardwareHost& host, PartKind kind) {
  return std::ranges::count(host.parts, kind, &HardwarePart::kind);
}

TEST(HardwarePresets, AllCanBe) {
  for (const std::string_view name : hardware_preset_names()) {
    EXPECT_TRUE(check_hardware(hardware_preset(name).value())) << name;
  }
}

TEST(HardwarePresets, HaveTheGpusAndNicsOfTheirName) {
  struct Expected {
    std::string_view name;
    int gpus;
    int nics;
    std::uint64_t gigabits;
  };
  for (const auto& [name, gpus, nics, gigabits] :
       {Expected{"8xh800-8x200", 8, 8, 200}, Expected{"8xh800-4x200", 8, 4, 200},
        Expected{"8xa100-2x100", 8, 2, 100}, Expected{"8xh20-4x200", 8, 4, 200},
        Expected{"8xh200-8x400", 8, 8, 400}, Expected{"cpu-1x25", 0, 1, 25},
        Expected{"cpu-2x100", 0, 2, 100}}) {
    const HardwareHost host = preset_host(name);
    EXPECT_EQ(count(host, PartKind::gpu), gpus) << name;
    EXPECT_EQ(count(host, PartKind::nic), nics) << name;
    EXPECT_EQ(count(host, PartKind::socket), 2) << name;
    const auto nic = std::ranges::find(host.parts, PartKind::nic, &HardwarePart::kind);
    // What is left of the wire's rate for payload: less than all, more than 95 %.
    const double wire = static_cast<double>(gigabits) * 1e9 / 8;
    EXPECT_LT(static_cast<double>(nic->per_second.value), wire) << name;
    EXPECT_GT(static_cast<double>(nic->per_second.value), 0.95 * wire) << name;
  }
}

TEST(HardwarePresets, AnUnknownNameIsToldWhichThereAre) {
  const auto none = hardware_preset("8xh900");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::invalid_params);
  EXPECT_THAT(none.error().message(), HasSubstr("8xh800-8x200"));
}

// What is wrong in otherwise good hardware, and what the error must say.
struct Impossible {
  const char* what;
  std::function<void(Hardware&)> change;
  const char* place;
  const char* reason;
};

HardwareLink& link_to(Hardware& hardware, std::string_view below) {
  return *std::ranges::find_if(hardware.hosts[0].links,
                               [&](const HardwareLink& link) { return link.between[1] == below; });
}
HardwarePart& part(Hardware& hardware, std::string_view name) {
  return *std::ranges::find(hardware.hosts[0].parts, name, &HardwarePart::name);
}
void erase_link(Hardware& hardware, std::string_view below) {
  std::erase_if(hardware.hosts[0].links,
                [&](const HardwareLink& link) { return link.between[1] == below; });
}

const Impossible impossible[] = {
    {"no hosts", [](Hardware& h) { h.hosts.clear(); }, "/hosts: ", "there is none"},
    {"a GPU without a path to a NIC", [](Hardware& h) { erase_link(h, "gpu0"); }, "/hosts/0/parts/",
     "gpu 'gpu0' has no path to a NIC"},
    {"a socket without a path to a NIC",
     [](Hardware& h) {
       std::erase_if(h.hosts[0].parts,
                     [](const HardwarePart& each) { return each.name == "nic1"; });
       erase_link(h, "nic1");
       erase_link(h, "socket1");
     },
     "/hosts/0/parts/", "socket 'socket1' has no path to a NIC"},
    {"two halves with a NIC each", [](Hardware& h) { erase_link(h, "socket1"); }, "/hosts/0/parts/",
     "has no path to"},
    {"no NIC",
     [](Hardware& h) {
       std::erase_if(h.hosts[0].parts,
                     [](const HardwarePart& each) { return each.kind == PartKind::nic; });
     },
     "/hosts/0/parts: ", "there is no nic"},
    {"zero bandwidth", [](Hardware& h) { link_to(h, "gpu0").per_second = {}; }, "/hosts/0/links/",
     "/bytes_per_second: 0 is not from 1 to"},
    {"a NIC without bandwidth", [](Hardware& h) { part(h, "nic0").per_second = {}; },
     "/hosts/0/parts/", "/bytes_per_second: 0 is not"},
    {"a NIC without messages", [](Hardware& h) { part(h, "nic0").messages_per_second = 0; },
     "/hosts/0/parts/", "/messages_per_second: 0 is not"},
    {"a rail beyond all", [](Hardware& h) { part(h, "nic0").rail = 64; }, "/hosts/0/parts/",
     "/rail: 64 is not"},
    {"no memory", [](Hardware& h) { part(h, "dram1").capacity = {}; }, "/hosts/0/parts/",
     "/capacity_bytes: 0 is not"},
    {"absurd bandwidth", [](Hardware& h) { link_to(h, "gpu0").per_second = {~0ULL}; },
     "/hosts/0/links/", "/bytes_per_second: 18446744073709551615 is not"},
    {"no parallel link", [](Hardware& h) { link_to(h, "dram0").count = 0; }, "/hosts/0/links/",
     "/count: 0 is not"},
    {"a latency before time", [](Hardware& h) { link_to(h, "gpu0").latency = Duration(-1); },
     "/hosts/0/links/", "/latency_ns: -1 is not"},
    {"a name twice", [](Hardware& h) { part(h, "gpu1").name = "gpu0"; }, "/hosts/0/parts/",
     "'gpu0' is the name of /hosts/0/parts/"},
    {"a name with a slash", [](Hardware& h) { part(h, "gpu1").name = "a/b"; }, "/hosts/0/parts/",
     "/name: 'a/b' is no name"},
    {"no name", [](Hardware& h) { h.hosts[0].name.clear(); }, "/hosts/0/name: ", "is no name"},
    {"an end that is no part", [](Hardware& h) { link_to(h, "gpu0").between[1] = "gpu9"; },
     "/hosts/0/links/", "/between/1: 'gpu9' is no part of this host"},
    {"a link to itself", [](Hardware& h) { link_to(h, "gpu0").between[0] = "gpu0"; },
     "/hosts/0/links/", "/between: a part cannot be linked to itself"},
    {"a GPU on DRAM", [](Hardware& h) { link_to(h, "gpu0").between[0] = "dram0"; },
     "/hosts/0/links/", "cannot be linked"},
    {"a link twice", [](Hardware& h) { h.hosts[0].links.push_back(h.hosts[0].links[0]); },
     "/hosts/0/links/", "are linked already"},
    {"a GPU in two places",
     [](Hardware& h) {
       h.hosts[0].links.push_back({.between = {"root1", "gpu0"}, .per_second = {1}});
     },
     "/hosts/0/links/", "'gpu0' hangs on 'switch0' already"},
    {"no host of a kind", [](Hardware& h) { h.hosts[0].count = 0; },
     "/hosts/0/count: ", "0 is not"},
    {"too many hosts", [](Hardware& h) { h.hosts[0].count = 10'001; },
     "/hosts/0/count: ", "10001 is not"},
    {"a kind twice", [](Hardware& h) { h.hosts.push_back(h.hosts[0]); },
     "/hosts/1/name: ", "is the name of /hosts/0 already"},
    {"leaves that nothing joins", [](Hardware& h) { h.network.spines = 0; },
     "/network/spines: ", "only a spine joins"},
    {"uplinks without bandwidth", [](Hardware& h) { h.network.uplink_per_second = {}; },
     "/network/uplink_bytes_per_second: ", "0 is not"},
    {"no hosts on a leaf", [](Hardware& h) { h.network.hosts_per_leaf = 0; },
     "/network/hosts_per_leaf: ", "0 is not"},
    {"a leaf in a host", [](Hardware& h) { part(h, "gpu0").kind = PartKind::leaf; },
     "/hosts/0/parts/", "/kind: leaf is no part of a host"},
    {"TCP that copies nothing", [](Hardware& h) { h.hosts[0].costs.tcp_per_second = {}; },
     "/hosts/0/costs/tcp_bytes_per_second: ", "0 is not"},
    {"posting that takes forever", [](Hardware& h) { h.hosts[0].costs.posting = Duration::max(); },
     "/hosts/0/costs/posting_ns: ", "is not from 0 to 1000000000 ns"},
};

TEST(CheckHardware, RefusesWhatCannotBeAndNamesThePlace) {
  for (const auto& [what, change, place, reason] : impossible) {
    Hardware hardware = hardware_preset("8xa100-2x100").value();
    change(hardware);
    const Status checked = check_hardware(hardware);
    ASSERT_FALSE(checked) << what;
    EXPECT_EQ(checked.error().code(), ErrorCode::bad_file) << what;
    const std::string& text = checked.error().facts().detail;
    EXPECT_TRUE(text.starts_with(place)) << what << ": " << text;
    EXPECT_THAT(text, HasSubstr(reason)) << what;
  }
}

TEST(CheckHardware, PciSwitchesInARingHaveNoPath) {
  Hardware hardware = hardware_preset("8xa100-2x100").value();
  for (const char* name : {"a", "b", "c"}) {
    hardware.hosts[0].parts.push_back({.name = name, .kind = PartKind::pcie_switch});
  }
  for (const auto& [above, below] :
       {std::pair("a", "b"), std::pair("b", "c"), std::pair("c", "a")}) {
    hardware.hosts[0].links.push_back({.between = {above, below}, .per_second = {1}});
  }
  EXPECT_FALSE(check_hardware(hardware));
}

TEST(CheckHardware, OneLeafNeedsNoSpine) {
  Hardware hardware = hardware_preset("cpu-1x25").value();
  hardware.network.spines = 0;
  EXPECT_TRUE(check_hardware(hardware));
  hardware.network.hosts_per_leaf = 4;  // of 8 hosts
  EXPECT_FALSE(check_hardware(hardware));
}

}  // namespace
}  // namespace larder
