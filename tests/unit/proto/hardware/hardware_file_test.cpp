#include "proto/hardware/hardware_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace larder {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The smallest host that can be.
const std::string small = R"({
  "hosts": [
    {"name": "small", "count": 1,
     "parts": [{"name": "s", "kind": "socket"},
               {"name": "m", "kind": "dram", "capacity_bytes": 1024},
               {"name": "r", "kind": "root-port"},
               {"name": "n", "kind": "nic", "bytes_per_second": 3.125e9,
                "messages_per_second": 1000000, "rail": 0}],
     "links": [{"between": ["s", "m"], "bytes_per_second": 100, "count": 6, "shared": true,
                "latency_ns": 95},
               {"between": ["s", "r"], "bytes_per_second": 10, "latency_ns": 150},
               {"between": ["r", "n"], "bytes_per_second": 10, "latency_ns": 150}],
     "costs": {"posting_ns": 7}}
  ],
  "network": {"hosts_per_leaf": 4, "spines": 0, "nic_to_leaf_ns": 11}
})";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(HardwareFile, IsReadWithWhatItSaysAndDefaultsForTheRest) {
  const Hardware hardware = read_hardware(small).value();
  ASSERT_EQ(hardware.hosts.size(), 1u);
  const HardwareHost& host = hardware.hosts[0];
  EXPECT_EQ(host.parts[1], (HardwarePart{.name = "m", .kind = PartKind::dram, .capacity = {1024}}));
  EXPECT_EQ(host.parts[3].per_second, Bytes{3'125'000'000});
  EXPECT_EQ(host.links[0], (HardwareLink{.between = {"s", "m"},
                                         .per_second = {100},
                                         .count = 6,
                                         .shared = true,
                                         .latency = Duration(95)}));
  EXPECT_EQ(host.links[1].count, 1u);
  EXPECT_EQ(host.costs.posting, Duration(7));
  EXPECT_EQ(host.costs.completion, TransferCosts{}.completion);
  EXPECT_EQ(hardware.network.nic_to_leaf, Duration(11));
  EXPECT_EQ(hardware.network.leaf_to_spine, HardwareNetwork{}.leaf_to_spine);
}

TEST(HardwareFile, EveryPresetIsReadBackAsItWasWritten) {
  for (const std::string_view name : hardware_preset_names()) {
    const Hardware hardware = hardware_preset(name).value();
    const auto read = read_hardware(write_hardware(hardware));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, hardware) << name;
  }
}

TEST(HardwareFile, AHostMayHaveAPrice) {
  const std::string priced = replaced(small, R"("costs")", R"("price_per_hour": 2.25, "costs")");
  const Hardware hardware = read_hardware(priced).value();
  EXPECT_EQ(hardware.hosts[0].price_per_hour, 2.25);
  EXPECT_EQ(read_hardware(write_hardware(hardware)).value(), hardware);
  EXPECT_EQ(read_hardware(small).value().hosts[0].price_per_hour, std::nullopt);
  const Hardware preset =
      read_hardware(R"({"hosts": [{"preset": "cpu-1x25", "count": 3, "price_per_hour": 1}]})")
          .value();
  EXPECT_EQ(preset.hosts[0].price_per_hour, 1);
  for (const char* price : {"-1", "1e10", "\"2\""}) {
    const auto bad = read_hardware(replaced(priced, "2.25", price));
    ASSERT_FALSE(bad) << price;
    EXPECT_THAT(bad.error().message(), HasSubstr("/hosts/0/price_per_hour"));
  }
}

TEST(HardwareFile, TellsHowManyCoresThereAreOrNot) {
  EXPECT_EQ(read_hardware(small)->hosts[0].cores, 0u);
  EXPECT_EQ(write_hardware(*read_hardware(small)).find("cores"), std::string::npos);
  const Hardware told =
      read_hardware(replaced(small, "\"count\": 1,", "\"count\": 1, \"cores\": 64,")).value();
  EXPECT_EQ(told.hosts[0].cores, 64u);
  EXPECT_EQ(read_hardware(write_hardware(told)).value(), told);
  const auto many =
      read_hardware(replaced(small, "\"count\": 1,", "\"count\": 1, \"cores\": 5000,"));
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().facts().detail, HasSubstr("/hosts/0/cores: 5000 is not from 0 to 4096"));
}

TEST(HardwareFile, TakesHostsFromPresets) {
  const Hardware hardware = read_hardware(R"({"hosts": [{"preset": "8xh20-4x200", "count": 3},
                                  {"preset": "cpu-2x100", "count": 2, "name": "pool"}],
                        "network": {"hosts_per_leaf": 8, "spines": 2,
                                    "uplink_bytes_per_second": 1e11}})")
                                .value();
  ASSERT_EQ(hardware.hosts.size(), 2u);
  EXPECT_EQ(hardware.hosts[0].name, "8xh20-4x200");
  EXPECT_EQ(hardware.hosts[0].count, 3u);
  EXPECT_EQ(hardware.hosts[1].name, "pool");
  EXPECT_EQ(hardware.hosts[1].parts, hardware_preset("cpu-2x100").value().hosts[0].parts);
}

struct Bad {
  std::string text;
  const char* place;
  const char* reason;
};

TEST(HardwareFile, E10ABadFileIsAnErrorThatNamesThePlace) {
  const std::pair<const char*, Bad> table[] = {
      {"empty", {"", "the file: no JSON: line 1, column 1", ""}},
      {"cut off", {small.substr(0, 100), "the file: no JSON: line 5", ""}},
      {"no object", {"[]", "the file: array where an object belongs", "hosts"}},
      {"no hosts", {"{}", "the file: 'hosts' is missing", ""}},
      {"an empty list", {R"({"hosts": []})", "/hosts: ", "there is none"}},
      {"hosts that are no list", {R"({"hosts": 3})", "/hosts: ", "number where a list belongs"}},
      {"a host that is none",
       {R"({"hosts": [7]})", "/hosts/0: ", "number where an object belongs"}},
      {"an unknown key",
       {replaced(small, "\"network\"", "\"netwrok\""), "the file: 'netwrok' is no key here",
        "there are hosts, network"}},
      {"an unknown key of a link",
       {replaced(small, "\"count\": 6", "\"lanes\": 6"), "/hosts/0/links/0: 'lanes' is no key here",
        "between"}},
      {"a key twice",
       {replaced(small, "\"count\": 1", "\"count\": 1, \"count\": 2"),
        "the file: 'count' stands twice", ""}},
      {"a missing key",
       {replaced(small, ", \"latency_ns\": 150", ""), "/hosts/0/links/1: 'latency_ns' is missing",
        ""}},
      {"a number that is text",
       {replaced(small, "1024", "\"1KiB\""),
        "/hosts/0/parts/1/capacity_bytes: ", "string where a number belongs"}},
      {"a negative number",
       {replaced(small, "1024", "-1"), "/hosts/0/parts/1/capacity_bytes: ", "-1 is no whole"}},
      {"a fraction",
       {replaced(small, "1024", "1.5"), "/hosts/0/parts/1/capacity_bytes: ", "1.5 is no whole"}},
      {"a number beyond all",
       {replaced(small, "1024", "1e300"), "/hosts/0/parts/1/capacity_bytes: ", "too large"}},
      {"a count beyond 32 bits",
       {replaced(small, "\"count\": 6", "\"count\": 4294967297"),
        "/hosts/0/links/0/count: ", "too large"}},
      {"a flag that is none",
       {replaced(small, "true", "1"), "/hosts/0/links/0/shared: ", "true or false"}},
      {"a part without kind",
       {replaced(small, ", \"kind\": \"socket\"", ""), "/hosts/0/parts/0: ", "a kind: socket"}},
      {"an unknown kind",
       {replaced(small, "\"socket\"", "\"cpu\""), "/hosts/0/parts/0/kind: 'cpu' is no kind",
        "pcie-switch"}},
      {"a leaf in a host",
       {replaced(small, "\"socket\"", "\"leaf\""), "/hosts/0/parts/0/kind: ", "no kind"}},
      {"a key of another kind of part",
       {replaced(small, "\"socket\"", "\"socket\", \"rail\": 1"),
        "/hosts/0/parts/0: 'rail' is no key", "name, kind"}},
      {"three ends",
       {replaced(small, "[\"s\", \"m\"]", "[\"s\", \"m\", \"r\"]"), "/hosts/0/links/0/between: 3",
        "two"}},
      {"an end that is a number",
       {replaced(small, "[\"s\", \"m\"]", "[\"s\", 3]"), "/hosts/0/links/0/between/1: ", "name"}},
      {"an end that is nowhere",
       {replaced(small, "[\"s\", \"m\"]", "[\"s\", \"x\"]"),
        "/hosts/0/links/0/between/1: ", "'x' is no part"}},
      {"zero bandwidth",
       {replaced(small, "\"bytes_per_second\": 100", "\"bytes_per_second\": 0"),
        "/hosts/0/links/0/bytes_per_second: ", "0 is not from 1"}},
      {"an unknown preset",
       {R"({"hosts": [{"preset": "x", "count": 1}]})", "/hosts/0/preset: ", "cpu-1x25"}},
      {"a preset without count",
       {R"({"hosts": [{"preset": "cpu-1x25"}]})", "/hosts/0: 'count' is missing", ""}},
      {"a preset with parts",
       {R"({"hosts": [{"preset": "cpu-1x25", "count": 1, "parts": []}]})",
        "/hosts/0: 'parts' is no key", "preset, count"}},
      {"a cost that is none",
       {replaced(small, "\"posting_ns\": 7", "\"posting\": 7"), "/hosts/0/costs: 'posting'",
        "posting_ns"}},
      {"a network without leaves",
       {replaced(small, "\"hosts_per_leaf\": 4, ", ""), "/network: 'hosts_per_leaf' is missing",
        ""}},
  };
  for (const auto& [what, bad] : table) {
    const auto read = read_hardware(bad.text);
    ASSERT_FALSE(read) << what;
    EXPECT_EQ(read.error().code(), ErrorCode::bad_file) << what;
    EXPECT_THAT(read.error().facts().detail, StartsWith(bad.place)) << what;
    EXPECT_THAT(read.error().facts().detail, HasSubstr(bad.reason)) << what;
  }
}

TEST(HardwareFile, E10EveryPrefixOfAFileIsRefused) {
  for (std::size_t length = 0; length + 1 < small.size(); ++length) {
    EXPECT_FALSE(read_hardware(std::string_view(small).substr(0, length))) << length;
  }
}

TEST(HardwareFile, E10DeepNestingIsNoCrash) {
  EXPECT_FALSE(read_hardware(std::string(100'000, '[')));
  const auto deep =
      read_hardware("{\"hosts\": " + std::string(10'000, '[') + std::string(10'000, ']') + "}");
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().facts().detail, HasSubstr("more than 64 deep"));
}

// What a small file could ask for is bounded: a graph of it fits into memory.
TEST(HardwareFile, E10AFewBytesCannotAskForAClusterWithoutEnd) {
  Hardware hardware = read_hardware(small).value();
  hardware.hosts[0].count = 10'000;
  hardware.network = {.hosts_per_leaf = 1, .spines = 1'024, .uplink_per_second = Bytes{1}};
  EXPECT_THAT(check_hardware(hardware).error().facts().detail,
              StartsWith("/network/spines: 1024 make 10240000 uplinks"));
  hardware.network = {.hosts_per_leaf = 10'000};
  for (int part = 0; part < 500; ++part) {
    hardware.hosts[0].parts.push_back(
        {.name = "d" + std::to_string(part), .kind = PartKind::disk, .capacity = Bytes{1}});
    hardware.hosts[0].links.push_back(
        {.between = {"r", "d" + std::to_string(part)}, .per_second = Bytes{1}});
  }
  EXPECT_THAT(check_hardware(hardware).error().facts().detail,
              StartsWith("/hosts/0/count: more than 4000000 parts"));
  hardware.hosts.resize(33, hardware.hosts[0]);
  EXPECT_THAT(check_hardware(hardware).error().facts().detail, StartsWith("/hosts: 33 kinds"));
}

TEST(HardwareFile, E10SwitchesBehindSwitchesHaveAnEnd) {
  Hardware hardware = read_hardware(small).value();
  std::string above = "r";
  for (int each = 0; each < 17; ++each) {
    const std::string name = "w" + std::to_string(each);
    hardware.hosts[0].parts.push_back({.name = name, .kind = PartKind::pcie_switch});
    hardware.hosts[0].links.push_back({.between = {above, name}, .per_second = Bytes{1}});
    above = name;
  }
  EXPECT_THAT(check_hardware(hardware).error().facts().detail,
              HasSubstr("pcie-switch 'w15' hangs more than 16 links below its socket"));
  hardware.hosts[0].parts.resize(hardware.hosts[0].parts.size() - 2);
  hardware.hosts[0].links.resize(hardware.hosts[0].links.size() - 2);
  EXPECT_TRUE(check_hardware(hardware));
}

}  // namespace
}  // namespace larder
