#include "sim/capacity/pool_node.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/assert.h"
#include "sim/capacity/page_names.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t heartbeat_label = 0x610;

}  // namespace

class PoolNode::Call final : public MasterCall {
 public:
  Call(MasterServer& server, PoolNode& node) : MasterCall(server), node_(node) {}

  bool good = false;
  std::optional<Error> refusal;    // why it is not good
  NodeRegistered registered;       // if it was that
  std::uint64_t registration = 0;  // with which it was sent
  std::uint64_t life = 0;

 private:
  void answered(std::uint32_t, const Answer& answer) override {
    good = answer.has_value();
    refusal.reset();
    if (!good) refusal = answer.error();
    const auto* value = good ? std::get_if<NodeRegistered>(&*answer) : nullptr;
    if (value != nullptr) registered = *value;
  }
  void ended() override { node_.answered(*this); }
  void failed() override {}

  PoolNode& node_;
};

PoolNode::PoolNode(Kernel& kernel, MasterServer& server, const Library& library,
                   const PoolConfig& config, Place place)
    : kernel_(kernel),
      server_(server),
      library_(library),
      costs_(config.costs),
      timing_(config.master.timing),
      place_(std::move(place)),
      name_("node" + std::to_string(place_.number)),
      registering_(std::make_unique<Call>(server, *this)),
      reporting_(std::make_unique<Call>(server, *this)),
      heartbeat_call_(std::make_unique<Call>(server, *this)),
      heartbeat_(*this, heartbeat_label) {}

PoolNode::~PoolNode() = default;

// A new incarnation, with nothing in it.
void PoolNode::renew() {
  ++lives_;
  alive_ = true;
  registration_ = 0;
  taken_epoch_ = {};
  incarnation_ = {place_.number + 1, lives_};
  segment_ = {place_.number + 1, lives_};
  held_.clear();
}

void PoolNode::register_now(Call& call) {
  call.request.body =
      RegisterNode{.incarnation = incarnation_,
                   .registration = ++registration_,
                   .taken_epoch = taken_epoch_,
                   .name = name_,
                   .endpoint = name_,
                   .host = place_.host_name,
                   .rack = {},
                   .segments = {{.id = segment_, .name = name_, .size = place_.shape.capacity}}};
  call.registration = registration_;
  call.life = lives_;
}

Status PoolNode::join_now() {
  renew();
  register_now(*registering_);
  server_.apply_now(*registering_);
  if (!registering_->good) return std::unexpected(*registering_->refusal);
  reporting_->request.body = ReportInventory{
      .incarnation = incarnation_, .registration = registration_, .last = true, .items = {}};
  server_.apply_now(*reporting_);
  taken_epoch_ = registering_->registered.epoch;
  // Nodes do not beat in step.
  kernel_.arm_in(heartbeat_, timing_.heartbeat * (place_.number % 64 + 1) / 64);
  return {};
}

void PoolNode::lose(bool silent) {
  LARDER_ASSERT(alive_);
  alive_ = false;
  held_.clear();
  kernel_.cancel(heartbeat_);
  for (Call* call : {registering_.get(), reporting_.get(), heartbeat_call_.get()}) {
    server_.recall(*call);
  }
  for (const auto& call : confirmations_) server_.recall(*call);
  if (!silent && connected_) server_.node_disconnected(incarnation_, registration_);
}

void PoolNode::come_back() {
  LARDER_ASSERT(!alive_);
  renew();
  if (connected_) send_registration();
}

void PoolNode::cut_off() {
  connected_ = false;
  kernel_.cancel(heartbeat_);
}

void PoolNode::reconnect() {
  connected_ = true;
  if (!alive_) return;
  if (server_.alive()) held_ = library_.held_on(segment_);
  send_registration();
}

void PoolNode::meet_master() {
  if (reachable()) send_registration();
}

void PoolNode::send_registration() {
  refused_ = false;
  for (Call* call : {registering_.get(), reporting_.get()}) server_.recall(*call);
  if (registering_->under_way() || reporting_->under_way()) return;  // its answer begins anew
  register_now(*registering_);
  server_.send(*registering_);
}

bool PoolNode::current(const Call& call) const {
  return reachable() && call.life == lives_ && call.registration == registration_;
}

void PoolNode::answered(Call& call) {
  if (!reachable()) return;
  if (&call == registering_.get()) {
    if (!current(call)) return send_registration();
    if (!call.good && call.refusal->code() == ErrorCode::node_lost) {
      renew();  // it was given up meanwhile: everything is retired, and it is a new one
      return send_registration();
    }
    if (!call.good) {  // it asks again after a heartbeat's time, as core/node does
      refused_ = true;
      kernel_.arm_in(heartbeat_, timing_.heartbeat);
      return;
    }
    if (call.registered.retire_everything) held_.clear();
    reported_ = 0;
    send_report();
  } else if (&call == reporting_.get()) {
    if (!current(call)) return send_registration();
    if (reported_ < held_.size()) return send_report();
    held_ = {};
    taken_epoch_ = registering_->registered.epoch;
    kernel_.arm_in(heartbeat_, timing_.heartbeat);
  } else if (&call == heartbeat_call_.get() && current(call) && !call.good) {
    held_ = server_.alive() ? library_.held_on(segment_) : std::vector<HeldExtent>();
    send_registration();
  }
}

void PoolNode::send_report() {
  const std::size_t first = reported_;
  reported_ = std::min(held_.size(), first + items_per_piece);
  ReportInventory report{.incarnation = incarnation_,
                         .registration = registration_,
                         .part = static_cast<std::uint32_t>(first / items_per_piece),
                         .last = reported_ == held_.size(),
                         .items = {}};
  const std::vector<Bytes>& sizes = library_.object_sizes();
  const PageBook& book = library_.book();
  texts_.clear();
  texts_.reserve(2 * object_key_bytes * (reported_ - first));
  for (std::size_t i = first; i < reported_; ++i) {
    const HeldExtent& extent = held_[i];
    const std::size_t at = texts_.size();
    append_object_key(texts_, book.id(extent.page), extent.object);
    const PageNumber parent = book.parent(extent.page);
    append_object_key(texts_, book.id(parent), 0);
    const std::string_view key = std::string_view(texts_).substr(at, object_key_bytes);
    const std::string_view before = std::string_view(texts_).substr(at + object_key_bytes);
    report.items.push_back(
        {.extent = extent.name,
         .retiring = false,
         .record = {.tenant = pool_tenant,
                    .key = key,
                    .group = group_name(key, sizes.size()),
                    .parent = parent == extent.page ? std::string_view()
                                                    : parent_name(before, sizes.size()),
                    .size = sizes[extent.object]},
         .checksum = std::nullopt,
         .age = kernel_.now() - extent.since});
  }
  reporting_->request.body = std::move(report);
  reporting_->registration = registration_;
  reporting_->life = lives_;
  server_.send(*reporting_);
}

void PoolNode::heartbeat() {
  if (refused_) return send_registration();
  kernel_.arm_in(heartbeat_, timing_.heartbeat);
  if (heartbeat_call_->under_way()) return;
  heartbeat_call_->request.body =
      Heartbeat{.incarnation = incarnation_,
                .registration = registration_,
                .fill_queue = std::max(Duration(0), free_at_ - kernel_.now()),
                .overlaps = 0,
                .stages = {}};
  heartbeat_call_->registration = registration_;
  heartbeat_call_->life = lives_;
  server_.send(*heartbeat_call_);
}

PoolNode::Call& PoolNode::confirmation() {
  for (const auto& call : confirmations_) {
    if (!call->under_way()) return *call;
  }
  return *confirmations_.emplace_back(std::make_unique<Call>(server_, *this));
}

void PoolNode::take(Command& command) {
  auto* retire = std::get_if<RetireExtents>(&command.body);
  if (!reachable() || retire == nullptr) return;
  Call& call = confirmation();
  const Duration wait = costs_.message + serve(retire->extents.size(), Kind::other);
  call.request.body = ConfirmRetirement{.incarnation = incarnation_,
                                        .registration = registration_,
                                        .retired = std::move(retire->extents),
                                        .held = {}};
  call.registration = registration_;
  call.life = lives_;
  server_.send(call, wait);
}

Duration PoolNode::serve(std::size_t extents, Kind kind) {
  free_at_ = std::max(free_at_, kernel_.now()) + work(extents, kind);
  return free_at_ - kernel_.now();
}

Duration PoolNode::work(std::size_t extents, Kind kind) const {
  const Duration each =
      kind == Kind::fill ? costs_.node_fill.value_or(costs_.node_extent) : costs_.node_extent;
  return costs_.node_request + each * static_cast<std::int64_t>(extents);
}

}  // namespace larder::sim
