#include "sim/calibration/call_costs.h"

#include <gtest/gtest.h>

namespace larder::sim {
namespace {

// Figure number i lies from 10 i + 1 to 10 i + 3.
CallCosts numbered() {
  CallCosts costs;
  std::uint64_t number = 0;
  for (const auto& [name, member] : cost_names) {
    costs.*member = {.value = number + 2, .low = number + 1, .high = number + 3};
    number += 10;
  }
  return costs;
}

double at(const CostValues& values, Figure CallCosts::* member) {
  return values[cost_index(member)];
}

TEST(CallCosts, AtAnEndEveryTimeIsAtItsBoundAndTheRateAtTheOther) {
  const CostValues value = values_of(numbered());
  const CostValues fastest = values_of(numbered(), CostsAt::fastest);
  const CostValues slowest = values_of(numbered(), CostsAt::slowest);
  for (const auto& [name, member] : cost_names) {
    const bool rate = member == &CallCosts::thread_rate;
    EXPECT_EQ(at(fastest, member), at(value, member) + (rate ? 1 : -1)) << name;
    EXPECT_EQ(at(slowest, member), at(value, member) - (rate ? 1 : -1)) << name;
  }
}

TEST(CallCosts, EachIsACostOfThePool) {
  const PoolCosts costs = pool_costs(values_of(numbered()));
  EXPECT_EQ(costs.hand_over, Duration(2));
  EXPECT_EQ(costs.message, Duration(12));
  EXPECT_EQ(costs.request, Duration(22));
  EXPECT_EQ(costs.lookup, Duration(32));
  EXPECT_EQ(costs.existence, Duration(42));
  EXPECT_EQ(costs.put_start, Duration(52));
  EXPECT_EQ(costs.put_end, Duration(62));
  EXPECT_EQ(costs.node_request, Duration(72));
  EXPECT_EQ(costs.node_extent, Duration(82));
  EXPECT_EQ(costs.node_fill, Duration(92));
  EXPECT_EQ(costs.client_request, Duration(102));
  EXPECT_EQ(costs.client_item, Duration(112));
  EXPECT_EQ(costs.client_read_item, Duration(122));
  EXPECT_EQ(costs.client_put_item, Duration(132));
  EXPECT_EQ(costs.fill_each_mib, Duration(152));
  EXPECT_EQ(costs.cold_each_mib, Duration(162));
  EXPECT_EQ(costs.warm_bytes, warm_bytes);
  TransferCosts transfers;
  set_tcp_costs(transfers, values_of(numbered()));
  EXPECT_EQ(transfers.posting, Duration(0));
  EXPECT_EQ(transfers.completion, Duration(12));
  EXPECT_EQ(transfers.tcp_per_second, Bytes{142});
}

TEST(CallCosts, OverVerbsTheCallsCostTheSameAndBytesWhatTheyDidBefore) {
  const PoolCosts costs = call_costs_alone(values_of(numbered()));
  EXPECT_EQ(costs.message, Duration(12));
  EXPECT_EQ(costs.client_item, Duration(112));
  EXPECT_EQ(costs.client_read_item, Duration(0));
  EXPECT_EQ(costs.client_put_item, Duration(0));
  EXPECT_EQ(costs.node_extent, PoolCosts{}.node_extent);
  EXPECT_EQ(costs.fill_each_mib, Duration(0));
}

}  // namespace
}  // namespace larder::sim
