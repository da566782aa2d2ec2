#include <fuzzer/FuzzedDataProvider.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/archive.h"
#include "core/base/assert.h"
#include "core/base/hash.h"
#include "core/master/master.h"
#include "proto/codec.h"
#include "proto/journal/format.h"
#include "sim/incident/incident_replay.h"
#include "sim/incident/key_story.h"
#include "sim/incident/what_if.h"
#include "tests/files/temporary.h"

// A recording of one slot: the state of a master and its calls, altered as the input says. It is
// replayed, with the story of a key or with a second master beside it. What is not as a master
// wrote it is told, or refused in a printable message. A state that was altered and given a
// checksum that fits is only loaded: memory stays whole, but no such master has to make sense.

namespace larder::sim {
namespace {

using std::chrono::milliseconds;

constexpr SessionId session{1, 1};
constexpr IncarnationId incarnation{2, 1};
constexpr std::array<std::string_view, 3> keys{"a", "b", "c"};

struct NoAnswers final : AnswerSink {
  void answer(Ticket, std::uint32_t, const Answer&) override {}
};

const TemporaryDirectory& directory() {
  static const TemporaryDirectory one;
  return one;
}
void write_file(std::string_view suffix, std::string_view content) {
  directory().file(journal::file_name(1, suffix), content);
}

constexpr Epoch epoch{9};
constexpr Time begins{std::chrono::hours(1)};

Request of_client(std::uint64_t number, RequestBody body) {
  return {.header = {.session = session, .number = number, .lowest_unanswered = number},
          .body = std::move(body)};
}

// A master with one node and two objects, as it is recorded. Every input begins with it.
class Begin {
 public:
  static const Begin& get() {
    static const Begin one;
    return one;
  }

  std::string state;
  std::uint64_t digest = 0;
  std::uint64_t calls = 0;  // of the client

 private:
  Begin() : effects_(nobody_) {
    MasterConfig config;
    config.quarantine_bytes_min = Bytes{1} * (1 << 20);
    auto made = Master::make(begins, config, {.epoch = epoch, .instance = {1, 2}}, {});
    LARDER_ASSERT(made.has_value());
    Master& master = **made;
    const RegisterNode node{.incarnation = incarnation,
                            .registration = 1,
                            .name = "n",
                            .endpoint = "n:1",
                            .host = "h",
                            .segments = {{.id = {3, 1}, .name = "s", .size = Bytes{8192}}}};
    apply(master, {.body = node});
    apply(master,
          {.body = ReportInventory{.incarnation = incarnation, .registration = 1, .last = true}});
    apply(master, of_client(++calls, OpenSession{.tenant = "t", .client = "fuzz"}));
    for (std::uint64_t i = 1; i <= 2; ++i) {
      const std::string_view key = keys[i - 1];
      apply(master, of_client(++calls, PutStart{.items = {{.key = key, .size = Bytes{100}}}}));
      apply(master,
            of_client(++calls, PutEnd{.items = {{.key = key, .put_id = {epoch, i}, .sealed = 1}}}));
    }
    Archive archive([&](std::span<const std::byte> piece) {
      state.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    master.save(archive);
    digest = master.digest(begins);
  }
  void apply(Master& master, const Request& request) {
    master.apply(begins, ++tickets_, request, effects_);
    effects_.clear();
  }

  NoAnswers nobody_;
  MasterEffects effects_;
  Ticket tickets_ = 0;
};

class Recording {
 public:
  explicit Recording(FuzzedDataProvider& input) : input_(input) {
    write_state();
    write_calls();
  }

  // The state is not as the master wrote it, but its checksum fits.
  bool is_forged() const { return is_forged_; }

 private:
  Request of_client(RequestBody body) { return sim::of_client(++calls_, std::move(body)); }

  journal::FileHeader header(journal::FileKind kind) const {
    journal::FileHeader header{
        .kind = kind, .slot = 1, .epoch = epoch, .begins = begins, .wall_clock_ns = 1};
    header.checksum = journal::checksum_of(header);
    return header;
  }
  // A few bytes somewhere become others.
  void alter(std::string& bytes) {
    for (int edits = input_.ConsumeIntegralInRange(0, 3); edits > 0 && !bytes.empty(); --edits) {
      const auto at = input_.ConsumeIntegralInRange<std::size_t>(0, bytes.size() - 1);
      bytes[at] = static_cast<char>(input_.ConsumeIntegral<std::uint8_t>());
    }
    if (input_.ConsumeIntegralInRange(0, 15) == 0) {
      bytes.resize(input_.ConsumeIntegralInRange<std::size_t>(0, bytes.size()));
    }
  }

  void write_state() {
    std::string content = Begin::get().state;
    if (input_.ConsumeIntegralInRange(0, 3) == 0) {
      is_forged_ = true;
      alter(content);
    }
    journal::StateTrailer trailer{.length = content.size(), .digest = Begin::get().digest};
    content.append(journal::bytes_of(trailer).substr(0, offsetof(journal::StateTrailer, checksum)));
    trailer.checksum = checksum(std::as_bytes(std::span(content)));
    content.append(journal::bytes_of(trailer.checksum));
    content.insert(0, journal::bytes_of(header(journal::FileKind::state)));
    if (input_.ConsumeIntegralInRange(0, 7) == 0) alter(content);
    write_file(journal::state_suffix, content);
  }

  void write_calls() {
    std::string records;
    for (int i = 0; i < 20 && input_.remaining_bytes() > 0; ++i) add_record(records);
    journal::seal(records);
    records.insert(0, journal::bytes_of(header(journal::FileKind::calls)));
    if (input_.ConsumeIntegralInRange(0, 7) == 0) alter(records);
    records += input_.ConsumeRemainingBytesAsString();
    write_file(journal::calls_suffix, records);
  }

  void add_record(std::string& records) {
    using journal::RecordKind;
    // The clock stands still or runs mostly, but a record may be of any time.
    now_ += milliseconds(input_.ConsumeIntegralInRange(0, 2000));
    const bool leaps = input_.ConsumeIntegralInRange(0, 15) == 0;
    journal::RecordHeader header{
        .kind = RecordKind::tick,
        .now = leaps ? Time{Duration(input_.ConsumeIntegral<std::int64_t>())} : now_};
    switch (input_.ConsumeIntegralInRange(0, 9)) {
      case 0:
        return journal::append(header, {}, {}, records);
      case 1: {
        header.kind = RecordKind::node_disconnected;
        const journal::NodePart part{incarnation,
                                     input_.ConsumeIntegralInRange<std::uint64_t>(0, 2)};
        return journal::append(header, journal::bytes_of(part), {}, records);
      }
      case 2: {
        header.kind = RecordKind::piece;
        const journal::PiecePart part{.ticket = input_.ConsumeIntegralInRange<std::uint64_t>(0, 9),
                                      .first = input_.ConsumeIntegral<std::uint8_t>(),
                                      .end = input_.ConsumeIntegral<std::uint8_t>()};
        return journal::append(header, journal::bytes_of(part), {}, records);
      }
      case 3: {
        header.kind = static_cast<RecordKind>(input_.ConsumeIntegral<std::uint8_t>());
        return journal::append(header, input_.ConsumeRandomLengthString(24), {}, records);
      }
      default: {
        header.kind = input_.ConsumeBool() ? RecordKind::request : RecordKind::open_call;
        const journal::RequestPart part{input_.ConsumeIntegralInRange<std::uint64_t>(0, 9)};
        std::string frame;
        if (input_.ConsumeBool()) {
          frame = input_.ConsumeRandomLengthString(200);
        } else {
          encode(any_request(), frame);
        }
        return journal::append(header, journal::bytes_of(part), frame, records);
      }
    }
  }

  Request any_request() {
    const std::string_view key = input_.PickValueInArray(keys);
    const PutId id{epoch, input_.ConsumeIntegralInRange<std::uint64_t>(0, 5)};
    switch (input_.ConsumeIntegralInRange(0, 6)) {
      case 0:
        return of_client(GetReplicaList{.items = {{key}, {"b"}}});
      case 1:
        return of_client(Remove{.items = {{key}}, .force = input_.ConsumeBool()});
      case 2:
        return of_client(PutEnd{.items = {{.key = key, .put_id = id, .sealed = 1}}});
      case 3:
        return of_client(KeepAlive{});
      case 4:
        return {.body = Heartbeat{.incarnation = incarnation, .registration = 1}};
      case 5: {
        const ExtentName extent{
            .put_id = id, .location = {{3, 1}, Bytes{input_.ConsumeIntegral<std::uint8_t>()} * 64}};
        return {.body = ConfirmRetirement{
                    .incarnation = incarnation, .registration = 1, .retired = {extent}}};
      }
      default:
        return of_client(PutStart{
            .items = {{.key = key,
                       .size = Bytes{input_.ConsumeIntegralInRange<std::uint64_t>(0, 9000)}}}});
    }
  }

  FuzzedDataProvider& input_;
  Time now_ = begins;
  std::uint64_t calls_ = Begin::get().calls;
  bool is_forged_ = false;
};

void check_text(std::string_view text) {
  LARDER_ASSERT(text.size() <= 4000, "a message is bounded");
  LARDER_ASSERT(std::ranges::none_of(text, [](char c) { return c >= 0 && c < 0x20; }),
                "and has no control characters");
}

void load() {
  const auto state = journal::read_state(directory().path() / journal::file_name(1, ".state"));
  const auto loaded = state ? state->load() : std::unexpected(state.error());
  if (!loaded) check_text(loaded.error().message());
}

void replay(IncidentObserver& observer) {
  auto slots = journal::open_ring(directory().path());
  LARDER_ASSERT(slots.has_value());
  const auto summary = IncidentReplay(std::move(*slots), observer).run({});
  if (!summary) return check_text(summary.error().message());
  for (const std::string& each : summary->breaks) check_text(each);
  if (summary->divergence) check_text(summary->divergence->what);
}

}  // namespace
}  // namespace larder::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace larder::sim;
  FuzzedDataProvider input(data, size);
  const bool beside = input.ConsumeBool();
  const Recording recording(input);
  if (recording.is_forged()) {
    load();
  } else if (beside) {
    WhatIf what_if({.at_ns = 1, .change = {.policy = "fifo"}});
    replay(what_if);
    static_cast<void>(what_if.outcome());
  } else {
    KeyStory story({.key = "a"});
    replay(story);
    static_cast<void>(to_text(story.lines()));
  }
  return 0;
}
