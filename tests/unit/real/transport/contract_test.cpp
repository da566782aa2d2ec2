#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/unit/real/transport/pool.h"

// What every transport promises (core/ports/transport.h), with the real node behind it.

namespace larder::real {
namespace {

using namespace std::chrono_literals;
using test::Object;
using test::random_bytes;
using test::TestNode;
using test::Waiter;

enum class Kind { local, tcp };

class TransportContract : public ::testing::TestWithParam<Kind> {
 protected:
  TransportContract() : node(loop, 128_MiB) { transport = make(); }

  std::unique_ptr<Transport, void (*)(Transport*)> make() {
    if (GetParam() == Kind::local) {
      return {new LocalTransport(loop, *node.host),
              [](Transport* t) { delete static_cast<LocalTransport*>(t); }};
    }
    return {new TcpTransport(loop, {.who = "test"}),
            [](Transport* t) { delete static_cast<TcpTransport*>(t); }};
  }

  // Runs one transfer to its end.
  Status run(Transfer transfer, Duration time = 20s) {
    Waiter waiter;
    transport->submit(std::move(transfer), loop.now() + time, waiter);
    EXPECT_FALSE(waiter.status) << "completed inside submit";
    loop.run_until([&] { return waiter.status.has_value(); }, loop.now() + 2 * time);
    return waiter.status.value_or(failed(ErrorCode::internal_error, "never completed"));
  }

  Status put(std::vector<Object*> objects) {
    Fill fill{.segment = &node.segment};
    for (Object* object : objects) fill.ranges.push_back(object->fill());
    return run(fill);
  }

  // What is stored of an object, or an error.
  Result<std::vector<std::byte>> get(Object& object) {
    std::vector<std::byte> into(object.value.size());
    LARDER_CHECK(run(Read{{object.read(0_B, into)}}));
    LARDER_CHECK(object.result);
    return into;
  }

  Loop loop;
  TestNode node;
  std::unique_ptr<Transport, void (*)(Transport*)> transport{nullptr, [](Transport*) {}};
};

TEST_P(TransportContract, EverySizeArrivesByteForByte) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1; size <= 4097; size += size < 130 ? 1 : 61) sizes.push_back(size);
  for (const std::size_t size : {4095u, 4096u, 4097u}) sizes.push_back(size);
  std::vector<std::unique_ptr<Object>> objects;
  std::vector<Object*> all;
  Bytes at;
  for (const std::size_t size : sizes) {
    objects.push_back(std::make_unique<Object>(node.segment, objects.size() + 1, size, at));
    all.push_back(objects.back().get());
    at = all.back()->end();
  }
  ASSERT_TRUE(put(all));
  // One call for all of them, into memory of every alignment.
  std::vector<std::vector<std::byte>> into;
  std::vector<Slice> slices;
  Read read;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i]->result) << all[i]->result.error().message();
    into.emplace_back(all[i]->value.size() + 64);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    slices.push_back(Slice(into[i]).subspan(i % 64, all[i]->value.size()));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    ReadRange range = all[i]->read(0_B, into[i]);
    range.into = std::span(&slices[i], 1);
    read.ranges.push_back(range);
  }
  ASSERT_TRUE(run(read));
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i]->result) << all[i]->result.error().message();
    EXPECT_TRUE(std::ranges::equal(slices[i], all[i]->value)) << all[i]->value.size();
    EXPECT_EQ(all[i]->got_checksum, checksum(all[i]->value));
  }
}

TEST_P(TransportContract, LargeValuesInOddSlicesArriveByteForByte) {
  Bytes at;
  std::uint64_t number = 1;
  for (const std::size_t size : {(16u << 20) - 1, 16u << 20, (16u << 20) + 1}) {
    Object object(node.segment, number++, size, at);
    object.cut(65'537);
    ASSERT_TRUE(put({&object}));
    ASSERT_TRUE(object.result) << object.result.error().message();
    const auto got = get(object);
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(*got, object.value);
    at = object.end().rounded_up(4096);
  }
}

TEST_P(TransportContract, ARangeIsReadIntoManySlices) {
  Object object(node.segment, 1, 10'000, 0_B);
  ASSERT_TRUE(put({&object}));
  std::vector<std::byte> into(5'000);
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < into.size(); i += 7) {
    slices.push_back(Slice(into).subspan(i, std::min<std::size_t>(7, into.size() - i)));
  }
  ReadRange range = object.read(Bytes{1'234}, into);
  range.into = slices;
  ASSERT_TRUE(run(Read{{range}}));
  ASSERT_TRUE(object.result);
  EXPECT_TRUE(std::ranges::equal(into, std::span(object.value).subspan(1'234, 5'000)));
}

TEST_P(TransportContract, ARefusedItemInTheMiddleHarmsNoOther) {
  Object first(node.segment, 1, 100'000, 0_B);
  Object overlaps(node.segment, 2, 200'000, 64_B);
  Object wrong_segment(node.segment, 3, 300'000, 1_MiB);
  Object last(node.segment, 4, 100'000, 2_MiB);
  Fill fill{.segment = &node.segment,
            .ranges = {first.fill(), overlaps.fill(), wrong_segment.fill(), last.fill()}};
  fill.ranges[2].item.location.segment = {7, 7};
  ASSERT_TRUE(run(fill));
  EXPECT_TRUE(first.result);
  EXPECT_EQ(overlaps.result.error().code(), ErrorCode::fill_refused);
  EXPECT_EQ(wrong_segment.result.error().code(), ErrorCode::segment_not_found);
  EXPECT_TRUE(last.result);
  EXPECT_EQ(get(first), first.value);
  EXPECT_EQ(get(last), last.value);
}

TEST_P(TransportContract, AMissingReplicaBetweenTwoOthersHarmsNeither) {
  Object first(node.segment, 1, 5'000, 0_B);
  Object missing(node.segment, 2, 5'000, 64_KiB);
  Object last(node.segment, 3, 5'000, 128_KiB);
  ASSERT_TRUE(put({&first, &last}));
  std::vector<std::byte> a(5'000), b(5'000), c(5'000);
  ASSERT_TRUE(run(Read{{first.read(0_B, a), missing.read(0_B, b), last.read(0_B, c)}}));
  EXPECT_TRUE(first.result);
  EXPECT_EQ(missing.result.error().code(), ErrorCode::replica_is_gone);
  EXPECT_TRUE(last.result);
  EXPECT_EQ(a, first.value);
  EXPECT_EQ(c, last.value);
  EXPECT_EQ(b, std::vector<std::byte>(5'000));
}

TEST_P(TransportContract, AFlippedByteIsNotSealed) {
  Object object(node.segment, 1, 10'000, 0_B);
  FillRange range = object.fill();
  object.value[5'000] ^= std::byte{1};
  ASSERT_TRUE(run(Fill{&node.segment, {range}}));
  ASSERT_FALSE(object.result);
  EXPECT_EQ(object.result.error().code(), ErrorCode::checksum_mismatch);
  EXPECT_FALSE(get(object));
}

TEST_P(TransportContract, AFillInPartsIsReadableOnlyWhenTheLastIsIn) {
  Object object(node.segment, 1, 10'000, 0_B);
  const std::vector<ConstSlice> halves{ConstSlice(object.value).first(4'000),
                                       ConstSlice(object.value).subspan(4'000)};
  FillRange part = object.fill();
  part.from = std::span(&halves[0], 1);
  part.item.part_length = {4'000};
  part.item.last_part = false;
  part.item.checksum.reset();
  ASSERT_TRUE(run(Fill{&node.segment, {part}}));
  ASSERT_TRUE(object.result) << object.result.error().message();
  EXPECT_FALSE(get(object));
  part = object.fill();
  part.from = std::span(&halves[1], 1);
  part.item.part_offset = {4'000};
  part.item.part_length = {6'000};
  ASSERT_TRUE(run(Fill{&node.segment, {part}}));
  ASSERT_TRUE(object.result) << object.result.error().message();
  EXPECT_EQ(get(object), object.value);
}

TEST_P(TransportContract, ARepeatedFillOfASealedPutIsSealed) {
  Object object(node.segment, 1, 10'000, 0_B);
  ASSERT_TRUE(put({&object}));
  ASSERT_TRUE(put({&object}));
  EXPECT_TRUE(object.result);
}

TEST_P(TransportContract, AfterRetirementNeitherReadNorFillTouchesTheExtent) {
  Object object(node.segment, 1, 10'000, 0_B);
  ASSERT_TRUE(put({&object}));
  node.retire(object.put_id, object.offset);
  const auto got = get(object);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::replica_is_gone);
  ASSERT_TRUE(put({&object}));
  ASSERT_FALSE(object.result);
  EXPECT_EQ(object.result.error().code(), ErrorCode::fill_refused);
}

TEST_P(TransportContract, APastDeadlineEndsTheTransferWithItsItems) {
  Object object(node.segment, 1, 64 << 20, 0_B);
  Waiter waiter;
  transport->submit(Fill{&node.segment, {object.fill()}}, loop.now(), waiter);
  loop.run_until([&] { return waiter.status.has_value(); }, loop.now() + 20s);
  ASSERT_TRUE(waiter.status);
  ASSERT_FALSE(*waiter.status);
  EXPECT_EQ(waiter.status->error().code(), ErrorCode::transfer_fail);
  EXPECT_EQ(object.result.error().code(), ErrorCode::transfer_fail);
}

TEST_P(TransportContract, AnAbandonedFillIsNotSealedAndLeavesNothingOpen) {
  Object object(node.segment, 1, 64 << 20, 0_B);
  {
    Waiter waiter;
    transport->submit(Fill{&node.segment, {object.fill()}}, loop.now() + 20s, waiter);
    const auto begun = [&] { return node.status().fills_in_flight == 1; };
    loop.run_until(begun, loop.now() + 20s);
    ASSERT_TRUE(begun());
    transport->abandon(waiter, nullptr);
    object.value.assign(object.value.size(), std::byte{0});
    EXPECT_FALSE(waiter.status);
  }
  const auto idle = [&] { return node.status().fills_in_flight == 0; };
  loop.run_until(idle, loop.now() + 20s);
  EXPECT_TRUE(idle());
  EXPECT_FALSE(get(object));
}

TEST_P(TransportContract, AnAbandonedReadChangesNoByteAfterwards) {
  Object object(node.segment, 1, 64 << 20, 0_B);
  ASSERT_TRUE(put({&object}));
  std::vector<std::byte> into(object.value.size());
  Waiter waiter;
  transport->submit(Read{{object.read(0_B, into)}}, loop.now() + 20s, waiter);
  const auto begun = [&] { return node.status().reads_in_flight == 1; };
  loop.run_until(begun, loop.now() + 20s);
  ASSERT_TRUE(begun());
  transport->abandon(waiter, nullptr);
  const auto before = into;
  const auto idle = [&] { return node.status().reads_in_flight == 0; };
  loop.run_until(idle, loop.now() + 20s);
  EXPECT_TRUE(idle());
  EXPECT_EQ(get(object), object.value);  // others go on
  EXPECT_EQ(into, before);
}

TEST_P(TransportContract, AbandoningWhatNeverBeganIsHarmless) {
  Object object(node.segment, 1, 1'000, 0_B);
  Waiter waiter;
  transport->submit(Fill{&node.segment, {object.fill()}}, loop.now() + 20s, waiter);
  transport->abandon(waiter, nullptr);
  transport->abandon(waiter, nullptr);
  loop.run_until([&] { return false; }, loop.now() + 20ms);
  EXPECT_FALSE(waiter.status);
}

TEST_P(TransportContract, ManyTransfersAtOnceAllEndOnce) {
  std::vector<std::unique_ptr<Object>> objects;
  std::vector<Waiter> waiters(50);
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    objects.push_back(
        std::make_unique<Object>(node.segment, i + 1, 100'000, Bytes{i * 128 * 1024}));
    transport->submit(Fill{&node.segment, {objects[i]->fill()}}, loop.now() + 20s, waiters[i]);
  }
  const auto all = [&] {
    return std::ranges::all_of(waiters, [](Waiter& w) { return w.status.has_value(); });
  };
  loop.run_until(all, loop.now() + 20s);
  ASSERT_TRUE(all());
  for (const auto& object : objects) EXPECT_EQ(get(*object), object->value);
}

// The node's loop is another thread's, as in a process with clients.
TEST_P(TransportContract, ItWorksFromAnotherThreadThanTheNodes) {
  Loop client_loop;
  const auto client = [&](Transport& mine) {
    for (std::uint64_t i = 1; i <= 20; ++i) {
      Object object(node.segment, i, 300'000, Bytes{i << 20});
      std::vector<std::byte> into(object.value.size());
      for (int step = 0; step < 2; ++step) {
        Waiter waiter;
        mine.submit(step == 0 ? Transfer(Fill{&node.segment, {object.fill()}})
                              : Transfer(Read{{object.read(0_B, into)}}),
                    client_loop.now() + 20s, waiter);
        client_loop.run_until([&] { return waiter.status.has_value(); }, client_loop.now() + 20s);
        EXPECT_TRUE(object.result);
      }
      EXPECT_EQ(into, object.value);
    }
  };
  std::thread other([&] {
    if (GetParam() == Kind::local) {
      LocalTransport mine(client_loop, *node.host);
      client(mine);
    } else {
      TcpTransport mine(client_loop, {.who = "other"});
      client(mine);
    }
    loop.stop();
  });
  loop.run();
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Each, TransportContract, ::testing::Values(Kind::local, Kind::tcp),
                         [](const auto& info) {
                           return info.param == Kind::local ? "local" : "tcp";
                         });

}  // namespace
}  // namespace larder::real
