// What a pool of pages costs its master and its nodes in memory, against what a budget says.
#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <string>
#include <vector>

#include "core/master/master.h"
#include "core/node/node.h"
#include "core/pages/page_keys.h"
#include "sim/budget/budget.h"

namespace larder::sim {
namespace {

using namespace std::chrono_literals;

// All that malloc gave out, with what it adds to each piece.
std::size_t allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

BudgetConfig pages_of_model(std::string_view name) {
  BudgetConfig config;
  config.model = model_preset(name).value();
  return config;
}

PageKeys keys_of(const BudgetConfig& config) {
  return PageKeys::make({.tenant = "default",
                         .model = config.model.name,
                         .revision = "main",
                         .kv_type = "fp16",
                         .page_tokens = config.page_tokens,
                         .layout = "page-first",
                         .keys_and_values = !config.model.latent})
      .value();
}

// The names of one object of a page in a long prompt.
struct Names {
  std::string key;
  std::string group;
  std::string parent;
};
Names names_of(const PageKeys& keys, std::uint64_t page, std::size_t object) {
  Names names;
  keys.append_key({.high = page, .low = page}, object, names.key);
  if (keys.objects() > 1) {
    keys.append_group({.high = page, .low = page}, names.group);
    keys.append_group({.high = page - 1, .low = page - 1}, names.parent);
  } else {
    keys.append_key({.high = page - 1, .low = page - 1}, 0, names.parent);
  }
  return names;
}

class MasterOfPages final : AnswerSink {
 public:
  explicit MasterOfPages(std::uint32_t replicas)
      : replicas_(replicas),
        master_(std::move(Master::make(now_, {}, {.epoch = {1}, .instance = {1, 1}}, {})).value()) {
    for (std::uint64_t node = 1; node <= replicas; ++node) {
      const std::string name = "n" + std::to_string(node);
      send({.body = RegisterNode{.incarnation = {2, node},
                                 .registration = 1,
                                 .name = name,
                                 .endpoint = name,
                                 .host = name,
                                 .segments = {{.id = {3, node}, .name = "s", .size = 1_TiB}}}});
      send({.body = ReportInventory{.incarnation = {2, node}, .registration = 1, .last = true}});
    }
    call(OpenSession{.tenant = "default"});
  }

  void put(const PageKeys& keys, std::uint64_t page) {
    std::vector<Names> names;
    for (std::size_t i = 0; i < keys.objects(); ++i) names.push_back(names_of(keys, page, i));
    ids_.assign(names.size(), {});
    PutStart start;
    PutEnd end;
    for (const Names& each : names) {
      start.items.push_back({.key = each.key,
                             .size = 1_MiB,
                             .replicas = replicas_,
                             .group = each.group,
                             .parent = each.parent});
    }
    call(std::move(start));
    for (std::size_t i = 0; i < names.size(); ++i) {
      end.items.push_back(
          {.key = names[i].key, .put_id = ids_[i], .sealed = (1u << replicas_) - 1, .checksum = i});
    }
    call(std::move(end));
  }

 private:
  void answer(Ticket, std::uint32_t index, const Answer& given) override {
    ASSERT_TRUE(given) << given.error().message();
    if (const auto* grant = std::get_if<PutGrant>(&*given)) {
      ASSERT_EQ(grant->replicas.size(), replicas_);
      ids_[index] = grant->put_id;
    }
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

  Time now_{1h};
  std::uint32_t replicas_;
  MasterEffects effects_{*this};
  std::unique_ptr<Master> master_;
  std::uint64_t number_ = 0;
  std::vector<PutId> ids_;
};

class MasterMetadata : public testing::TestWithParam<std::tuple<const char*, std::uint32_t>> {};

TEST_P(MasterMetadata, IsNoMoreThanTheBudgetSaysAndNearlyAsMuch) {
  if (allocated() == 0) GTEST_SKIP() << "this allocator does not say what it gave out";
  BudgetConfig config = pages_of_model(std::get<0>(GetParam()));
  config.replicas = std::get<1>(GetParam());
  const PageKeys keys = keys_of(config);
  MasterOfPages master(config.replicas);
  constexpr std::uint64_t pages_max = 100'000;
  std::size_t most = 0;
  const std::size_t before = allocated();
  for (std::uint64_t page = 1; page <= pages_max; ++page) {
    master.put(keys, page);
    // From where the 100 KB that a master costs without any object count for little.
    if (page > 40'000 && page % 1024 == 0) {
      most = std::max(most, (allocated() - before) / (page * keys.objects()));
    }
  }
  const std::uint64_t said = master_bytes_each_object(config).value;
  RecordProperty("bytes_each_object", static_cast<int>(most));
  EXPECT_LE(most, said);
  EXPECT_GE(most * 5, said * 4) << most << " of " << said;
}

INSTANTIATE_TEST_SUITE_P(Pages, MasterMetadata,
                         testing::Combine(testing::Values("llama-3.1-70b", "deepseek-v3"),
                                          testing::Values(1, 2, 3)));

class Nowhere final : public SegmentMemory {
 public:
  void write_footer(ReplicaLocation, const FooterBytes&) override {}
};

class NodeMetadata : public testing::TestWithParam<const char*> {};

TEST_P(NodeMetadata, IsNoMoreThanTheBudgetSaysAndNearlyAsMuch) {
  if (allocated() == 0) GTEST_SKIP() << "this allocator does not say what it gave out";
  const BudgetConfig config = pages_of_model(GetParam());
  const PageKeys keys = keys_of(config);
  Nowhere memory;
  NodeEffects effects;
  const Time now{1h};
  Node node({.name = "n", .endpoint = "127.0.0.1:1", .host = {}, .rack = {}}, {2, 1}, memory);
  constexpr SegmentId segment{3, 1};
  ASSERT_TRUE(node.add_segment(now, {.id = segment, .name = "s", .size = 1_TiB}, effects));
  node.connected(now, effects);
  const std::uint64_t ticket = effects.send.back().ticket;
  effects.clear();
  node.answered(now, ticket, NodeRegistered{.epoch = {10}, .instance = {3, 1}}, effects);
  constexpr std::uint64_t replicas = 20'000;
  const std::size_t before = allocated();
  for (std::uint64_t i = 0; i < replicas; ++i) {
    const Names names = names_of(keys, i / keys.objects() + 1, i % keys.objects());
    const auto begun = node.begin_fill(now,
                                       {.put_id = {{10}, i + 1},
                                        .location = {.segment = segment, .offset = 2_MiB * i},
                                        .record = {.tenant = "default",
                                                   .key = names.key,
                                                   .group = names.group,
                                                   .parent = names.parent,
                                                   .size = 1_MiB},
                                        .part_offset = 0_B,
                                        .part_length = 1_MiB,
                                        .checksum = 77},
                                       {1});
    ASSERT_TRUE(begun) << begun.error().message();
    ASSERT_TRUE(node.seal(now, begun->id, {.expected = {}, .computed = 77}, effects));
  }
  const std::uint64_t each = (allocated() - before) / replicas;
  const std::uint64_t said = node_bytes_each_replica(config).value;
  RecordProperty("bytes_each_replica", static_cast<int>(each));
  EXPECT_LE(each, said);
  EXPECT_GE(each * 5, said * 4) << each << " of " << said;
}

INSTANTIATE_TEST_SUITE_P(Pages, NodeMetadata, testing::Values("llama-3.1-70b", "deepseek-v3"));

}  // namespace
}  // namespace larder::sim
