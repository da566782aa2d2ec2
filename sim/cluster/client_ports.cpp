#include <algorithm>
#include <coroutine>
#include <utility>

#include "core/base/assert.h"
#include "core/protocol/owned_request.h"
#include "sim/cluster/client_process.h"
#include "sim/cluster/labels.h"
#include "sim/cluster/master_process.h"
#include "sim/cluster/node_process.h"

namespace larder::sim {

namespace {
constexpr Bytes control_bytes = 128_B;
constexpr Bytes item_bytes = 96_B;
}  // namespace

// ---- Timers -------------------------------------------------------------------------------------

void ClientProcess::arm(Time deadline, Completion& completion) {
  const auto [place, is_new] = timers_.try_emplace(&completion);
  LARDER_ASSERT(is_new, "armed twice");
  place->second = std::make_unique<HostAlarm>(*this, timer_label, [this, &completion] {
    timers_.erase(&completion);
    completion.complete({});
  });
  place->second->arm(deadline);
}

void ClientProcess::disarm(Completion& completion) noexcept { timers_.erase(&completion); }

// ---- MasterLink ---------------------------------------------------------------------------------

// One call, awaited: asks again and again until an answer comes or the deadline has passed.
class ClientProcess::MasterCall {
 public:
  MasterCall(ClientProcess& client, const Request& request, Time deadline)
      : client_(client),
        id_(++client.last_call_),
        request_(std::make_shared<const OwnedRequest>(request)),
        pause_(client.settings_.resend),
        deadline_(client, deadline_label, [this] { give_up(); }),
        resend_(client, resend_label, [this] { send(); }) {
    deadline_.arm(deadline);
    client_.calls_[id_] = this;
  }
  MasterCall(const MasterCall&) = delete;
  MasterCall& operator=(const MasterCall&) = delete;
  ~MasterCall() { client_.calls_.erase(id_); }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    send();
  }
  Result<Reply> await_resume() { return std::move(*result_); }

 private:
  void send();
  void give_up();
  void end(Result<Reply> result);
  // Does `what` with the call in its process, if it is still waited for.
  template <class What>
  static void with(ClientProcess& client, std::uint64_t id, What what);

  ClientProcess& client_;
  std::uint64_t id_;
  std::shared_ptr<const OwnedRequest> request_;
  Duration pause_;
  HostAlarm deadline_;
  HostAlarm resend_;
  bool refused_ = false;  // nobody listens there
  std::coroutine_handle<> waiter_;
  std::optional<Result<Reply>> result_;
};

template <class What>
void ClientProcess::MasterCall::with(ClientProcess& client, std::uint64_t id, What what) {
  client.enter([&client, id, what] {
    const auto call = client.calls_.find(id);
    if (call != client.calls_.end()) what(*call->second);
  });
}

void ClientProcess::MasterCall::send() {
  Network& network = client_.surroundings_.network;
  MasterProcess& master = *client_.master_;
  const Route there{.from = client_.host().id, .to = master.host().id};
  const Route back{.from = there.to, .to = there.from};
  const Bytes size = control_bytes + item_bytes * answer_count(request_->get().body);
  network.send(there, size, request_label,
               [&network, &master, &client = client_, id = id_, request = request_, back] {
                 if (!master.alive()) {
                   return network.send(back, control_bytes, refusal_label, [&client, id] {
                     with(client, id, [](MasterCall& call) { call.refused_ = true; });
                   });
                 }
                 const auto answer = [&network, &client, id, back](const Reply& reply) {
                   network.send(back, control_bytes + item_bytes * reply.answers.size(),
                                reply_label, [&client, id, reply] {
                                  with(client, id, [reply](MasterCall& call) { call.end(reply); });
                                });
                 };
                 master.enter([&master, request, answer] { master.receive(request, answer); });
               });
  const auto spread = static_cast<std::uint64_t>(pause_.count() / 4);
  resend_.arm_in(pause_ + Duration(client_.random_.below(spread + 1)));
  pause_ = std::min(2 * pause_, client_.settings_.resend_max);
}

void ClientProcess::MasterCall::give_up() {
  const ErrorCode code = refused_ ? ErrorCode::rpc_fail : ErrorCode::rpc_timeout;
  end(std::unexpected(Error(code, refused_ ? "the master's port is closed" : "no answer in time")
                          .with_endpoint(client_.master_->endpoint())));
}

void ClientProcess::MasterCall::end(Result<Reply> result) {
  result_ = std::move(result);
  client_.calls_.erase(id_);
  resend_.disarm();
  deadline_.disarm();
  waiter_.resume();
}

Task<Result<Reply>> ClientProcess::call(const Request& request, Time deadline) {
  co_return co_await MasterCall(*this, request, deadline);
}

// ---- Transport ----------------------------------------------------------------------------------

TransportTraits ClientProcess::traits() const {
  return {.name = "sim",
          .transfer_bytes_max = settings_.transport.transfer_bytes_max,
          .one_sided = settings_.transport.one_sided};
}

void ClientProcess::submit(Transfer transfer, Time deadline, Completion& completion) {
  const SegmentDescription* segment = std::holds_alternative<Fill>(transfer)
                                          ? std::get<Fill>(transfer).segment
                                          : std::get<Read>(transfer).ranges.at(0).segment;
  const auto node = surroundings_.nodes.find(segment->endpoint);
  LARDER_ASSERT(node != surroundings_.nodes.end(), "no node has ever had this endpoint");
  const Exchange::Parts parts{.network = surroundings_.network,
                              .settings = settings_.transport,
                              .random = random_,
                              .client = *this,
                              .node = *node->second,
                              .endpoint = segment->endpoint,
                              .completion = &completion,
                              .deadline = deadline};
  if (const Read* read = std::get_if<Read>(&transfer)) {
    observer().read_began(*this, segment->endpoint, read->ranges.front().put_id);
  }
  std::shared_ptr<Exchange> exchange;
  if (Fill* fill = std::get_if<Fill>(&transfer)) {
    exchange = std::make_shared<FillExchange>(parts, std::move(*fill));
  } else if (settings_.transport.one_sided) {
    exchange = std::make_shared<OneSidedRead>(parts, std::move(std::get<Read>(transfer)));
  } else {
    exchange = std::make_shared<ReadExchange>(parts, std::move(std::get<Read>(transfer)));
  }
  exchanges_.push_back(exchange);
  exchange->begin();
}

void ClientProcess::abandon(Completion& completion, std::shared_ptr<void>) noexcept {
  const auto place = std::ranges::find(exchanges_, &completion, &Exchange::completion);
  // From here on nothing touches what the transfer points at, so nothing has to be kept alive.
  if (place != exchanges_.end()) (*place)->abandon();
}

void ClientProcess::forget(const Exchange& exchange) {
  std::erase_if(exchanges_, [&](const auto& each) { return each.get() == &exchange; });
}

void ClientProcess::pace_changed() {
  for (const std::shared_ptr<Exchange>& exchange : exchanges_) exchange->pace_changed();
}

}  // namespace larder::sim
