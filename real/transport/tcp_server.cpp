#include "real/transport/tcp_server.h"

#include <cstring>
#include <map>
#include <optional>

#include "core/base/hash.h"
#include "proto/codec.h"
#include "real/rpc/log.h"
#include "real/rpc/unfinished_frames.h"
#include "real/transport/errors.h"
#include "real/transport/stream.h"

namespace larder::real {
namespace {

// What each connection may hold of a request that is coming in, whatever the others do.
constexpr std::size_t request_bytes_free = std::size_t{128} << 10;

}  // namespace

struct TcpServer::State {
  State(Loop& l, NodeHost& n, TcpServerConfig c)
      : loop(l), node(n), config(c), unfinished(c.unfinished_bytes_max) {}

  Loop& loop;
  NodeHost& node;
  TcpServerConfig config;
  UnfinishedFrames unfinished;
  std::map<ConnectionId, std::shared_ptr<Session>> sessions;
  // What is under way; each session has at most one of either.
  std::map<FillId, Session*> fills;
  std::map<ReadId, Session*> reads;
  std::vector<std::byte> dropped = std::vector<std::byte>(std::size_t{64} << 10);
};

// One connection: one request after the other, item by item.
class TcpServer::Session final : public std::enable_shared_from_this<Session>,
                                 UnfinishedFrames::Connection {
 public:
  Session(State& state, Socket socket, std::string who)
      : state_(state),
        id_(state.node.new_connection()),
        who_(std::move(who)),
        stream_(
            std::make_shared<Stream>(state.loop.context(), std::move(socket), state.config.tcp)),
        stalled_(state.loop, [this] { close("it neither sends nor takes anything"); }) {}

  ConnectionId id() const { return id_; }

  void start() { next_request(); }

  // Ends everything of this connection. `why` is empty if it is no news.
  void close(std::string_view why) {
    const auto self = shared_from_this();
    if (!why.empty()) {
      log(LogLevel::warn, "data", "closed a connection",
          {{"caller", who_}, {"why", std::string(why)}});
    }
    stalled_.cancel();
    stream_->close();
    state_.unfinished.release(*this);
    if (read_) end_read();
    const std::optional<FillId> fill = std::exchange(fill_, std::nullopt);
    if (fill) state_.fills.erase(*fill);
    state_.node.use([&](Node& node, Time now, NodeEffects& effects) {
      node.connection_closed(now, id_, effects);
    });
    state_.sessions.erase(id_);
  }

 private:
  void broken(const SystemError& error, std::string_view doing) {
    const bool nonsense = error == asio::error::invalid_argument;
    // A peer that leaves between two requests is no news.
    if (doing.empty() && !nonsense) return close({});
    close(nonsense ? "it sent what is no frame" : std::string(doing) + ": " + error.message());
  }

  void moves() { stalled_.set(state_.loop.now() + state_.config.stalled); }

  // Of the request that is coming in. It has to come whole within config.stalled.
  void holds(std::size_t bytes) {
    if (bytes == 0) {
      began_ = state_.loop.now();
      return moves();
    }
    if (bytes <= request_bytes_free) return;
    state_.unfinished.hold(*this, bytes, began_, state_.loop.now());
  }
  void give_up(Error why) override { close(why.facts().detail); }

  void next_request() {
    stalled_.cancel();
    // However long a frame is: it is a list, and comes in one go from a peer of ours.
    stream_->read_frame(
        frame_body_max, [this](std::size_t bytes) { holds(bytes); },
        [this](SystemError error, const FrameHeader& header, const std::string& body) {
          state_.unfinished.release(*this);
          if (error) return broken(error, {});
          ticket_ = header.ticket;
          const auto bytes = std::as_bytes(std::span(body));
          if (header.kind == FrameKind::fill) return begin(decode_fill(bytes));
          if (header.kind == FrameKind::read) return begin(decode_read(bytes));
          close("a frame that is neither fill nor read");
        });
  }

  // ---- fills ------------------------------------------------------------------------------
  // A request that cannot be decoded ends the connection: nobody knows how long its payload is.
  void begin(Result<DecodedFill> request) {
    if (!request) return close(request.error().facts().detail);
    request_.emplace(std::move(*request));
    outcomes_.clear();
    next_items();
  }

  const FillItem& item() const { return request_->items[outcomes_.size()]; }
  bool checksummed() const { return request_->checksummed[outcomes_.size()]; }

  // Works through items until one must wait for its bytes.
  void next_items() {
    while (outcomes_.size() < request_->items.size()) {
      if (!begin_item()) return;
    }
    answer_fill();
  }

  // False: bytes of it must come before it has its outcome.
  bool begin_item() {
    moves();
    const auto begun = state_.node.use(
        [&](Node& node, Time now, NodeEffects&) { return node.begin_fill(now, item(), id_); });
    into_.clear();
    if (!begun || begun->already_sealed) {
      outcome_ = begun ? Status() : Status(std::unexpected(begun.error()));
      to_drop_ = item().part_length.value + (checksummed() ? trailer_.size() : 0);
      return drop();
    }
    fill_ = begun->id;
    state_.fills.emplace(*fill_, this);
    into_.add(extent().subspan(item().part_offset.value).first(item().part_length.value));
    if (checksummed()) into_.add(trailer_);
    hash_ = ChecksumStream();
    moved_ = 0;
    if (into_.done()) return seal_item();
    stream_->read(
        into_, [this](std::span<std::byte> piece) { took(piece); },
        [this](SystemError error) {
          if (error) return broken(error, "a fill broke off");
          seal_item();
          next_items();
        });
    return false;
  }

  std::span<std::byte> extent() {
    const ReplicaLocation at = item().location;
    return state_.node.memory(at.segment).subspan(at.offset.value).first(item().record.size.value);
  }

  void took(std::span<std::byte> piece) {
    moves();
    if (piece.data() >= trailer_.data() && piece.data() < trailer_.data() + trailer_.size()) return;
    if (checksummed()) hash_.update(piece);
    moved_ += piece.size();
    state_.node.use(
        [&](Node& node, Time now, NodeEffects&) { node.progress(now, *fill_, {moved_}); });
  }

  bool seal_item() {
    FillResult result{.writer_waits = stream_->peer_is_there()};
    if (checksummed()) {
      std::uint64_t expected = 0;
      std::memcpy(&expected, trailer_.data(), trailer_.size());
      result.expected = expected;
      // Earlier parts came with other requests: then the whole extent is hashed.
      if (item().last_part) {
        result.computed = item().part_offset == 0_B ? hash_.value() : checksum(extent());
      }
    }
    const FillId fill = *std::exchange(fill_, std::nullopt);
    state_.fills.erase(fill);
    outcomes_.push_back(state_.node.use([&](Node& node, Time now, NodeEffects& effects) {
      return item().last_part ? node.seal(now, fill, result, effects)
                              : node.part_done(now, fill, effects);
    }));
    return true;
  }

  // Reads the payload of a refused item past, so that the stream stays in step.
  bool drop() {
    if (to_drop_ == 0) {
      outcomes_.push_back(std::move(outcome_));
      return true;
    }
    into_.clear();
    into_.add(
        std::span(state_.dropped).first(std::min<std::uint64_t>(to_drop_, state_.dropped.size())));
    to_drop_ -= into_.left();
    stream_->read(
        into_, [this](std::span<std::byte>) { moves(); },
        [this](SystemError error) {
          if (error) return broken(error, "a refused fill broke off");
          if (drop()) next_items();
        });
    return false;
  }

  void answer_fill() {
    frame_ = open_frame();
    encode(outcomes_, frame_);
    if (const Status closed = close_frame(FrameKind::fill_answer, ticket_, frame_); !closed) {
      return close(closed.error().facts().detail);
    }
    request_.reset();
    from_.clear();
    from_.add(std::as_bytes(std::span(frame_)));
    moves();
    stream_->write(from_, [this](SystemError error) {
      if (error) return broken(error, "an answer did not get through");
      next_request();
    });
  }

  // ---- reads ------------------------------------------------------------------------------
  void begin(Result<std::vector<ReadPart>> request) {
    if (!request) return close(request.error().facts().detail);
    parts_ = std::move(*request);
    part_ = 0;
    next_part();
  }

  void next_part() {
    if (part_ == parts_.size()) return next_request();
    const ReadPart& part = parts_[part_++];
    auto begun = state_.node.use([&](Node& node, Time now, NodeEffects&) {
      return node.begin_read(
          now, {.extent = part.extent, .tenant = {}, .offset = part.offset, .length = part.length});
    });
    ReadAnswer answer;
    std::span<const std::byte> payload;
    if (begun) {
      read_ = begun->id;
      state_.reads.emplace(*read_, this);
      answer.checksum = begun->checksum;
      const ReplicaLocation at = part.extent.location;
      payload = state_.node.memory(at.segment)
                    .subspan(at.offset.value + part.offset.value)
                    .first(part.length.value);
      if (begun->payload_size != part.payload_size) {
        answer.status = std::unexpected(wrong_size(begun->payload_size, part.payload_size));
        payload = {};
      }
    } else {
      answer.status = std::unexpected(begun.error());
    }
    send(answer, payload);
  }

  void send(const ReadAnswer& answer, std::span<const std::byte> payload) {
    frame_ = open_frame();
    encode(answer, frame_);
    if (const Status closed = close_frame(FrameKind::read_answer, ticket_, frame_); !closed) {
      return close(closed.error().facts().detail);
    }
    from_.clear();
    from_.add(std::as_bytes(std::span(frame_)));
    from_.add(payload);
    moves();
    stream_->write(from_, [this](SystemError error) {
      if (error) return broken(error, "a read broke off");
      if (read_) end_read();  // the kernel has a copy
      next_part();
    });
  }

  void end_read() {
    const ReadId read = *std::exchange(read_, std::nullopt);
    state_.reads.erase(read);
    state_.node.use(
        [&](Node& node, Time now, NodeEffects& effects) { node.end_read(now, read, effects); });
  }

  State& state_;
  ConnectionId id_;
  std::string who_;
  std::shared_ptr<Stream> stream_;
  Alarm stalled_;
  Time began_;                // to come in, the request that is under way
  std::uint64_t ticket_ = 0;  // of it
  std::string frame_;         // of the answer
  Cursor<std::byte> into_;
  Cursor<const std::byte> from_;

  std::optional<DecodedFill> request_;
  std::vector<Status> outcomes_;  // of the items that are done
  std::optional<FillId> fill_;
  ChecksumStream hash_;
  std::uint64_t moved_ = 0;
  std::array<std::byte, 8> trailer_{};
  Status outcome_;  // of the item whose payload is being dropped
  std::uint64_t to_drop_ = 0;

  std::vector<ReadPart> parts_;
  std::size_t part_ = 0;  // the next
  std::optional<ReadId> read_;
};

TcpServer::TcpServer(Loop& loop, NodeHost& node, TcpServerConfig config)
    : state_(std::make_shared<State>(loop, node, config)) {
  node.add_ender(*this);
}

TcpServer::~TcpServer() {
  while (!state_->sessions.empty()) state_->sessions.begin()->second->close({});
  state_->node.remove_ender(*this);
}

void TcpServer::adopt(Socket socket, Hello hello) {
  if (state_->sessions.size() >= state_->config.connections_max) {
    return log(LogLevel::warn, "data", "closed a connection",
               {{"caller", hello.text}, {"why", "there are as many as there may be"}});
  }
  const auto session = std::make_shared<Session>(*state_, std::move(socket), std::move(hello.text));
  state_->sessions.emplace(session->id(), session);
  session->start();
}

std::size_t TcpServer::connections() const { return state_->sessions.size(); }
std::uint64_t TcpServer::given_up() const { return state_->unfinished.given_up(); }

void TcpServer::end(FillId fill) {
  on_loop([this, fill] {
    const auto found = state_->fills.find(fill);
    if (found != state_->fills.end()) found->second->close("the node gave its fill up");
  });
}

void TcpServer::end(ReadId read) {
  on_loop([this, read] {
    const auto found = state_->reads.find(read);
    if (found != state_->reads.end()) found->second->close("the node gave its read up");
  });
}

template <class Work>
void TcpServer::on_loop(Work work) {
  state_->loop.post([alive = std::weak_ptr(state_), work] {
    if (!alive.expired()) work();
  });
}

}  // namespace larder::real
