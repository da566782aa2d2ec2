// Real masters and real nodes under random requests, faults and delays, against a reference of
// ordinary maps.
#include <gtest/gtest.h>

#include <cstdlib>
#include <source_location>
#include <sstream>
#include <stdexcept>

#include "core/base/assert.h"
#include "tests/property/world.h"

namespace larder::property {

void showValue(const Op& op, std::ostream& out) {
  out << "{Kind(" << static_cast<int>(op.kind) << ")," << op.a << "," << op.b << "}";
}

namespace {

[[noreturn]] void throw_assertion(const char* condition, const char* message,
                                  std::source_location at) {
  std::ostringstream text;
  text << at.file_name() << ":" << at.line() << ": " << condition << " " << message;
  throw std::runtime_error(text.str());
}

class Directory : public ::testing::Test {
 protected:
  // RC_PARAMS asks for more, or for one seed.
  static void SetUpTestSuite() { setenv("RC_PARAMS", "max_success=1000", 0); }
  using Weights = std::initializer_list<std::pair<std::size_t, Kind>>;
  void holds(Weights weights) {
    const auto before = set_assertion_handler(throw_assertion);
    const bool held = rc::check([&] {
      const auto ops =
          *rc::gen::resize(1000, rc::gen::container<std::vector<Op>>(rc::gen::construct<Op>(
                                     rc::gen::weightedElement<Kind>(weights),
                                     rc::gen::inRange(0u, 10000u), rc::gen::inRange(0u, 10000u))));
      World world(seen);
      for (const Op& op : ops) world.run(op);
      world.finish();
    });
    set_assertion_handler(before);
    EXPECT_TRUE(held);
  }
  Seen seen;
};

TEST_F(Directory, IsThatOfOrdinaryMapsWhileNothingFails) {
  holds({{8, Kind::calm},
         {6, Kind::store},
         {10, Kind::start},
         {10, Kind::fill},
         {10, Kind::end},
         {2, Kind::revoke},
         {4, Kind::remove},
         {10, Kind::get},
         {4, Kind::pass}});
  EXPECT_GT(seen.listed, 500);
  EXPECT_GT(seen.removed, 100);
  EXPECT_GT(seen.evicted, 20);
}

TEST_F(Directory, IsThatOfOrdinaryMapsUnderDelayLossAndRestarts) {
  holds({{30, Kind::deliver},
         {8, Kind::deliver_late},
         {2, Kind::drop},
         {3, Kind::duplicate},
         {4, Kind::calm},
         {3, Kind::store},
         {12, Kind::start},
         {14, Kind::fill},
         {14, Kind::end},
         {2, Kind::revoke},
         {6, Kind::remove},
         {12, Kind::get},
         {5, Kind::pass},
         {3, Kind::connect},
         {1, Kind::disconnect},
         {1, Kind::restart_node},
         {2, Kind::restart_master}});
  EXPECT_GT(seen.listed, 300);
  EXPECT_GT(seen.removed, 100);
  EXPECT_GT(seen.restored, 20);
  EXPECT_GT(seen.lost_nodes, 20);
}

TEST_F(Directory, IsThatOfOrdinaryMapsThroughOneRecoveryAfterTheOther) {
  holds({{20, Kind::deliver},
         {4, Kind::deliver_late},
         {1, Kind::drop},
         {1, Kind::duplicate},
         {1, Kind::calm},
         {6, Kind::store},
         {4, Kind::start},
         {6, Kind::fill},
         {12, Kind::end},
         {4, Kind::revoke},
         {4, Kind::remove},
         {10, Kind::get},
         {2, Kind::pass},
         {3, Kind::connect},
         {2, Kind::restart_node},
         {6, Kind::restart_master}});
  EXPECT_GT(seen.listed, 300);
  EXPECT_GT(seen.restored, 100);
}

}  // namespace
}  // namespace larder::property
