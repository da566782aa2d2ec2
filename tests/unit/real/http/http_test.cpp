#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "real/http/http_server.h"
#include "real/http/pages.h"

namespace larder::real {
namespace {

using namespace std::chrono_literals;

struct OnePage final : HttpPages {
  HttpAnswer page(std::string_view path) override {
    asked.emplace_back(path);
    if (path != "/there") return {.status = 404, .content_type = "text/plain", .body = "not here"};
    return {.content_type = "text/plain", .body = "it is here"};
  }
  std::vector<std::string> asked;
};

// A server, and the other end of its connections.
class HttpTest : public testing::Test {
 protected:
  void SetUp() override { make({}); }
  void make(HttpServerConfig config) {
    server.reset();
    server = std::make_unique<HttpServer>(loop, config, pages);
  }
  void TearDown() override {
    for (const int peer : peers) ::close(peer);
  }
  int connect(std::string_view first) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    peers.push_back(ends[0]);
    server->adopt(Socket(ends[1]), first);
    return ends[0];
  }
  static void send(int peer, std::string_view text) {
    EXPECT_EQ(::send(peer, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // What came until `until` is in it, or the end, which is shown as "<end>".
  std::string receive(int peer, std::string_view until) {
    std::string got;
    const auto look = [&] {
      char buffer[4096];
      const ssize_t n = ::recv(peer, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n > 0) got.append(buffer, static_cast<std::size_t>(n));
      if (n == 0 || (n < 0 && errno != EAGAIN)) got += "<end>";
      return got.find(until) != std::string::npos || got.ends_with("<end>");
    };
    loop.run_until(look, loop.now() + 10s);
    return got;
  }
  Loop loop;
  OnePage pages;
  std::unique_ptr<HttpServer> server;
  std::vector<int> peers;
};

TEST_F(HttpTest, APageIsServedWhereverTheFirstBytesEnd) {
  const std::string request = "GET /there?a=b HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t cut = 0; cut <= request.size(); ++cut) {
    const int peer = connect(request.substr(0, cut));
    send(peer, request.substr(cut));
    const std::string answer = receive(peer, "it is here");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_NE(answer.find("Content-Length: 10\r\n"), std::string::npos) << answer;
  }
  EXPECT_EQ(pages.asked.front(), "/there");
}

TEST_F(HttpTest, AConnectionServesOneRequestAfterTheOther) {
  const int peer = connect("GET /there HTTP/1.1\r\n\r\n");
  receive(peer, "it is here");
  send(peer, "GET /gone HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(receive(peer, "not here").starts_with("HTTP/1.1 404 "));
  send(peer, "GET /there HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(receive(peer, "<end>").ends_with("it is here<end>"));
}

TEST_F(HttpTest, HeadHasTheLengthAndNoBody) {
  const int peer = connect("HEAD /there HTTP/1.0\r\n\r\n");
  const std::string answer = receive(peer, "<end>");
  EXPECT_NE(answer.find("Content-Length: 10\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n<end>")) << answer;
}

TEST_F(HttpTest, OtherMethodsBodiesAndGarbageAreAnsweredWithWhatIsWrong) {
  EXPECT_TRUE(
      receive(connect("DELETE /there HTTP/1.1\r\n\r\n"), "HEAD here").starts_with("HTTP/1.1 405 "));
  for (const std::string& bad :
       {std::string("GET /there\r\n\r\n"), std::string("GET  HTTP/1.1\r\n\r\n"),
        std::string("GET /there HTTP/1.1\r\nno colon\r\n\r\n"),
        "GET /there HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n"}) {
    const std::string answer = receive(connect(bad), "<end>");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ") || answer == "<end>") << answer;
    EXPECT_TRUE(answer.ends_with("<end>")) << answer;
  }
  EXPECT_TRUE(pages.asked.empty());
}

TEST_F(HttpTest, APeerThatSaysNothingMoreIsLeft) {
  make({.request_deadline = 20ms});
  EXPECT_EQ(receive(connect("GET /there HT"), "<end>"), "<end>");
  const int idle = connect("GET /there HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(receive(idle, "<end>").ends_with("it is here<end>"));
}

TEST_F(HttpTest, BeyondTheirNumberTheOneThatHasWaitedLongestMakesWay) {
  make({.connections_max = 2});
  const int first = connect("GET /th");
  const int second = connect("GET /th");
  const int third = connect("GET /there HTTP/1.1\r\n\r\n");
  EXPECT_EQ(receive(first, "<end>"), "<end>");
  EXPECT_TRUE(receive(third, "it is here").ends_with("it is here"));
  send(second, "ere HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(receive(second, "it is here").ends_with("it is here"));
}

TEST_F(HttpTest, AServerThatGoesClosesItsConnections) {
  const int peer = connect("GET /there HT");
  server.reset();
  EXPECT_EQ(receive(peer, "<end>"), "<end>");
}

TEST(BeginsAsHttp, KnowsMethodsAndNothingElse) {
  EXPECT_TRUE(begins_as_http("GET / HTTP/1.1\r\n"));
  EXPECT_TRUE(begins_as_http("POST /x HTTP/1.1"));
  EXPECT_FALSE(begins_as_http("GETTING / HTTP/1"));
  EXPECT_FALSE(begins_as_http("larder\1\2\3\4\5\6\7\10\11\12"));
  EXPECT_FALSE(begins_as_http(""));
}

StatusReport a_status() {
  StatusReport status;
  status.epoch = {77};
  status.objects = 3;
  status.capacity = 5_GiB;
  status.gets = 10;
  status.hits = 4;
  status.refusals = {{"NO_AVAILABLE_HANDLE", 2}, {"INVALID_KEY", 1}};
  status.nodes = {{.name = "a\"b\\c\nd", .state = "shown", .capacity = 4_GiB},
                  {.name = "n", .state = "hidden", .capacity = 1_GiB}};
  return status;
}

TEST(Pages, MetricsTellOfConnectionsThatWereGivenUp) {
  const GivenUp given_up{.came_too_late = 1, .made_way = 2, .unfinished = 3};
  const std::string of_master = master_page("/metrics", a_status(), false, given_up).body;
  for (const char* line : {"{reason=\"handshake_late\"} 1\n", "{reason=\"handshake_made_way\"} 2\n",
                           "{reason=\"unfinished_frame\"} 3\n"}) {
    EXPECT_NE(of_master.find(std::string("larder_master_given_up_connections_total") + line),
              std::string::npos)
        << line;
  }
}

TEST(Pages, MetricsAreTheStatusInPrometheusFormat) {
  const HttpAnswer page = master_page("/metrics", a_status(), false);
  EXPECT_EQ(page.status, 200u);
  EXPECT_EQ(page.content_type, "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line :
       {"# TYPE larder_master_objects gauge\nlarder_master_objects 3\n",
        "larder_master_capacity_bytes 5368709120\n", "# TYPE larder_master_gets_total counter\n",
        "larder_master_gets_total 10\n", "larder_master_hits_total 4\n",
        "larder_master_refusals_total{code=\"NO_AVAILABLE_HANDLE\"} 2\n",
        "larder_master_refusals_total{code=\"INVALID_KEY\"} 1\n",
        "larder_master_node_state{node=\"n\",state=\"hidden\"} 1\n",
        "larder_master_node_capacity_bytes{node=\"a\\\"b\\\\c\\nd\"} 4294967296\n"}) {
    EXPECT_NE(page.body.find(line), std::string::npos) << line << "\nin\n" << page.body;
  }
  // Each family is introduced once.
  EXPECT_EQ(page.body.find("# TYPE larder_master_refusals_total"),
            page.body.rfind("# TYPE larder_master_refusals_total"));
}

TEST(Pages, AMasterIsHealthyUntilAnotherLeads) {
  StatusReport status = a_status();
  EXPECT_EQ(master_page("/health", status, false).body,
            R"({"status":"ok","role":"master","epoch":77,"nodes":2,"nodes_shown":1})"
            "\n");
  status.recovering = true;
  EXPECT_EQ(master_page("/health", status, false).status, 200u);
  EXPECT_NE(master_page("/health", status, false).body.find("ok, recovering"), std::string::npos);
  EXPECT_EQ(master_page("/health", status, true).status, 503u);
}

TEST(Pages, ANodeIsHealthyOnceAMasterHasItsReport) {
  NodeStatus status;
  status.extents[1] = 7;
  StageTimes stages;
  stages.add(NodeStage::read, std::chrono::milliseconds(3));
  const NodeView view{
      .status = status, .stages = stages, .name = "n", .capacity = 1_GiB, .connected = false};
  EXPECT_EQ(node_page("/health", view).status, 503u);
  NodeView connected = view;
  connected.connected = true;
  EXPECT_EQ(node_page("/health", connected).status, 503u);
  status.reported = true;
  EXPECT_EQ(node_page("/health", connected).status, 200u);
  EXPECT_EQ(node_page("/health", view).status, 503u);
  EXPECT_NE(node_page("/metrics", view).body.find("larder_node_extents{state=\"sealed\"} 7\n"),
            std::string::npos);
}

TEST(Pages, StatementC10_EachStageIsExportedByItself) {
  StatusReport status = a_status();
  status.stages = {
      {.where = "clients", .stage = "lookup", .count = 7, .p50 = std::chrono::milliseconds(1)},
      {.where = "clients", .stage = "transfer", .count = 6, .p99 = std::chrono::seconds(2)}};
  const std::string text = master_page("/metrics", status, false).body;
  for (const char* line :
       {"larder_master_stage_seconds{where=\"clients\",stage=\"lookup\",quantile=\"0.5\"} 0.001",
        "larder_master_stage_seconds{where=\"clients\",stage=\"transfer\",quantile=\"0.99\"} 2\n",
        "larder_master_stages_total{where=\"clients\",stage=\"lookup\"} 7\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
  }
}

TEST(Pages, ElsewhereThereIsAHint) {
  EXPECT_EQ(master_page("/", a_status(), false).status, 404u);
  EXPECT_NE(master_page("/", a_status(), false).body.find("/metrics"), std::string::npos);
}

}  // namespace
}  // namespace larder::real
