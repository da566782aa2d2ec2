#include "sim/serving/arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace larder::sim {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using workloads::Request;
using workloads::Speaker;

class ListReader final : public workloads::TraceReader {
 public:
  explicit ListReader(std::vector<Request> requests, bool broken = false)
      : requests_(std::move(requests)), broken_(broken) {}
  Result<const Request*> next() override {
    if (next_ < requests_.size()) return &requests_[next_++];
    if (broken_) return failed(ErrorCode::bad_file, "line 4: broken");
    return nullptr;
  }

 private:
  std::vector<Request> requests_;
  bool broken_;
  std::size_t next_ = 0;
};

Request at(int second, std::optional<Speaker> speaker = std::nullopt,
           std::optional<int> think = std::nullopt) {
  Request request{.arrival = seconds(second), .speaker = speaker, .block_tokens = 16};
  if (think) request.think_time = seconds(*think);
  return request;
}

// Notes when each comes, and ends it some seconds later.
struct Taker : Arrivals::Taker {
  explicit Taker(Kernel& world, Duration service = Duration(0)) : kernel(world), takes(service) {}
  Status arrive(const Request& request, std::uint64_t number) override {
    came.emplace_back(number,
                      std::chrono::duration_cast<seconds>(kernel.now() - Instant{}).count());
    if (refuse_at == number) return failed(ErrorCode::invalid_params, "no such pages");
    if (request.speaker) {
      kernel.post(later(kernel.now(), takes), 1,
                  [this, speaker = *request.speaker] { arrivals->ended(speaker); });
    }
    return {};
  }
  Kernel& kernel;
  Duration takes;
  Arrivals* arrivals = nullptr;
  std::optional<std::uint64_t> refuse_at;
  std::vector<std::pair<std::uint64_t, std::int64_t>> came;
};

TEST(OpenLoop, RequestsComeAtTheTracesTimes) {
  Kernel kernel(1);
  Taker taker(kernel);
  const auto loop = open_loop(kernel, 1, taker);
  ListReader reader({at(1), at(1), at(5)});
  ASSERT_TRUE(loop->begin(reader));
  EXPECT_FALSE(loop->done());
  kernel.run(100);
  EXPECT_THAT(taker.came, ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 5)));
  EXPECT_TRUE(loop->done());
  EXPECT_TRUE(loop->status());
}

TEST(OpenLoop, SpeedDividesTheTimes) {
  Kernel kernel(1);
  Taker taker(kernel);
  const auto loop = open_loop(kernel, 0.5, taker);
  ListReader reader({at(1), at(5)});
  ASSERT_TRUE(loop->begin(reader));
  kernel.run(100);
  EXPECT_THAT(taker.came, ElementsAre(Pair(0, 2), Pair(1, 10)));
}

TEST(OpenLoop, ABrokenTraceEndsTheArrivals) {
  Kernel kernel(1);
  Taker taker(kernel);
  const auto loop = open_loop(kernel, 1, taker);
  ListReader reader({at(1)}, true);
  ASSERT_TRUE(loop->begin(reader));
  kernel.run(100);
  EXPECT_EQ(taker.came.size(), 1);
  EXPECT_TRUE(loop->done());
  EXPECT_THAT(loop->status().error().message(), HasSubstr("line 4: broken"));
  ListReader empty({}, true);
  EXPECT_FALSE(open_loop(kernel, 1, taker)->begin(empty));
}

TEST(OpenLoop, ARequestThatCannotBeServedEndsThem) {
  Kernel kernel(1);
  Taker taker(kernel);
  taker.refuse_at = 1;
  const auto loop = open_loop(kernel, 1, taker);
  ListReader reader({at(1), at(2), at(3)});
  ASSERT_TRUE(loop->begin(reader));
  kernel.run(100);
  EXPECT_EQ(taker.came.size(), 2);
  EXPECT_THAT(loop->status().error().message(), HasSubstr("no such pages"));
}

// In nanoseconds it would not be a number any more, and the run would not end.
TEST(OpenLoop, E4ATimeBeyondAYearIsAnErrorThatNamesTheRequest) {
  Kernel kernel(1);
  Taker taker(kernel);
  const auto loop = open_loop(kernel, 1e-9, taker);
  ListReader reader({at(0), at(5)});
  ASSERT_TRUE(loop->begin(reader));
  kernel.run(100);
  EXPECT_EQ(taker.came.size(), 1);
  EXPECT_TRUE(loop->done());
  EXPECT_THAT(loop->status().error().facts().detail,
              HasSubstr("request 1 would come after more than 366 days of virtual time"));
  EXPECT_EQ(sped_up(Duration::max(), 1e-300), sped_up(seconds(1), 1e-300));
}

// ---- closed loop --------------------------------------------------------------------------------

std::vector<std::pair<std::uint64_t, std::int64_t>> closed(std::vector<Request> requests,
                                                           const ClosedLoopRules& rules = {},
                                                           Duration takes = seconds(10)) {
  Kernel kernel(1);
  Taker taker(kernel, takes);
  const auto loop = closed_loop(kernel, rules, taker);
  taker.arrivals = loop.get();
  ListReader reader(std::move(requests));
  EXPECT_TRUE(loop->begin(reader));
  kernel.run(1'000);
  EXPECT_TRUE(loop->done());
  return taker.came;
}

TEST(ClosedLoop, E4AThinkTimeBeyondAYearIsAnErrorThatNamesTheRequest) {
  Kernel kernel(1);
  Taker taker(kernel);
  const auto loop = closed_loop(kernel, {.speed = 1e-6}, taker);
  ListReader reader({at(0, Speaker{.session = 1}), at(5, Speaker{.session = 1}, 60)});
  const Status begun = loop->begin(reader);
  ASSERT_FALSE(begun);
  EXPECT_THAT(begun.error().facts().detail, HasSubstr("request 1 would come after more than 366"));
}

TEST(ClosedLoop, TheNextRequestComesAThinkTimeAfterTheAnswer) {
  const Speaker one{.session = 1};
  // Each takes 10 s.
  EXPECT_THAT(closed({at(2, one), at(3, one, 5), at(9, one, 7)}),
              ElementsAre(Pair(0, 2), Pair(1, 17), Pair(2, 34)));
}

TEST(ClosedLoop, WithoutAThinkTimeTheGapOfTheTraceIsKept) {
  const Speaker one{.session = 1};
  // 4 s after the one before, which has not ended then; 30 s after.
  EXPECT_THAT(closed({at(0, one), at(4, one), at(34, one)}),
              ElementsAre(Pair(0, 0), Pair(1, 10), Pair(2, 40)));
}

TEST(ClosedLoop, ASubAgentBeginsAsLongAfterItsSessionsRequestAsInTheTrace) {
  const Speaker own{.session = 1};
  const Speaker sub{.session = 1, .agent = 1};
  // The own agent's second request comes at 15 instead of 3; the sub-agent begins 2 s after it.
  EXPECT_THAT(closed({at(0, own), at(3, own, 5), at(5, sub), at(6, sub, 1), at(9, own, 20)}),
              ElementsAre(Pair(0, 0), Pair(1, 15), Pair(2, 17), Pair(3, 28), Pair(4, 45)));
}

TEST(ClosedLoop, SessionsBeginAsInTheTraceOrWhenThereIsPlace) {
  const auto two = [](std::uint32_t session, int second) {
    return std::vector{at(second, Speaker{.session = session}),
                       at(second + 1, Speaker{.session = session}, 5)};
  };
  std::vector<Request> requests;
  for (std::uint32_t session = 0; session < 3; ++session) {
    for (const Request& request : two(session, 0)) requests.push_back(request);
  }
  EXPECT_THAT(closed(requests), ElementsAre(Pair(0, 0), Pair(2, 0), Pair(4, 0), Pair(1, 15),
                                            Pair(3, 15), Pair(5, 15)));
  EXPECT_THAT(
      closed(requests, {.sessions_at_once = 2}),
      ElementsAre(Pair(0, 0), Pair(2, 0), Pair(1, 15), Pair(3, 15), Pair(4, 25), Pair(5, 40)));
}

TEST(ClosedLoop, SpeedDividesThinkTimesToo) {
  const Speaker one{.session = 1};
  EXPECT_THAT(closed({at(2, one), at(3, one, 6)}, {.speed = 2}),
              ElementsAre(Pair(0, 1), Pair(1, 14)));
}

TEST(ClosedLoop, ATraceWithoutSessionsIsRefused) {
  Kernel kernel(1);
  Taker taker(kernel);
  const auto loop = closed_loop(kernel, {}, taker);
  ListReader reader({at(1)});
  const Status begun = loop->begin(reader);
  ASSERT_FALSE(begun);
  EXPECT_THAT(begun.error().message(), HasSubstr("does not tell the sessions"));
  EXPECT_TRUE(loop->done());
}

}  // namespace
}  // namespace larder::sim
