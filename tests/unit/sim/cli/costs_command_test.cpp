// What was calibrated, in the commands that plan.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "proto/calibration/calibration_files.h"
#include "proto/hardware/hardware_file.h"
#include "tests/files/temporary.h"
#include "tests/unit/sim/cli/ran.h"
#include "tests/unit/sim/cli/small_commands.h"

namespace larder::sim {
namespace {

using nlohmann::json;

// All steps take so long, half of it and twice as long at the ends.
CalibratedCosts costs_of(std::uint64_t nanoseconds) {
  CallCosts costs;
  for (const auto& [name, member] : cost_names) {
    costs.*member = {.value = nanoseconds, .low = nanoseconds / 2, .high = nanoseconds * 2};
  }
  costs.thread_rate = {.value = 2'000'000'000, .low = 1'000'000'000, .high = 4'000'000'000};
  return {.machine = {.processor = "a processor", .cores = 4, .date = "2026-12-01"},
          .transports = {{.transport = CalibratedTransport::tcp, .costs = costs}},
          .not_measured = {}};
}

// What larder calibrate writes, of a machine of four cores whose memory moves 5 GB/s.
struct CalibratedDirectory : TemporaryDirectory {
  CalibratedDirectory() {
    file("costs.json", write_costs(costs_of(10'000)));
    const HardwareHost host{
        .name = "this-machine",
        .cores = 4,
        .parts = {{.name = "socket0", .kind = PartKind::socket},
                  {.name = "dram0", .kind = PartKind::dram, .capacity = Bytes{24ull << 30}},
                  {.name = "root0", .kind = PartKind::root_port},
                  {.name = "nic0",
                   .kind = PartKind::nic,
                   .per_second = Bytes{2'000'000'000},
                   .messages_per_second = 1'000'000}},
        .links = {{.between = {"socket0", "dram0"}, .per_second = Bytes{5'000'000'000}},
                  {.between = {"socket0", "root0"}, .per_second = Bytes{2'000'000'000}},
                  {.between = {"root0", "nic0"}, .per_second = Bytes{2'000'000'000}}}};
    const Hardware machine{.hosts = {host}, .network = {}};
    file("host.json", write_hardware(machine));
  }
  std::string costs() const { return (path() / "costs.json").string(); }
};

double ttft(const json& run) { return run.at("ttft").at("mean_s"); }

json replayed(const std::vector<std::string>& more) {
  const Ran ran = run(small("replay", more));
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out);
}

TEST(Costs, StandInPlaceOfTheAssumedOnesAndGiveAnInterval) {
  const CalibratedDirectory here;
  const json assumed = replayed({"--json", "--transport", "tcp"});
  EXPECT_TRUE(assumed.at("calibration").is_null());
  const json measured = replayed({"--json", "--transport", "tcp", "--costs", here.costs()});
  EXPECT_NE(measured.at("state_hash"), assumed.at("state_hash"));
  EXPECT_EQ(measured.at("setting").at("costs"), here.costs());
  EXPECT_EQ(measured.at("calibration"), json::parse(text_of(here.costs())));
  EXPECT_EQ(measured.at("hardware"), assumed.at("hardware")) << "a file tells of no memory";
  const json& spread = measured.at("spread");
  EXPECT_EQ(spread.at("seeds"), 1);
  EXPECT_EQ(spread.at("runs"), 3);
  EXPECT_LT(spread.at("ttft_mean_s").at("least"), ttft(measured));
  EXPECT_GT(spread.at("ttft_mean_s").at("most"), ttft(measured));
  // The ends themselves, which have no interval of their own.
  const json fast =
      replayed({"--json", "--transport", "tcp", "--costs", here.costs(), "--costs-at", "fastest"});
  EXPECT_EQ(ttft(fast), spread.at("ttft_mean_s").at("least"));
  EXPECT_EQ(fast.at("spread").at("runs"), 1);
  const json seeds =
      replayed({"--json", "--transport", "tcp", "--costs", here.costs(), "--seeds", "2"});
  EXPECT_EQ(seeds.at("spread").at("seeds"), 2);
  EXPECT_EQ(seeds.at("spread").at("runs"), 6);
}

TEST(Costs, OfADirectoryAreThoseThatWereFittedWithTheRateOfTheMemory) {
  const CalibratedDirectory here;
  const json measured = replayed({"--json", "--costs", here.path()});
  EXPECT_EQ(measured.at("calibration"), json::parse(text_of(here.costs())));
  double memory = 0;
  for (const json& link : measured.at("hardware").at("hosts").at(0).at("links")) {
    if (link.at("between")[1].get<std::string>().starts_with("dram")) {
      memory += link.at("bytes_per_second").get<double>() * link.value("count", 1);
    }
  }
  EXPECT_NEAR(memory, 5e9, 100);
  here.file("fitted.json", write_costs(costs_of(20'000)));
  const Ran ran = run(small("replay", {"--costs", here.path()}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("fitted.json: a processor, 4 cores, 2026-12-01"), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("Over 1 seed and the intervals of the calibration"), std::string::npos);
  EXPECT_NE(ran.out.find("does not tell its hosts' cores"), std::string::npos) << ran.out;
}

TEST(Costs, AreInTheRunsFileSoThatItCanBeMadeAgainWithoutThem) {
  const CalibratedDirectory here;
  const TemporaryDirectory directory;
  const auto out = directory.path() / "run";
  ASSERT_EQ(run(small("replay", {"--costs", here.path(), "--out", out})).code, 0);
  std::filesystem::remove_all(here.path());
  const Ran ran = run({"explain", out});
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(Costs, MachinesLikeTheCalibratedOneMakeACluster) {
  const CalibratedDirectory here;
  const std::string cluster = "calibrated:" + here.path().string();
  const json run_file = replayed({"--json", "--cluster", cluster, "--hosts", "3", "--serving",
                                  "off", "--nodes", "3", "--transport", "tcp"});
  EXPECT_EQ(run_file.at("calibration"), json::parse(text_of(here.costs())));
  EXPECT_EQ(run_file.at("hardware").at("hosts").at(0).at("name"), "this-machine");
  EXPECT_EQ(run_file.at("nodes").at(2).at("host"), 2);
  EXPECT_GT(run_file.at("pages").at("pool_hits"), 0);
  EXPECT_EQ(run({"hardware", cluster}).code, 0);
}

TEST(Costs, APlanMeetsItsObjectivesAtBothEnds) {
  const CalibratedDirectory here;
  const auto plan = [&](const std::string& slo) {
    const Ran ran =
        run(small("plan", {"--costs", here.costs(), "--transport", "tcp", "--slo", slo, "--price",
                           "8xh800-8x200=20", "--vary", "engines=2", "--json"}));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out).at("candidates").at(0);
  };
  const json candidate = plan("ttft_mean<1000s");
  const json& between = candidate.at("spread").at("ttft_mean_s");
  EXPECT_TRUE(candidate.at("meets"));
  EXPECT_LT(between.at("least"), between.at("most"));
  // What holds at the values and not at the slowest end is not met.
  const double middle = candidate.at("first_objective");
  const double most = between.at("most");
  ASSERT_LT(middle, most);
  EXPECT_FALSE(plan("ttft_mean<" + std::to_string((middle + most) / 2) + "s").at("meets"));
}

TEST(Costs, ASweepVariesTheEnds) {
  const CalibratedDirectory here;
  const TemporaryDirectory directory;
  const std::string spec = directory.file(
      "spec.json",
      R"({"trace": "workloads/samples/sessions.jsonl",
          "setting": {"model": "llama-3.1-8b", "hosts": 2, "engines": 2, "gpus-per-engine": 1,
                      "host-memory": "128GiB", "nodes": 2, "memory-per-node": "8GiB",
                      "transport": "tcp", "requests-max": 60, "costs": ")" +
          here.costs() + R"("}, "vary": {"costs-at": ["fastest", "value", "slowest"]}})");
  const Ran ran = run({"sweep", spec, "--out", directory.path() / "out"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string rows = text_of(directory.path() / "out/sweep.csv");
  EXPECT_NE(rows.find("\n0,fastest,1,,60,"), std::string::npos) << rows;
  EXPECT_NE(rows.find("\n2,slowest,1,,60,"), std::string::npos) << rows;
}

TEST(Costs, OfASweepMayStandBesideItsSpec) {
  const CalibratedDirectory here;
  const TemporaryDirectory directory;
  const std::string spec = directory.file("spec.json",
                                          R"({"trace": "workloads/samples/sessions.jsonl",
          "setting": {"model": "llama-3.1-8b", "hosts": 2, "engines": 2, "gpus-per-engine": 1,
                      "host-memory": "128GiB", "nodes": 2, "transport": "tcp",
                      "requests-max": 60},
          "vary": {"memory-per-node": ["4GiB", "8GiB"]}})");
  const auto out = directory.path() / "out";
  const Ran ran = run({"sweep", spec, "--out", out, "--costs", here.costs()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string rows = text_of(out / "sweep.csv");
  EXPECT_TRUE(rows.starts_with("run,costs-at,memory-per-node,seed,")) << rows;
  EXPECT_NE(rows.find("\n5,slowest,8GiB,1,,60,"), std::string::npos) << rows;
  // What was run is in the directory's spec, and without the costs it is another sweep.
  EXPECT_EQ(json::parse(text_of(out / "spec.json")).at("setting").at("costs"), here.costs());
  const Ran other = run({"sweep", spec, "--out", out, "--resume"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("another spec"), std::string::npos) << other.err;
}

TEST(Costs, WhatIsWrongIsSaidWithItsPlace) {
  const CalibratedDirectory here;
  const TemporaryDirectory empty;
  CalibratedCosts local = costs_of(1'000);
  local.transports.front().transport = CalibratedTransport::local;
  const std::string no_tcp = empty.file("local.json", write_costs(local));
  const std::string damaged = empty.file("damaged.json", "{\"machine\": 5}");
  for (const auto& [flags, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--costs", "/nowhere"}, "/nowhere"},
           {{"--costs", empty.path()}, "costs.json"},
           {{"--costs", damaged}, "damaged.json: "},
           {{"--costs", no_tcp}, "costs: the calibration has none of tcp"},
           {{"--costs-at", "slowest"}, "costs-at is slowest"},
           {{"--costs", here.costs(), "--costs-at", "middle"}, "--costs-at"},
           {{"--cluster", "calibrated:" + empty.path().string()}, "host.json"}}) {
    const Ran ran = run(small("replay", flags));
    EXPECT_NE(ran.code, 0) << says;
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("preset"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace larder::sim
