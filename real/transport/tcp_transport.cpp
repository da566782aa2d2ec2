#include "real/transport/tcp_transport.h"

#include <deque>
#include <map>
#include <optional>

#include "core/base/assert.h"
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

std::uint64_t bytes_of(const Transfer& transfer) {
  std::uint64_t bytes = 0;
  if (const auto* fill = std::get_if<Fill>(&transfer)) {
    for (const FillRange& range : fill->ranges) bytes += total_bytes(range.from);
  } else {
    for (const ReadRange& range : std::get<Read>(transfer).ranges) bytes += total_bytes(range.into);
  }
  return bytes;
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
  std::map<Completion*, std::shared_ptr<Operation>> operations;
  std::uint64_t bytes_in_flight = 0;

  void start_waiting();
  bool has_room(std::uint64_t bytes) const {
    return bytes_in_flight == 0 || bytes_in_flight + bytes <= config.bytes_in_flight_max.value;
  }
};

// One transfer, from submit to its end.
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

  void arm() { alarm_.set(deadline_); }

  // It has a connection's place now.
  void start(std::shared_ptr<Stream> idle) {
    at_work_ = true;
    ++state_.peers[endpoint_].at_work;
    state_.bytes_in_flight += bytes_;
    if (idle) return run(std::move(idle));
    const auto endpoint = parse_endpoint(endpoint_);
    if (!endpoint) return fail_soon(endpoint.error());
    dial_ = std::make_unique<Dial>(
        state_.loop,
        DialTarget{.endpoint = *endpoint, .role = Role::data, .who = state_.config.who}, deadline_,
        [this](Result<Socket> socket) {
          const auto ended = std::move(dial_);
          if (socket) {
            return run(std::make_shared<Stream>(state_.loop.context(), std::move(*socket)));
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
    state_.operations.erase(&completion_);
    if (peer.idle.empty() && peer.at_work == 0 && peer.waiting.empty()) {
      state_.peers.erase(endpoint_);
    }
  }

 private:
  void complete(Status status) {
    state_.start_waiting();
    completion_.complete(std::move(status));  // may destroy the transport: nothing follows
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
    stream_->read_frame(frame_body_max,
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
    stream_->read_frame(answer_max,
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
    stream_->read(
        into_, [](Slice) {},
        [self = shared_from_this(), &range](SystemError error) {
          if (error) return self->broken(error);
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

TcpTransport::TcpTransport(Loop& loop, TcpTransportConfig config)
    : state_(std::make_unique<State>(loop, std::move(config))) {}

TcpTransport::~TcpTransport() {
  LARDER_ASSERT(state_->operations.empty(), "a transport outlives its transfers");
  for (auto& [endpoint, peer] : state_->peers) {
    for (const auto& stream : peer.idle) stream->close();
  }
}

void TcpTransport::submit(Transfer transfer, Time deadline, Completion& completion) {
  const auto operation =
      std::make_shared<Operation>(*state_, std::move(transfer), deadline, completion);
  const bool fresh = state_->operations.emplace(&completion, operation).second;
  LARDER_ASSERT(fresh, "one transfer for each completion at a time");
  operation->arm();
  state_->peers[operation->endpoint()].waiting.push_back(operation);
  state_->start_waiting();
}

void TcpTransport::abandon(Completion& completion, std::shared_ptr<void>) noexcept {
  const auto found = state_->operations.find(&completion);
  if (found == state_->operations.end()) return;
  const auto operation = found->second;
  operation->end(false);
  state_->start_waiting();
}

std::size_t TcpTransport::idle_connections() const {
  std::size_t idle = 0;
  for (const auto& [endpoint, peer] : state_->peers) idle += peer.idle.size();
  return idle;
}

}  // namespace larder::real
