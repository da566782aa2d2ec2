#include "sim/capacity/client_session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sim/capacity/page_names.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t keep_alive_label = 0x620;

}  // namespace

ClientSession::Alarm::Alarm(ClientSession& session) : Event(keep_alive_label), session_(session) {}

ClientSession::ClientSession(Kernel& kernel, MasterServer& server, const PoolCosts& costs,
                             std::uint32_t host, std::string host_name)
    : kernel_(kernel),
      server_(server),
      costs_(costs),
      host_(host),
      host_name_(std::move(host_name)),
      period_(server.timing().heartbeat),
      opening_(server, *this),
      keeping_(server, *this),
      alarm_(*this) {
  if (server.alive()) open();
  kernel_.arm_in(alarm_, period_);
}

void ClientSession::open() {
  opening_.request.header = {.session = {1, host_ + 1},
                             .number = 0,
                             .lowest_unanswered = 0,
                             .highest_epoch = {},
                             .lease_returns = {},
                             .bad_bytes = {}};
  opening_.request.body =
      OpenSession{.tenant = pool_tenant, .client = host_name_, .host = host_name_};
  server_.apply_now(opening_);
}

void ClientSession::send(MasterCall& call) {
  RequestHeader& header = call.request.header;
  unanswered_.push_back(++number_);
  header.session = {1, host_ + 1};
  header.number = number_;
  header.lowest_unanswered = unanswered_.front();
  header.lease_returns.clear();
  std::swap(header.lease_returns, leases_);
  last_sent_ = kernel_.now();
  if (!threads_) return server_.send(call);
  call.prepare_on(*fabric_, *threads_);
  const auto items = static_cast<std::int64_t>(answer_count(call.request.body));
  // A put is handed over once.
  const bool first = !std::holds_alternative<PutEnd>(call.request.body);
  server_.send_after(call, costs_.client_request + costs_.client_item * items,
                     first ? costs_.hand_over : Duration(0));
}

void ClientSession::set_threads(Fabric& fabric, ThreadsId threads) {
  fabric_ = &fabric;
  threads_ = threads;
}

void ClientSession::ended(const MasterCall& call) {
  std::erase(unanswered_, call.request.header.number);
}

void ClientSession::keep_alive() {
  const Instant due = last_sent_ + period_;
  if (due > kernel_.now()) return kernel_.arm(alarm_, due);
  if (!keeping_.under_way()) {
    keeping_.request.body = KeepAlive{};
    send(keeping_);
  }
  kernel_.arm_in(alarm_, period_);
}

}  // namespace larder::sim
