#include "sim/capacity/transfer.h"

#include "core/base/assert.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t transfer_label = 0x630;

}  // namespace

Transfer::Transfer(Kernel& kernel, Fabric& fabric, const PoolConfig& config)
    : Event(transfer_label), kernel_(kernel), fabric_(fabric), config_(config) {}

void Transfer::start() {
  LARDER_ASSERT(stage_ == Stage::idle && bytes > Bytes{});
  engine->bytes_under_way += bytes;
  if (!asks_node()) return move();
  stage_ = Stage::asking;
  const bool served = node->reachable() && !node->threads();
  kernel_.arm_in(*this, config_.costs.message +
                            (served ? node->serve(objects.size(), served_as()) : Duration(0)));
}

// A one-sided reader asks nobody.
bool Transfer::asks_node() const {
  return kind == Kind::fill || config_.transport == Move::Transport::tcp;
}

// The request is there. Where the node's host has cores to share, it is served from now on.
void Transfer::asked() {
  if (!node->reachable() || !node->threads()) return move();
  work(node_work_, *node->threads(), node->work(1, served_as()));
}

PoolNode::Kind Transfer::served_as() const {
  return kind == Kind::fill ? PoolNode::Kind::fill : PoolNode::Kind::other;
}

Duration Transfer::for_bytes(Duration each_mib) const {
  return Duration(static_cast<std::int64_t>(static_cast<double>(each_mib.count()) *
                                            static_cast<double>(bytes.value) / (1 << 20)));
}

Duration Transfer::other_node_work() const {
  const Duration others = node->work(objects.size(), served_as()) - node->work(1, served_as());
  return kind == Kind::fill ? others + for_bytes(config_.costs.fill_each_mib) : others;
}

Duration Transfer::engine_work_each() const {
  return kind == Kind::fill ? config_.costs.client_put_item : config_.costs.client_read_item;
}

Duration Transfer::other_engine_work() const {
  const Duration others = engine_work_each() * static_cast<std::int64_t>(objects.size() - 1);
  const auto under_way = static_cast<double>(engine->bytes_under_way.value);
  const auto warm = static_cast<double>(config_.costs.warm_bytes.value);
  if (under_way <= warm) return others;
  const auto cold = static_cast<double>(for_bytes(config_.costs.cold_each_mib).count());
  return others + Duration(static_cast<std::int64_t>(cold * (1 - warm / under_way)));
}

void Transfer::work(std::optional<Service>& service, ThreadsId threads, Duration time) {
  service.emplace(fabric_, threads, *this);
  service->start(time);
}

void Transfer::worked() {
  switch (stage_) {
    case Stage::asking:
      return move();
    case Stage::moving:
      return moved();
    default:
      return taken();
  }
}

void Transfer::move() {
  const bool connected = fabric_.connected(engine_memory) && node->reachable();
  if (!connected) return break_off(config_.master.timing.fill_stalled);
  stage_ = Stage::moving;
  if (asks_node() && node->threads()) work(node_work_, *node->threads(), other_node_work());
  const std::optional<ThreadsId> engine_threads = engine->threads();
  if (engine_threads) work(engine_work_, *engine_threads, other_engine_work());
  const PartId memory = node->place().shape.memory;
  const bool reads = kind == Kind::read;
  bytewise_.emplace(fabric_,
                    Move::Plan{.from = reads ? memory : engine_memory,
                               .to = reads ? engine_memory : memory,
                               .length = bytes,
                               .transport = config_.transport,
                               .sender = reads ? node->threads() : engine_threads,
                               .receiver = reads ? engine_threads : node->threads()},
                    *this);
  bytewise_->start();
}

void Transfer::bytes_arrived() {
  bytewise_.reset();
  moved();
}

void Transfer::moved() {
  const auto under_way = [](const std::optional<Service>& service) {
    return service && service->under_way();
  };
  if (bytewise_ || under_way(node_work_) || under_way(engine_work_)) return;
  stage_ = Stage::answering;
  if (!engine->threads()) return taken();
  work(engine_work_, *engine->threads(), engine_work_each());
}

// A node says that it has sealed what it was given; a reader sees for itself.
void Transfer::taken() {
  if (kind == Kind::fill) return kernel_.arm_in(*this, config_.costs.message);
  fire();
}

void Transfer::stop() {
  kernel_.cancel(*this);
  end_parts();
  become_idle();
}

void Transfer::become_idle() {
  if (stage_ != Stage::idle) engine->bytes_under_way -= bytes;
  stage_ = Stage::idle;
}

void Transfer::break_off(Duration notice) {
  end_parts();
  stage_ = Stage::stalled;
  kernel_.arm_in(*this, notice);
}

void Transfer::end_parts() {
  bytewise_.reset();
  node_work_.reset();
  engine_work_.reset();
}

void Transfer::fire() {
  const Stage stage = stage_;
  if (stage == Stage::asking) return asked();
  become_idle();
  owner->transferred(*this, stage == Stage::answering);
}

}  // namespace larder::sim
