#include "real/transport/tcp_transport.h"

#include <deque>
#include <map>
#include <optional>

#include "core/base/assert.h"
#include "core/base/hash.h"
#include "proto/codec.h"
#include "real/rpc/dial.h"
#include "real/transport/errors.h"
#include "real/transport/stream.h"

namespace larder::real {
namespace {

constexpr std::size_t answer_max = std::size_t{64} << 10;  // of one range; a fill's is longer

const SegmentDescription* segment_of(const Transfer& transfer) {
  if (const auto* fill = std::get_if<Fill>(&transfer)) return fill->segment;
  const auto& ranges = std::get<Read>(transfer).ranges;
  return ranges.empty() ? nullptr : ranges.front().segment;
}

std::uint64_t bytes_of(const FillRange& range) { return total_bytes(range.from); }
std::uint64_t bytes_of(const ReadRange& range) { return total_bytes(range.into); }

std::uint64_t bytes_of(const Transfer& transfer) {
  return std::visit(
      [](const auto& each) {
        std::uint64_t bytes = 0;
        for (const auto& range : each.ranges) bytes += bytes_of(range);
        return bytes;
      },
      transfer);
}

// The parts of one extent come in their order, so over one connection.
bool continues(const FillRange& range, const FillRange& before) {
  return range.item.put_id == before.item.put_id && range.item.location == before.item.location;
}
bool continues(const ReadRange&, const ReadRange&) { return false; }

// `ranges` in order, in up to `most` pieces of about as many bytes each.
template <class Range>
std::vector<std::vector<Range>> divided(std::vector<Range> ranges, std::uint64_t bytes,
                                        std::uint64_t most) {
  std::vector<std::vector<Range>> pieces(1);
  std::uint64_t taken = 0;
  for (Range& range : ranges) {
    const bool full = taken * most >= bytes * pieces.size();
    if (full && !pieces.back().empty() && !continues(range, pieces.back().back())) {
      pieces.emplace_back();
    }
    taken += bytes_of(range);
    pieces.back().push_back(std::move(range));
  }
  return pieces;
}

std::vector<Transfer> divided(Transfer transfer, const TcpTransportConfig& config) {
  const std::uint64_t bytes = bytes_of(transfer);
  const std::uint64_t most = std::min<std::uint64_t>(config.connections_per_transfer,
                                                     bytes / config.bytes_per_connection_min.value);
  std::vector<Transfer> pieces;
  if (most < 2) {
    pieces.push_back(std::move(transfer));
  } else if (auto* fill = std::get_if<Fill>(&transfer)) {
    for (auto& ranges : divided(std::move(fill->ranges), bytes, most)) {
      pieces.push_back(Fill{.segment = fill->segment, .ranges = std::move(ranges)});
    }
  } else {
    for (auto& ranges : divided(std::move(std::get<Read>(transfer).ranges), bytes, most)) {
      pieces.push_back(Read{std::move(ranges)});
    }
  }
  return pieces;
}

}  // namespace

struct TcpTransport::State {
  State(Loop& l, TcpTransportConfig c) : loop(l), config(std::move(c)) {}

  struct Peer {
    std::vector<std::shared_ptr<Stream>> idle;
    std::size_t at_work = 0;
    std::deque<std::shared_ptr<Operation>> waiting;
  };

  Loop& loop;
  TcpTransportConfig config;
  std::map<std::string, Peer> peers;  // by endpoint
  // A transfer: the operations that it was divided into, one for each connection.
  struct Call {
    std::vector<std::shared_ptr<Operation>> operations;
    std::size_t running = 0;
    Status status;  // the first that failed decides
  };
  std::map<Completion*, Call> calls;
  std::uint64_t bytes_in_flight = 0;

  void start_waiting();
  void close_ended();
  bool has_room(std::uint64_t bytes) const {
    return bytes_in_flight == 0 || bytes_in_flight + bytes <= config.bytes_in_flight_max.value;
  }
};

// What of one transfer goes over one connection, from submit to its end.
class TcpTransport::Operation : public std::enable_shared_from_this<Operation> {
 public:
  Operation(State& state, Transfer transfer, Time deadline, Completion& completion)
      : state_(state),
        transfer_(std::move(transfer)),
        deadline_(deadline),
        began_(state.loop.now()),
        completion_(completion),
        bytes_(bytes_of(transfer_)),
        alarm_(state.loop,
               [this] { fail(transfer_too_late(endpoint_, state_.loop.now() - began_)); }) {
    if (const auto* segment = segment_of(transfer_)) endpoint_ = segment->endpoint;
  }

  const std::string& endpoint() const { return endpoint_; }
  std::uint64_t bytes() const { return bytes_; }
  bool ended() const { return ended_; }

  void arm() { alarm_.set(deadline_); }

  // It has a connection's place now.
  void start(std::shared_ptr<Stream> idle) {
    at_work_ = true;
    ++state_.peers[endpoint_].at_work;
    state_.bytes_in_flight += bytes_;
    if (idle) return run(std::move(idle));
    state_.close_ended();
    const auto endpoint = parse_endpoint(endpoint_);
    if (!endpoint) return fail_soon(endpoint.error());
    dial_ = std::make_unique<Dial>(
        state_.loop,
        DialTarget{.endpoint = *endpoint, .role = Role::data, .who = state_.config.who}, deadline_,
        [this](Result<Socket> socket) {
          const auto ended = std::move(dial_);
          if (socket) {
            return run(std::make_shared<Stream>(state_.loop.context(), std::move(*socket),
                                                state_.config.tcp));
          }
          const Error& why = socket.error();
          fail(why.code() == ErrorCode::rpc_fail
                   ? Error(ErrorCode::transfer_fail, why.facts().detail).with_endpoint(endpoint_)
                   : why);
        });
  }

  // From the loop, since the caller is still inside submit.
  void fail_soon(Error error) {
    state_.loop.post([self = shared_from_this(), error = std::move(error)] { self->fail(error); });
  }

  void fail(const Error& error) {
    if (ended_) return;
    const auto self = shared_from_this();
    std::visit(
        [&](auto& transfer) {
          for (std::size_t i = decided_; i < transfer.ranges.size(); ++i) {
            *transfer.ranges[i].result = std::unexpected(error);
          }
        },
        transfer_);
    end(false);
    complete(std::unexpected(error));
  }

  // Ends it physically and gives its place back. `clean`: nothing is on its way on the connection.
  void end(bool clean) {
    const auto self = shared_from_this();
    ended_ = true;
    alarm_.cancel();
    dial_.reset();
    State::Peer& peer = state_.peers[endpoint_];
    if (stream_ && clean) peer.idle.push_back(stream_);
    if (stream_ && !clean) stream_->reset();
    stream_.reset();
    if (at_work_) {
      --peer.at_work;
      state_.bytes_in_flight -= bytes_;
    } else {
      std::erase(peer.waiting, self);
    }
    if (peer.idle.empty() && peer.at_work == 0 && peer.waiting.empty()) {
      state_.peers.erase(endpoint_);
    }
  }

 private:
  void complete(Status status) {
    const auto call = state_.calls.find(&completion_);
    if (call->second.status) call->second.status = std::move(status);
    if (--call->second.running > 0) return state_.start_waiting();
    Status whole = std::move(call->second.status);
    state_.calls.erase(call);
    state_.start_waiting();
    completion_.complete(std::move(whole));  // may destroy the transport: nothing follows
  }

  void done() {
    const auto self = shared_from_this();
    end(true);
    complete({});
  }

  void broken(const SystemError& error) {
    fail(Error(ErrorCode::transfer_fail, error == asio::error::invalid_argument
                                             ? "the node sent what is no answer"
                                             : "the connection broke: " + error.message())
             .with_endpoint(endpoint_)
             .with_elapsed(state_.loop.now() - began_));
  }
  void nonsense() { broken(asio::error::invalid_argument); }

  void run(std::shared_ptr<Stream> stream) {
    stream_ = std::move(stream);
    std::visit([this](auto& transfer) { run(transfer); }, transfer_);
  }

  void send(FrameKind kind) {
    if (const Status closed = close_frame(kind, 1, frame_); !closed) {
      return fail_soon(closed.error());
    }
    stream_->write(from_, [self = shared_from_this()](SystemError error) {
      if (error) return self->broken(error);
      self->sent_ = true;
      if (self->answered_) self->done();
    });
  }

  // ---- fill: the header and all payloads go out while the answer is awaited ----------------
  void run(Fill& fill) {
    frame_ = open_frame();
    encode(fill.ranges, frame_);
    from_.add(std::as_bytes(std::span(frame_)));
    trailers_.reserve(fill.ranges.size());
    for (const FillRange& range : fill.ranges) {
      for (const ConstSlice slice : range.from) from_.add(slice);
      if (range.item.checksum) {
        from_.add(std::as_bytes(std::span(&trailers_.emplace_back(*range.item.checksum), 1)));
      }
    }
    send(FrameKind::fill);
    stream_->read_frame(
        frame_body_max, [](std::size_t) {},
        [self = shared_from_this()](SystemError error, const FrameHeader& header,
                                    const std::string& body) {
          if (error) return self->broken(error);
          self->take_fill_answer(header, std::as_bytes(std::span(body)));
        });
  }

  void take_fill_answer(const FrameHeader& header, FrameBytes body) {
    auto& ranges = std::get<Fill>(transfer_).ranges;
    auto outcomes = decode_outcomes(body);
    if (header.kind != FrameKind::fill_answer || !outcomes || outcomes->size() != ranges.size()) {
      return nonsense();
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      *ranges[i].result = std::move((*outcomes)[i]);
    }
    decided_ = ranges.size();
    answered_ = true;
    if (sent_) done();
  }

  // ---- read: an answer and the bytes for each range, in order -------------------------------
  void run(Read& read) {
    std::vector<ReadPart> parts;
    for (const ReadRange& range : read.ranges) {
      parts.push_back({.extent = {range.put_id, {range.segment->id, range.extent_offset}},
                       .payload_size = range.payload_size,
                       .offset = range.offset,
                       .length = {total_bytes(range.into)}});
    }
    frame_ = open_frame();
    encode(parts, frame_);
    from_.add(std::as_bytes(std::span(frame_)));
    send(FrameKind::read);
    next_answer();
  }

  void next_answer() {
    const auto& ranges = std::get<Read>(transfer_).ranges;
    if (decided_ == ranges.size()) {
      answered_ = true;
      if (sent_) done();
      return;
    }
    stream_->read_frame(
        answer_max, [](std::size_t) {},
        [self = shared_from_this()](SystemError error, const FrameHeader& header,
                                    const std::string& body) {
          if (error) return self->broken(error);
          self->take_read_answer(header, std::as_bytes(std::span(body)));
        });
  }

  void take_read_answer(const FrameHeader& header, FrameBytes body) {
    ReadRange& range = std::get<Read>(transfer_).ranges[decided_];
    auto answer = decode_read_answer(body);
    if (header.kind != FrameKind::read_answer || !answer) return nonsense();
    if (!answer->status) return decide(range, std::move(answer->status));
    if (range.checksum != nullptr) *range.checksum = answer->checksum;
    into_.clear();
    for (const Slice slice : range.into) into_.add(slice);
    if (into_.done()) return decide(range, {});
    if (range.computed != nullptr) hash_ = ChecksumStream();
    stream_->read(
        into_,
        [this, hashes = range.computed != nullptr](Slice piece) {
          if (hashes) hash_.update(piece);
        },
        [self = shared_from_this(), &range](SystemError error) {
          if (error) return self->broken(error);
          if (range.computed != nullptr) *range.computed = self->hash_.value();
          self->decide(range, {});
        });
  }

  void decide(ReadRange& range, Status status) {
    *range.result = std::move(status);
    ++decided_;
    next_answer();
  }

  State& state_;
  Transfer transfer_;
  std::string endpoint_;
  Time deadline_;
  Time began_;
  Completion& completion_;
  std::uint64_t bytes_;
  Alarm alarm_;
  std::unique_ptr<Dial> dial_;
  std::shared_ptr<Stream> stream_;
  bool at_work_ = false;  // has a connection's place
  bool ended_ = false;

  std::string frame_;
  std::vector<std::uint64_t> trailers_;
  Cursor<const std::byte> from_;
  Cursor<std::byte> into_;
  ChecksumStream hash_;  // of what came of the range that is being read
  bool sent_ = false;
  bool answered_ = false;
  std::size_t decided_ = 0;  // ranges that have their result
};

// In the order of their coming at each peer, as far as places and bytes allow.
void TcpTransport::State::start_waiting() {
  std::vector<std::string> endpoints;
  for (const auto& [endpoint, peer] : peers) {
    if (!peer.waiting.empty()) endpoints.push_back(endpoint);
  }
  for (const std::string& endpoint : endpoints) {
    Peer& peer = peers[endpoint];
    while (!peer.waiting.empty() && peer.at_work < config.connections_per_endpoint &&
           has_room(peer.waiting.front()->bytes())) {
      const auto operation = std::move(peer.waiting.front());
      peer.waiting.pop_front();
      std::shared_ptr<Stream> stream;
      while (!stream && !peer.idle.empty()) {
        stream = std::move(peer.idle.back());
        peer.idle.pop_back();
        if (!stream->is_quiet()) {
          stream->close();
          stream.reset();
        }
      }
      operation->start(std::move(stream));
    }
  }
}

// A node that comes back does so at another place, so nobody would look again at the connections to
// its old one. Whoever opens a new one closes those.
void TcpTransport::State::close_ended() {
  for (auto next = peers.begin(); next != peers.end();) {
    const auto at = next++;
    Peer& peer = at->second;
    std::erase_if(peer.idle, [](const std::shared_ptr<Stream>& stream) {
      const bool ended = !stream->is_quiet();
      if (ended) stream->close();
      return ended;
    });
    if (peer.idle.empty() && peer.at_work == 0 && peer.waiting.empty()) peers.erase(at);
  }
}

TcpTransport::TcpTransport(Loop& loop, TcpTransportConfig config)
    : state_(std::make_unique<State>(loop, std::move(config))) {}

TcpTransport::~TcpTransport() {
  LARDER_ASSERT(state_->calls.empty(), "a transport outlives its transfers");
  for (auto& [endpoint, peer] : state_->peers) {
    for (const auto& stream : peer.idle) stream->close();
  }
}

void TcpTransport::submit(Transfer transfer, Time deadline, Completion& completion) {
  const auto [call, fresh] = state_->calls.try_emplace(&completion);
  LARDER_ASSERT(fresh, "one transfer for each completion at a time");
  for (Transfer& piece : divided(std::move(transfer), state_->config)) {
    const auto operation =
        std::make_shared<Operation>(*state_, std::move(piece), deadline, completion);
    operation->arm();
    state_->peers[operation->endpoint()].waiting.push_back(operation);
    call->second.operations.push_back(operation);
    ++call->second.running;
  }
  state_->start_waiting();
}

void TcpTransport::abandon(Completion& completion, std::shared_ptr<void>) noexcept {
  const auto found = state_->calls.find(&completion);
  if (found == state_->calls.end()) return;
  for (const auto& operation : found->second.operations) {
    if (!operation->ended()) operation->end(false);
  }
  state_->calls.erase(found);
  state_->start_waiting();
}

std::size_t TcpTransport::idle_connections() const {
  std::size_t idle = 0;
  for (const auto& [endpoint, peer] : state_->peers) idle += peer.idle.size();
  return idle;
}

}  // namespace larder::real
