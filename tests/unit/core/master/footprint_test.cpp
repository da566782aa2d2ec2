// What objects and segments cost a master in memory.
#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <string>
#include <vector>

#include "core/eviction/policy.h"
#include "core/master/master.h"

namespace larder {
namespace {

// All that malloc gave out, with what it adds to each piece.
std::size_t allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

constexpr std::uint32_t items = 64;  // of one call

class Footprint : public ::testing::Test, protected AnswerSink {
 protected:
  void SetUp() override {
    if (allocated() == 0) GTEST_SKIP() << "this allocator does not say what it gave out";
  }
  void make(std::string_view policy = MasterConfig().policy) {
    MasterConfig config;
    config.policy = policy_ = policy;
    master_ = std::move(Master::make(now_, config, {.epoch = {1}, .instance = {1, 1}}, {})).value();
  }
  void mount(std::uint64_t number) {
    const std::string name = "n" + std::to_string(number);
    send({.body = RegisterNode{.incarnation = {2, number},
                               .registration = 1,
                               .name = name,
                               .endpoint = name,
                               .host = name,
                               .segments = {{.id = {3, number}, .name = "s", .size = 1_TiB}}}});
    send({.body = ReportInventory{.incarnation = {2, number}, .registration = 1, .last = true}});
  }
  void open() { call(OpenSession{.tenant = "t"}); }
  // Puts `items` objects with keys of 64 bytes; `as` says what else each item asks for. In a chain
  // each extends the one before it, as the pages of one prompt do.
  void put(PutStart::Item as = {}) {
    std::vector<std::string> keys;
    for (std::uint32_t i = 0; i < items; ++i) {
      std::string number = std::to_string(++keys_);
      keys.push_back(std::string(64 - number.size(), 'k') + number);
    }
    PutStart start;
    PutEnd end;
    for (const std::string& key : keys) {
      if (chains_ && &key != &keys.front()) as.parent = (&key)[-1];
      as.key = key;
      as.size = 4000_B;
      start.items.push_back(as);
    }
    call(std::move(start));
    for (std::uint32_t i = 0; i < items; ++i) {
      end.items.push_back({.key = keys[i], .put_id = ids_[i], .sealed = 1, .checksum = i});
    }
    call(std::move(end));
  }
  // The most that an object costs while their number grows, from where the 100 KB that a master
  // costs without any count for little.
  std::size_t most_of_an_object(const PutStart::Item& as = {}) {
    constexpr std::size_t objects = 200'000;
    std::size_t most = 0;
    const std::size_t before = allocated();
    for (std::size_t count = items; count <= objects; count += items) {
      put(as);
      if (count > 40'000 && count % 1024 == 0)
        most = std::max(most, (allocated() - before) / count);
    }
    EXPECT_GT(most, 64u) << "the measurement itself is broken";
    RecordProperty("bytes_of_an_object_under_" + policy_, static_cast<int>(most));
    return most;
  }

  bool chains_ = false;

 private:
  void answer(Ticket, std::uint32_t index, const Answer& given) override {
    ASSERT_TRUE(given) << given.error().message();
    if (const auto* grant = std::get_if<PutGrant>(&*given)) ids_[index] = grant->put_id;
  }
  void call(RequestBody body) {
    ++number_;
    send({.header = {.session = {1, 1}, .number = number_, .lowest_unanswered = number_},
          .body = std::move(body)});
  }
  void send(const Request& request) {
    master_->apply(now_, ++number_, request, effects_);
    effects_.clear();
  }

  Time now_{std::chrono::hours(1)};
  std::string policy_;
  MasterEffects effects_{*this};
  std::unique_ptr<Master> master_;
  std::uint64_t number_ = 0;
  std::uint64_t keys_ = 0;
  std::vector<PutId> ids_ = std::vector<PutId>(items);
};

using StatementB8 = Footprint;
using StatementB18 = Footprint;

TEST_F(StatementB8, AnEmptySegmentOf1TiBCostsLessThan64MiB) {
  make();
  mount(1);
  const std::size_t before = allocated();
  mount(2);
  EXPECT_LT(allocated() - before, (64_KiB).value) << "the statement says 64 MiB";
}

TEST_F(StatementB18, TheMasterKeepsAtMost256BytesAnObject) {
  make();
  for (std::uint64_t n = 1; n <= 8; ++n) mount(n);
  open();
  EXPECT_LE(most_of_an_object(), 256u);
}

TEST_F(StatementB18, TheMasterKeepsAtMost256BytesAnObjectOfAChainWhateverThePolicy) {
  for (const std::string_view policy : policy_names()) {
    make(policy);
    mount(1);
    open();
    chains_ = true;
    EXPECT_LE(most_of_an_object(), 256u) << policy;
  }
}

TEST_F(StatementB18, WhatFewObjectsHaveCostsAtMostAsMuchAgain) {
  make();
  mount(1);
  open();
  EXPECT_LE(
      most_of_an_object({.soft_pin = std::chrono::hours(2), .time_to_live = std::chrono::hours(2)}),
      512u);
}

}  // namespace
}  // namespace larder
