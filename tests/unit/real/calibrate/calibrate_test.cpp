#include "real/calibrate/calibrate.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "proto/calibration/calibration_files.h"
#include "real/calibrate/machine_rates.h"

namespace larder::real {
namespace {

using namespace literals;

TEST(CalibrationPlan, TheFullOneHasWhatIsPromisedAndTakesMinutes) {
  const CalibrationPlan plan = full_plan();
  std::set<Bytes> sizes;
  std::set<std::uint32_t> clients;
  std::set<std::uint32_t> batches;
  std::set<Workload::Operation> operations;
  std::set<CalibratedTransport> transports;
  for (const Workload& workload : plan.workloads) {
    EXPECT_EQ(std::ranges::count(plan.workloads, workload), 1) << to_string(workload);
    EXPECT_LE(workload.size * stored_values(workload.size), 256_MiB);
    EXPECT_LE(workload.batch, stored_values(workload.size)) << to_string(workload);
    sizes.insert(workload.size);
    clients.insert(workload.clients);
    batches.insert(workload.batch);
    operations.insert(workload.operation);
    transports.insert(workload.transport);
  }
  EXPECT_EQ(plan.runs, 5u);
  EXPECT_EQ(*sizes.begin(), 4_KiB);
  EXPECT_EQ(*sizes.rbegin(), 16_MiB);
  EXPECT_EQ(clients, (std::set<std::uint32_t>{1, 2, 4}));
  EXPECT_EQ(*batches.begin(), 1u);
  EXPECT_EQ(*batches.rbegin(), 128u);
  EXPECT_EQ(operations.size(), 3u);
  EXPECT_EQ(transports.size(), 2u);
  EXPECT_LT(duration_of(plan), std::chrono::minutes(5));
  EXPECT_LT(duration_of(quick_plan()), std::chrono::seconds(2));
}

// Every second workload of a transport judges what was fitted on the others: both halves have each
// operation and each size.
TEST(CalibrationPlan, BothHalvesHaveEachOperationAndEachSize) {
  for (const auto& [name, transport] : transport_names) {
    std::set<std::pair<Workload::Operation, Bytes>> halves[2];
    std::size_t index = 0;
    for (const Workload& workload : full_plan().workloads) {
      if (workload.transport != transport) continue;
      halves[index++ % 2].insert({workload.operation, workload.size});
    }
    EXPECT_EQ(halves[0].size(), 12u) << name;
    EXPECT_EQ(halves[0], halves[1]) << name;
  }
}

TEST(Calibrate, C8EachNicThatIsNotUsedIsLoggedWithItsReason) {
  std::ostringstream out;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "captured", std::make_shared<spdlog::sinks::ostream_sink_mt>(out)));
  const MachineNics nics = read_nics("tests/data/machines/rdma8");
  log_excluded(nics);
  spdlog::set_default_logger(before);
  ASSERT_EQ(nics.excluded.size(), 7u);
  for (const auto& [name, reason] : nics.excluded) {
    EXPECT_NE(out.str().find("a NIC is not used (nic " + name + ", why " + reason + ")"),
              std::string::npos)
        << out.str();
  }
  for (const MachineNic& nic : nics.usable) {
    EXPECT_EQ(out.str().find("nic " + nic.name + ","), std::string::npos) << nic.name;
  }
}

TEST(MachineRates, SayWhatTheyMeasured) {
  EXPECT_GT(memory_rate(1, std::chrono::milliseconds(1)).value(), Bytes{});
  EXPECT_GT(loopback_rate(std::chrono::milliseconds(5)).value(), Bytes{});
  const CalibratedMachine machine = describe_machine();
  EXPECT_GE(machine.cores, 1u);
  EXPECT_GT(machine.memory, Bytes{});
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_EQ(machine.date.size(), 20u);
  EXPECT_GT(processor_time_of(::getpid()), Duration(0));
  EXPECT_GE(processor_time_of_all(), Duration(0));
}

}  // namespace
}  // namespace larder::real
