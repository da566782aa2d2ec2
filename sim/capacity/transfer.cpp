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
  // A one-sided reader asks nobody.
  const bool asks = kind == Kind::fill || config_.transport == Move::Transport::tcp;
  if (!asks) return move();
  stage_ = Stage::asking;
  const bool served = node->reachable() && !node->threads();
  kernel_.arm_in(*this, config_.costs.message +
                            (served ? node->serve(objects.size(), served_as()) : Duration(0)));
}

// The request is there. Where the node's host has cores to share, it is served from now on.
void Transfer::asked() {
  if (!node->reachable() || !node->threads()) return move();
  const bool fills = kind == Kind::fill;
  work(*node->threads(), node->work(objects.size(), served_as()) +
                             (fills ? for_bytes(config_.costs.fill_each_mib) : Duration(0)));
}

PoolNode::Kind Transfer::served_as() const {
  return kind == Kind::fill ? PoolNode::Kind::fill : PoolNode::Kind::other;
}

Duration Transfer::for_bytes(Duration each_mib) const {
  return Duration(static_cast<std::int64_t>(static_cast<double>(each_mib.count()) *
                                            static_cast<double>(bytes.value) / (1 << 20)));
}

void Transfer::work(ThreadsId threads, Duration time) {
  service_.emplace(fabric_, threads, *this);
  service_->start(time);
}

void Transfer::served() { stage_ == Stage::asking ? move() : fire(); }

void Transfer::move() {
  const bool connected = fabric_.connected(engine_memory) && node->reachable();
  if (!connected) return break_off(config_.master.timing.fill_stalled);
  stage_ = Stage::moving;
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

void Transfer::arrived() {
  stage_ = Stage::answering;
  // A node says that it has sealed what it was given; a reader sees for itself.
  if (kind == Kind::fill) return kernel_.arm_in(*this, config_.costs.message);
  if (engine_threads && bytes >= config_.costs.cache) {
    return work(*engine_threads, for_bytes(config_.costs.cold_read_each_mib));
  }
  fire();
}

void Transfer::stop() {
  kernel_.cancel(*this);
  service_.reset();
  bytewise_.reset();
  stage_ = Stage::idle;
}

void Transfer::break_off(Duration notice) {
  service_.reset();
  bytewise_.reset();
  stage_ = Stage::stalled;
  kernel_.arm_in(*this, notice);
}

void Transfer::fire() {
  const Stage stage = stage_;
  if (stage == Stage::asking) return asked();
  bytewise_.reset();
  stage_ = Stage::idle;
  owner->transferred(*this, stage == Stage::answering);
}

}  // namespace larder::sim
