#include "real/transport/node_host.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/base/assert.h"
#include "core/base/hash.h"
#include "core/protocol/owned_request.h"

namespace larder::real {

NodeHost::NodeHost(Loop& loop, NodeConfig config, IncarnationId incarnation, NodeHostUser& user)
    : loop_(loop),
      user_(user),
      incarnation_(incarnation),
      node_(std::move(config), incarnation, *this),
      ticker_(loop, [this] { tick(); }),
      alive_(std::make_shared<bool>(true)) {}

NodeHost::~NodeHost() { *alive_ = false; }

Status NodeHost::add_segment(const NodeSegment& segment, MappedMemory memory) {
  LARDER_ASSERT(memory.bytes().size() == segment.size.value);
  return use([&](Node& node, Time now, NodeEffects& effects) -> Status {
    LARDER_CHECK(node.add_segment(now, segment, effects));
    mappings_.emplace(segment.id, std::move(memory));
    return {};
  });
}

std::span<std::byte> NodeHost::find_memory(SegmentId segment) {
  const auto found = mappings_.find(segment);
  return found == mappings_.end() ? std::span<std::byte>() : found->second.bytes();
}

std::span<std::byte> NodeHost::memory(SegmentId segment) {
  const std::scoped_lock lock(mutex_);
  return find_memory(segment);
}

void NodeHost::write_footer(ReplicaLocation at, const FooterBytes& footer) {
  const auto bytes = find_memory(at.segment);
  LARDER_ASSERT(at.offset.value + footer.size() <= bytes.size(), "the footer lies in its segment");
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(bytes.data() + at.offset.value, footer.data(), footer.size());
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

ConnectionId NodeHost::new_connection() {
  const std::scoped_lock lock(mutex_);
  return {next_connection_++};
}

void NodeHost::add_ender(TransferEnder& ender) {
  const std::scoped_lock lock(enders_mutex_);
  enders_.push_back(&ender);
}
void NodeHost::remove_ender(TransferEnder& ender) {
  const std::scoped_lock lock(enders_mutex_);
  std::erase(enders_, &ender);
}

void NodeHost::carry_out() {
  const auto on_loop = [this](auto work) {
    loop_.post([alive = alive_, work = std::move(work)]() mutable {
      if (*alive) work();
    });
  };
  const auto end_all = [&](auto& ids) {
    if (ids.empty()) return;
    on_loop([this, ids] {
      const std::scoped_lock lock(enders_mutex_);
      for (const auto id : ids) {
        for (TransferEnder* ender : enders_) ender->end(id);
      }
    });
  };
  end_all(effects_.abort_fills);
  end_all(effects_.abort_reads);
  for (const NodeEffects::Verify& what : effects_.verify) on_loop([this, what] { verify(what); });
  for (const NodeEffects::Send& send : effects_.send) {
    on_loop([this, ticket = send.ticket, request = OwnedRequest(send.request)] {
      user_.send(ticket, request.get());
    });
  }
  if (effects_.reconnect) on_loop([this] { user_.reconnect(); });
  if (effects_.finished) on_loop([this] { user_.finished(); });
  effects_.clear();

  const Time due = node_.next_deadline().value_or(time_never);
  if (due >= ticks_at_) return;
  ticks_at_ = due;
  on_loop([this, due] { ticker_.set(due); });
}

void NodeHost::tick() {
  const std::scoped_lock lock(mutex_);
  ticks_at_ = time_never;
  node_.tick(loop_.now(), effects_);
  carry_out();
}

// Hashes one extent, some MiB at a time, so that the loop serves others between.
class NodeHost::Verifier : public std::enable_shared_from_this<Verifier> {
 public:
  Verifier(NodeHost& host, ReadId id, std::span<const std::byte> payload)
      : host_(host), alive_(host.alive_), id_(id), rest_(payload) {}

  void step() {
    if (!*alive_) return;
    const auto piece = rest_.first(std::min<std::size_t>(rest_.size(), std::size_t{4} << 20));
    hash_.update(piece);
    rest_ = rest_.subspan(piece.size());
    if (!rest_.empty()) {
      return host_.loop_.post([self = shared_from_this()] { self->step(); });
    }
    host_.use([this](Node& node, Time now, NodeEffects& effects) {
      node.verified(now, id_, hash_.value(), effects);
    });
  }

 private:
  NodeHost& host_;
  std::shared_ptr<bool> alive_;
  ReadId id_;
  std::span<const std::byte> rest_;
  ChecksumStream hash_;
};

void NodeHost::verify(NodeEffects::Verify what) {
  const auto bytes = memory(what.extent.location.segment);
  const auto payload = bytes.subspan(what.extent.location.offset.value, what.size.value);
  std::make_shared<Verifier>(*this, what.id, payload)->step();
}

}  // namespace larder::real
