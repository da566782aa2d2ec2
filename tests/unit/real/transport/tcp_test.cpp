#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>

#include "proto/codec.h"
#include "real/rpc/dial.h"
#include "real/rpc/frame.h"
#include "tests/unit/real/transport/pool.h"

// What only a transport between processes can meet: peers that are dead, silent, or strange.

namespace larder::real {
namespace {

using namespace std::chrono_literals;
using test::Object;
using test::random_bytes;
using test::TestNode;
using test::Waiter;

// Takes connections and neither reads nor writes.
struct SilentDoor final : Doors {
  Status admits(Role) const override { return {}; }
  void enter(Role, Socket socket, Hello) override { sockets.push_back(std::move(socket)); }
  std::vector<Socket> sockets;
};

class TcpTest : public ::testing::Test {
 protected:
  template <class DoneNow>
  bool serve(DoneNow done, Duration time = 20s) {
    loop.run_until(done, loop.now() + time);
    return done();
  }
  Loop loop;
};

TEST_F(TcpTest, ADeadPeerIsAnErrorWithItsEndpoint) {
  SilentDoor door;
  auto listener = std::move(*Listener::make(loop, {.endpoint = {"127.0.0.1", 0}}, door));
  const SegmentDescription segment{.id = {2, 2}, .endpoint = to_string(listener->endpoint())};
  listener.reset();
  TcpTransport transport(loop, {.who = "test"});
  Object object(segment, 1, 1'000, 0_B);
  Waiter waiter;
  transport.submit(Fill{&segment, {object.fill()}}, loop.now() + 20s, waiter);
  ASSERT_TRUE(serve([&] { return waiter.status.has_value(); }));
  ASSERT_FALSE(*waiter.status);
  EXPECT_EQ(waiter.status->error().code(), ErrorCode::transfer_fail);
  EXPECT_EQ(waiter.status->error().facts().endpoint, segment.endpoint);
  EXPECT_EQ(object.result.error().code(), ErrorCode::transfer_fail);
}

TEST_F(TcpTest, AnEndpointThatIsNoneIsAnErrorToo) {
  const SegmentDescription segment{.id = {2, 2}, .endpoint = "nowhere"};
  TcpTransport transport(loop, {.who = "test"});
  Object object(segment, 1, 1'000, 0_B);
  Waiter waiter;
  transport.submit(Fill{&segment, {object.fill()}}, loop.now() + 20s, waiter);
  ASSERT_TRUE(serve([&] { return waiter.status.has_value(); }));
  EXPECT_EQ(waiter.status->error().code(), ErrorCode::invalid_params);
}

TEST_F(TcpTest, APeerThatStopsReadingEndsAtTheDeadlineAndItsConnectionIsClosed) {
  SilentDoor door;
  const auto listener = std::move(*Listener::make(loop, {.endpoint = {"127.0.0.1", 0}}, door));
  const SegmentDescription segment{.id = {2, 2}, .endpoint = to_string(listener->endpoint())};
  TcpTransport transport(loop, {.who = "test"});
  Object object(segment, 1, 64 << 20, 0_B);
  Waiter waiter;
  const Time began = loop.now();
  transport.submit(Fill{&segment, {object.fill()}}, began + 200ms, waiter);
  ASSERT_TRUE(serve([&] { return waiter.status.has_value(); }));
  EXPECT_GE(loop.now() - began, 200ms);
  EXPECT_EQ(waiter.status->error().code(), ErrorCode::transfer_fail);
  EXPECT_EQ(transport.idle_connections(), 0u);
}

TEST_F(TcpTest, APeerThatAnswersLateChangesNoByteAfterTheCallHasReturned) {
  SilentDoor door;
  const auto listener = std::move(*Listener::make(loop, {.endpoint = {"127.0.0.1", 0}}, door));
  const SegmentDescription segment{.id = {2, 2}, .endpoint = to_string(listener->endpoint())};
  TcpTransport transport(loop, {.who = "test"});
  Object object(segment, 1, 1'000, 0_B);
  std::vector<std::byte> into(1'000);
  Waiter waiter;
  transport.submit(Read{{object.read(0_B, into)}}, loop.now() + 50ms, waiter);
  ASSERT_TRUE(serve([&] { return waiter.status.has_value(); }));
  ASSERT_EQ(door.sockets.size(), 1u);
  std::string frame = open_frame();
  encode(ReadAnswer{}, frame);
  ASSERT_TRUE(close_frame(FrameKind::read_answer, 1, frame));
  frame.append(1'000, 'x');
  ::send(door.sockets[0].get(), frame.data(), frame.size(), MSG_NOSIGNAL);
  serve([] { return false; }, 30ms);
  EXPECT_EQ(into, std::vector<std::byte>(1'000));
}

TEST_F(TcpTest, ConnectionsAreUsedAgainAndOneThatThePeerClosedIsNot) {
  TestNode node(loop, 16_MiB);
  TcpTransport transport(loop, {.who = "test"});
  const auto put = [&](std::uint64_t number) {
    Object object(node.segment, number, 1'000, Bytes{number << 16});
    Waiter waiter;
    transport.submit(Fill{&node.segment, {object.fill()}}, loop.now() + 20s, waiter);
    EXPECT_TRUE(serve([&] { return waiter.status.has_value(); }));
    EXPECT_TRUE(*waiter.status);
    EXPECT_TRUE(object.result);
  };
  put(1);
  put(2);
  EXPECT_EQ(transport.idle_connections(), 1u);
  EXPECT_EQ(node.server->connections(), 1u);
  node.server = std::make_unique<TcpServer>(loop, *node.host, TcpServerConfig{});
  put(3);
  EXPECT_EQ(transport.idle_connections(), 1u);
}

TEST_F(TcpTest, WhoOpensAConnectionClosesThoseThatOtherPeersHaveEnded) {
  TestNode old(loop, 16_MiB);
  TestNode young(loop, 16_MiB);
  TcpTransport transport(loop, {.who = "test"});
  const auto put = [&](TestNode& node) {
    Object object(node.segment, 1, 1'000, 0_B);
    Waiter waiter;
    transport.submit(Fill{&node.segment, {object.fill()}}, loop.now() + 20s, waiter);
    ASSERT_TRUE(serve([&] { return waiter.status.has_value(); }));
    EXPECT_TRUE(*waiter.status);
  };
  put(old);
  ASSERT_EQ(transport.idle_connections(), 1u);
  old.server = std::make_unique<TcpServer>(loop, *old.host, TcpServerConfig{});
  put(young);
  EXPECT_EQ(transport.idle_connections(), 1u) << "only the one to the young node";
}

TEST_F(TcpTest, MoreTransfersThanConnectionsOrBytesAllowedWaitForEachOther) {
  TestNode node(loop, 64_MiB);
  TcpTransport transport(
      loop, {.who = "test", .connections_per_endpoint = 2, .bytes_in_flight_max = 1'500'000_B});
  std::vector<std::unique_ptr<Object>> objects;
  std::vector<Waiter> waiters(20);
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    objects.push_back(std::make_unique<Object>(node.segment, i + 1, 1'000'000, Bytes{i << 20}));
    transport.submit(Fill{&node.segment, {objects[i]->fill()}}, loop.now() + 20s, waiters[i]);
  }
  std::size_t most = 0;
  ASSERT_TRUE(serve([&] {
    most = std::max(most, node.server->connections());
    return std::ranges::all_of(waiters, [](Waiter& w) { return w.status.has_value(); });
  }));
  for (const Waiter& waiter : waiters) EXPECT_TRUE(*waiter.status);
  EXPECT_EQ(most, 1u);  // two of them together are too many bytes
}

TEST_F(TcpTest, ATransferIsDividedOverConnectionsAndThePartsOfAnExtentAreNot) {
  TestNode node(loop, 64_MiB);
  TcpTransport transport(
      loop, {.who = "test", .connections_per_transfer = 3, .bytes_per_connection_min = 100'000_B});
  Object whole(node.segment, 1, 600'000, 0_B);
  Object other(node.segment, 2, 300'000, 1_MiB);
  Fill fill{.segment = &node.segment};
  std::vector<ConstSlice> parts;
  std::vector<Status> results(6, failed(ErrorCode::internal_error));
  for (std::size_t i = 0; i < 6; ++i) {
    parts.push_back(ConstSlice(whole.value).subspan(i * 100'000, 100'000));
  }
  for (std::size_t i = 0; i < 6; ++i) {
    FillRange part = whole.fill();
    part.item.part_offset = Bytes{i * 100'000};
    part.item.part_length = 100'000_B;
    part.item.last_part = i == 5;
    if (i < 5) part.item.checksum.reset();
    part.from = std::span(&parts[i], 1);
    part.result = &results[i];
    fill.ranges.push_back(part);
  }
  fill.ranges.push_back(other.fill());
  Waiter waiter;
  transport.submit(std::move(fill), loop.now() + 20s, waiter);
  ASSERT_TRUE(serve([&] { return waiter.status.has_value(); }));
  EXPECT_TRUE(*waiter.status);
  for (const Status& result : results) EXPECT_TRUE(result);
  EXPECT_TRUE(other.result);
  EXPECT_EQ(transport.idle_connections(), 2u);
}

// The items of the others may be good all the same; whoever keeps book of endpoints hears of it.
TEST_F(TcpTest, AConnectionThatBreaksFailsItsPartOfADividedTransfer) {
  SilentDoor door;
  const auto listener = std::move(*Listener::make(loop, {.endpoint = {"127.0.0.1", 0}}, door));
  const SegmentDescription segment{.id = {2, 2}, .endpoint = to_string(listener->endpoint())};
  TcpTransport transport(loop, {.who = "test", .bytes_per_connection_min = 1_KiB});
  Object first(segment, 1, 10'000, 0_B);
  Object second(segment, 2, 10'000, 1_MiB);
  Waiter waiter;
  transport.submit(Fill{&segment, {first.fill(), second.fill()}}, loop.now() + 20s, waiter);
  ASSERT_TRUE(serve([&] { return door.sockets.size() == 2; }));
  door.sockets.pop_back();
  ASSERT_TRUE(serve([&] {
    return first.result.error().code() == ErrorCode::transfer_fail ||
           second.result.error().code() == ErrorCode::transfer_fail;
  }));
  EXPECT_FALSE(waiter.status) << "one of them is still on its way";
  door.sockets.clear();
  ASSERT_TRUE(serve([&] { return waiter.status.has_value(); }));
  EXPECT_FALSE(*waiter.status);
  EXPECT_EQ(first.result.error().code(), ErrorCode::transfer_fail);
  EXPECT_EQ(second.result.error().code(), ErrorCode::transfer_fail);
}

// ---- strange clients of a node -----------------------------------------------------------------

class StrangeClient : public TcpTest {
 protected:
  explicit StrangeClient(const TcpServerConfig& config = {}) : node(loop, 16_MiB, config) {
    dial = std::make_unique<Dial>(
        loop, DialTarget{.endpoint = node.listener->endpoint(), .role = Role::data, .who = "odd"},
        loop.now() + 20s, [this](Result<Socket> made) { socket = std::move(*made); });
    EXPECT_TRUE(serve([&] { return socket.get() >= 0 && node.server->connections() == 1; }));
  }
  void send(std::string_view bytes) {
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  bool is_closed() {
    return serve([&] { return node.server->connections() == 0; });
  }
  static std::string frame_of(FrameKind kind, Object& object) {
    std::string frame = open_frame();
    encode(std::vector{object.fill()}, frame);
    EXPECT_TRUE(close_frame(kind, 1, frame));
    return frame;
  }

  TestNode node;
  std::unique_ptr<Dial> dial;
  Socket socket;
};

TEST_F(StrangeClient, GarbageIsClosed) {
  send(std::string(100, '\xee'));
  EXPECT_TRUE(is_closed());
}

TEST_F(StrangeClient, AFrameOfAnotherKindIsClosed) {
  Object object(node.segment, 1, 1'000, 0_B);
  send(frame_of(FrameKind::request, object));
  EXPECT_TRUE(is_closed());
}

TEST_F(StrangeClient, AMalformedFillIsClosed) {
  Object object(node.segment, 1, 1'000, 0_B);
  std::string frame = frame_of(FrameKind::fill, object);
  frame[frame_header_size] = '\x7f';
  send(frame);
  EXPECT_TRUE(is_closed());
}

TEST_F(StrangeClient, AWriterThatLeavesInTheMiddleLeavesNothingSealed) {
  Object object(node.segment, 1, 1'000, 0_B);
  send(frame_of(FrameKind::fill, object) + std::string(500, 'x'));
  ASSERT_TRUE(serve([&] { return node.status().fills_in_flight == 1; }));
  socket = Socket();
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(node.status().fills_in_flight, 0u);
  EXPECT_EQ(node.status().extents[static_cast<std::size_t>(FillState::sealed)], 0u);
}

TEST_F(StrangeClient, AWriterThatLeavesAfterTheLastByteLeavesNothingSealed) {
  Object object(node.segment, 1, 1'000, 0_B);
  const std::uint64_t sum = checksum(object.value);
  std::string bytes = frame_of(FrameKind::fill, object);
  bytes.append(reinterpret_cast<const char*>(object.value.data()), object.value.size());
  bytes.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
  send(bytes);
  socket = Socket();  // before the node's loop has seen any of it
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(node.status().extents[static_cast<std::size_t>(FillState::sealed)], 0u);
}

// Half of anything: what has begun must go on, or it ends.
class StalledClient : public StrangeClient {
 protected:
  StalledClient() : StrangeClient({.stalled = 50ms}) {}
  void check_closes_after(std::string_view bytes) {
    const Time began = loop.now();
    send(bytes);
    EXPECT_TRUE(is_closed());
    EXPECT_GE(loop.now() - began, 50ms);
    EXPECT_EQ(node.status().fills_in_flight, 0u);
  }
};

TEST_F(StalledClient, OneByteOfAFrame) { check_closes_after("\x10"); }

TEST_F(StalledClient, AHeaderWithoutItsBody) {
  Object object(node.segment, 1, 1'000, 0_B);
  check_closes_after(frame_of(FrameKind::fill, object).substr(0, frame_header_size));
}

TEST_F(StalledClient, HalfABody) {
  Object object(node.segment, 1, 1'000, 0_B);
  const std::string frame = frame_of(FrameKind::fill, object);
  check_closes_after(frame.substr(0, frame.size() - 1));
}

TEST_F(StalledClient, AFillWithoutItsPayload) {
  Object object(node.segment, 1, 1'000, 0_B);
  check_closes_after(frame_of(FrameKind::fill, object));
}

TEST_F(StalledClient, HalfAPayload) {
  Object object(node.segment, 1, 1'000, 0_B);
  check_closes_after(frame_of(FrameKind::fill, object) + std::string(500, 'x'));
}

TEST_F(StalledClient, HalfThePayloadOfARefusedFill) {
  Object object(node.segment, 1, 1'000, 0_B);
  object.put_id.epoch = Epoch{4};
  check_closes_after(frame_of(FrameKind::fill, object) + std::string(500, 'x'));
}

TEST_F(StalledClient, OneThatAsksForNothingMayStay) {
  EXPECT_FALSE(serve([&] { return node.server->connections() == 0; }, 200ms));
}

TEST_F(StalledClient, OneThatReadsNothingOfWhatItAskedFor) {
  Object object(node.segment, 1, 15 << 20, 0_B);
  TcpTransport writer(loop, {.who = "test"});
  Waiter waiter;
  writer.submit(Fill{&node.segment, {object.fill()}}, loop.now() + 20s, waiter);
  ASSERT_TRUE(serve([&] { return waiter.status.has_value(); }));
  std::string frame = open_frame();
  encode(std::vector{ReadPart{.extent = {object.put_id, {node.segment.id, 0_B}},
                              .payload_size = {object.value.size()},
                              .length = {object.value.size()}}},
         frame);
  ASSERT_TRUE(close_frame(FrameKind::read, 1, frame));
  send(frame);
  ASSERT_TRUE(serve([&] { return node.status().reads_in_flight == 1; }));
  EXPECT_TRUE(serve([&] { return node.server->connections() == 1; }));  // the writer's
  EXPECT_EQ(node.status().reads_in_flight, 0u);
}

class CrowdedNode : public StrangeClient {
 protected:
  CrowdedNode() : StrangeClient({.unfinished_bytes_max = 1 << 20}) {}
};

TEST_F(CrowdedNode, ARequestThatDoesNotEndMakesWayForOthers) {
  FrameHeader header{.length = 8 << 20, .kind = FrameKind::fill, .ticket = 1};
  std::string frame = open_frame();
  frame.resize(frame_header_size + header.length);
  ASSERT_TRUE(close_frame(header.kind, header.ticket, frame));
  std::size_t sent = 0;
  EXPECT_TRUE(serve([&] {
    const ssize_t n = ::send(socket.get(), frame.data() + sent,
                             std::min(frame.size() - 1 - sent, std::size_t{1} << 16),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<std::size_t>(n);
    return node.server->given_up() == 1;
  }));
  EXPECT_LT(sent, std::size_t{8} << 20);
  EXPECT_TRUE(is_closed());
  Object object(node.segment, 1, 1'000, 0_B);
  TcpTransport writer(loop, {.who = "test"});
  Waiter waiter;
  writer.submit(Fill{&node.segment, {object.fill()}}, loop.now() + 20s, waiter);
  ASSERT_TRUE(serve([&] { return waiter.status.has_value(); }));
  EXPECT_TRUE(object.result);
}

TEST_F(StrangeClient, AFillOfManyEmptyItemsIsAnsweredItemByItem) {
  std::vector<FillRange> ranges(20'000);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    ranges[i].item.record.key = "k";
    ranges[i].item.location.segment = {8, 8};
  }
  std::string frame = open_frame();
  encode(ranges, frame);
  ASSERT_TRUE(close_frame(FrameKind::fill, 1, frame));
  std::size_t sent = 0;
  std::size_t received = 0;
  ASSERT_TRUE(serve([&] {
    const ssize_t n =
        ::send(socket.get(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<std::size_t>(n);
    char bytes[4096];
    const ssize_t m = ::recv(socket.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (m > 0) received += static_cast<std::size_t>(m);
    return received > ranges.size();
  }));
  EXPECT_EQ(node.server->connections(), 1u);
}

}  // namespace
}  // namespace larder::real
