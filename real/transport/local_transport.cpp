#include "real/transport/local_transport.h"

#include <cstring>

#include "core/base/assert.h"
#include "core/base/hash.h"
#include "real/transport/cursor.h"
#include "real/transport/errors.h"

namespace larder::real {
namespace {

constexpr std::size_t step_bytes = std::size_t{4} << 20;     // well under a millisecond
constexpr std::size_t piece_bytes = std::size_t{256} << 10;  // copied and hashed while in the cache

}  // namespace

// One transfer, which goes on in steps that it posts to the loop.
class LocalTransport::Operation : public std::enable_shared_from_this<Operation> {
 public:
  Operation(LocalTransport& transport, Transfer transfer, Time deadline, Completion& completion)
      : transport_(&transport),
        transfer_(std::move(transfer)),
        deadline_(deadline),
        began_(transport.loop_.now()),
        completion_(completion) {}

  void post_step() {
    transport_->loop_.post([self = shared_from_this()] {
      if (self->transport_ != nullptr) self->step();
    });
  }

  // Gives up what is under way; nothing is touched after it.
  void end() {
    if (transport_ == nullptr) return;
    if (fill_) {
      transport_->node_.use(
          [&](Node& node, Time now, NodeEffects& effects) { node.end_fill(now, *fill_, effects); });
    }
    if (read_) end_read();
    fill_.reset();
    transport_ = nullptr;
  }

 private:
  void step() {
    const Time now = transport_->loop_.now();
    if (now >= deadline_) {
      const Error late = transfer_too_late("the node in this process", now - began_);
      std::visit([&](auto& transfer) { fail_rest(transfer.ranges, late); }, transfer_);
      return finish(std::unexpected(late));
    }
    std::size_t budget = step_bytes;
    const bool more = std::visit(
        [&](auto& transfer) {
          while (budget > 0 && next_ < transfer.ranges.size()) work(transfer.ranges[next_], budget);
          return next_ < transfer.ranges.size();
        },
        transfer_);
    if (more) return post_step();
    finish({});
  }

  template <class Ranges>
  void fail_rest(Ranges& ranges, const Error& error) {
    for (; next_ < ranges.size(); ++next_) *ranges[next_].result = std::unexpected(error);
  }

  void finish(Status status) {
    const auto self = shared_from_this();
    LocalTransport& transport = *transport_;
    end();
    transport.operations_.erase(&completion_);
    completion_.complete(std::move(status));
  }

  template <class Range>
  void ended(Range& range, Status status) {
    *range.result = std::move(status);
    fill_.reset();
    ++next_;
  }

  void work(FillRange& range, std::size_t& budget) {
    if (!fill_ && !begin(range)) return;
    while (budget > 0 && !from_.done()) budget -= copy_in(std::min(budget, piece_bytes));
    const std::uint64_t moved = range.item.part_length.value - from_.left();
    if (!from_.done()) {
      return transport_->node_.use(
          [&](Node& node, Time now, NodeEffects&) { node.progress(now, *fill_, {moved}); });
    }
    ended(range, seal(range.item));
  }

  // False: there is nothing to copy, and the range has its result.
  bool begin(FillRange& range) {
    const auto begun = transport_->node_.use([&](Node& node, Time now, NodeEffects&) {
      return node.begin_fill(now, range.item, transport_->connection_);
    });
    if (!begun || begun->already_sealed) {
      ended(range, begun ? Status() : Status(std::unexpected(begun.error())));
      return false;
    }
    fill_ = begun->id;
    const ReplicaLocation at = range.item.location;
    extent_ = transport_->node_.memory(at.segment).subspan(at.offset.value);
    to_ = extent_.data() + range.item.part_offset.value;
    from_.clear();
    for (const ConstSlice slice : range.from) from_.add(slice);
    LARDER_ASSERT(from_.left() == range.item.part_length.value, "the slices are the part");
    hash_ = ChecksumStream();
    hashes_ = range.item.checksum.has_value() && range.item.part_offset == 0_B;
    return true;
  }

  std::size_t copy_in(std::size_t most) {
    const std::size_t bytes = std::min<std::uint64_t>(most, from_.left());
    from_.advance(bytes, [&](ConstSlice piece) {
      std::memcpy(to_, piece.data(), piece.size());
      // What is in the extent counts, not what the caller's memory holds by now.
      if (hashes_) hash_.update({to_, piece.size()});
      to_ += piece.size();
    });
    return bytes;
  }

  Status seal(const FillItem& item) {
    FillResult result{.expected = item.checksum, .computed = {}};
    if (hashes_) {
      result.computed = hash_.value();
    } else if (item.checksum && item.last_part) {
      result.computed = checksum(extent_.first(item.record.size.value));
    }
    return transport_->node_.use([&](Node& node, Time now, NodeEffects& effects) {
      return item.last_part ? node.seal(now, *fill_, result, effects)
                            : node.part_done(now, *fill_, effects);
    });
  }

  void work(ReadRange& range, std::size_t& budget) {
    if (!read_ && !begin(range)) return;
    while (budget > 0 && !into_.done()) {
      const std::size_t bytes = std::min<std::uint64_t>({budget, piece_bytes, into_.left()});
      into_.advance(bytes, [&](Slice piece) {
        std::memcpy(piece.data(), source_, piece.size());
        if (range.computed != nullptr) hash_.update(piece);
        source_ += piece.size();
      });
      budget -= bytes;
    }
    if (!into_.done()) return;
    end_read();
    if (range.computed != nullptr) *range.computed = hash_.value();
    ended(range, {});
  }

  bool begin(ReadRange& range) {
    const Bytes length{total_bytes(range.into)};
    const ReplicaLocation at{range.segment->id, range.extent_offset};
    const auto begun = transport_->node_.use([&](Node& node, Time now, NodeEffects&) {
      return node.begin_read(
          now,
          {.extent = {range.put_id, at}, .tenant = {}, .offset = range.offset, .length = length});
    });
    if (!begun) {
      ended(range, std::unexpected(begun.error()));
      return false;
    }
    read_ = begun->id;
    if (begun->payload_size != range.payload_size) {
      end_read();
      ended(range, std::unexpected(wrong_size(begun->payload_size, range.payload_size)));
      return false;
    }
    if (range.checksum != nullptr) *range.checksum = begun->checksum;
    source_ = transport_->node_.memory(at.segment).data() + at.offset.value + range.offset.value;
    into_.clear();
    for (const Slice slice : range.into) into_.add(slice);
    hash_ = ChecksumStream();
    return true;
  }

  void end_read() {
    transport_->node_.use(
        [&](Node& node, Time now, NodeEffects& effects) { node.end_read(now, *read_, effects); });
    read_.reset();
  }

  LocalTransport* transport_;  // null once it has ended
  Transfer transfer_;
  Time deadline_;
  Time began_;
  Completion& completion_;
  std::size_t next_ = 0;  // range

  // Of the range that is under way.
  std::optional<FillId> fill_;
  std::optional<ReadId> read_;
  Cursor<const std::byte> from_;
  Cursor<std::byte> into_;
  std::span<std::byte> extent_;
  std::byte* to_ = nullptr;
  const std::byte* source_ = nullptr;
  ChecksumStream hash_;
  bool hashes_ = false;
};

LocalTransport::LocalTransport(Loop& loop, NodeHost& node)
    : loop_(loop), node_(node), connection_(node.new_connection()) {}

LocalTransport::~LocalTransport() {
  LARDER_ASSERT(operations_.empty(), "a transport outlives its transfers");
}

void LocalTransport::submit(Transfer transfer, Time deadline, Completion& completion) {
  const auto operation =
      std::make_shared<Operation>(*this, std::move(transfer), deadline, completion);
  const bool fresh = operations_.emplace(&completion, operation).second;
  LARDER_ASSERT(fresh, "one transfer for each completion at a time");
  operation->post_step();
}

void LocalTransport::abandon(Completion& completion, std::shared_ptr<void>) noexcept {
  const auto found = operations_.find(&completion);
  if (found == operations_.end()) return;
  found->second->end();
  operations_.erase(found);
}

}  // namespace larder::real
