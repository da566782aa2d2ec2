#include "sim/incident/incident_replay.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "core/base/assert.h"
#include "sim/incident/wall_clock.h"

namespace larder::sim {

using journal::Record;
using journal::RecordKind;

namespace {

// A recorded call that breaks an invariant here is a finding, not the end of the program.
[[noreturn]] void throw_assertion(const char* condition, const char* message,
                                  std::source_location at) {
  std::ostringstream text;
  text << condition << (*message == '\0' ? "" : ": ") << message << " (" << at.file_name() << ":"
       << at.line() << ")";
  throw std::runtime_error(text.str());
}

class AssertionsThrow {
 public:
  AssertionsThrow() : before_(set_assertion_handler(throw_assertion)) {}
  ~AssertionsThrow() { set_assertion_handler(before_); }
  AssertionsThrow(const AssertionsThrow&) = delete;

 private:
  AssertionHandler before_;
};

}  // namespace

std::string to_text(const RecordedCall& call) {
  std::string text(journal::record_names[static_cast<std::size_t>(call.kind)]);
  if (call.request != nullptr) text += " " + std::string(request_name(call.request->body));
  return text + " at " + wall_clock_text(call.wall_clock_ns) + ", " + call.file + " byte " +
         std::to_string(call.offset);
}

Result<IncidentSummary> IncidentReplay::run(const Progress& progress) {
  const AssertionsThrow guard;
  for (const journal::Slot& slot : slots_) {
    ++summary_.files;
    total_ += slot.bytes;
  }
  summary_.bytes = total_;
  for (const journal::Slot& slot : slots_) {
    LARDER_CHECK(begin(slot));
    if (master_ && slot.calls) LARDER_CHECK(calls(slot, progress));
    if (!slot.calls) broke("the calls of slot " + std::to_string(slot.number) + " are missing");
    done_ += slot.bytes;
  }
  if (summary_.first_wall_clock_ns == 0) {
    std::string why = "no state of the recording can be loaded";
    for (const std::string& each : summary_.breaks) why += "; " + each;
    return failed(ErrorCode::bad_file, why);
  }
  end();
  return std::move(summary_);
}

// The calls before may have led here already; then its state is only compared.
Status IncidentReplay::begin(const journal::Slot& slot) {
  digest_ = {};
  if (!slot.state) {
    if (!master_) {
      broke("the state of slot " + std::to_string(slot.number) +
            " was never whole, and what is before it is missing");
    }
    return {};
  }
  const auto state = journal::read_state(*slot.state);
  if (!state) {
    broke(state.error().message());
    return {};
  }
  if (master_ && state->header.epoch != epoch_) broke("another master began to record");
  if (master_) {
    compare(*state);
    if (comparing_) return {};
  }
  auto loaded = state->load();
  if (!loaded) {
    broke(loaded.error().message());
    return {};
  }
  master_ = std::move(*loaded);
  epoch_ = state->header.epoch;
  comparing_ = true;
  open_.clear();
  effects_.clear();
  if (master_->digest(state->header.begins) != state->digest) {
    diverge(slot.state->filename().string(), "the state is not what it was when it was saved");
  }
  if (summary_.first_wall_clock_ns == 0) {
    summary_.first_wall_clock_ns = state->header.wall_clock_ns;
    summary_.last_wall_clock_ns = state->header.wall_clock_ns;
    summary_.objects_first = master_->status(state->header.begins).objects;
  }
  call_.now = state->header.begins;
  observer_.loaded(*master_, state->header.begins, state->header.wall_clock_ns);
  return {};
}

void IncidentReplay::compare(const journal::State& state) {
  if (!comparing_) return;
  ++summary_.states_compared;
  if (master_->digest(state.header.begins) == state.digest) return;
  diverge(state.path.filename().string(),
          "the state to which the calls before it lead is another one");
}

Status IncidentReplay::calls(const journal::Slot& slot, const Progress& progress) {
  auto reader = journal::CallsReader::open(*slot.calls);
  if (!reader) {
    broke(reader.error().message());
    return {};
  }
  const journal::FileHeader& header = reader->header();
  if (header.epoch != epoch_) {
    broke(slot.calls->filename().string() + " is of another master");
    return {};
  }
  call_.file = slot.calls->filename().string();
  bool ended = false;
  for (const Record* record = reader->next(); record != nullptr; record = reader->next()) {
    call_.kind = record->header.kind;
    call_.now = record->header.now;
    call_.offset = record->offset;
    call_.wall_clock_ns = header.wall_clock_ns + (record->header.now - header.begins).count();
    call_.request = nullptr;
    check_effects(record->header.effects, last_call_);
    if (record->header.kind == RecordKind::end) {
      ended = true;
      break;
    }
    if (record->header.kind == RecordKind::gap) {
      broke("a gap at " + wall_clock_text(call_.wall_clock_ns) + ": " +
            std::to_string(record->gap.calls) +
            " calls could not be kept, since the disk was slow");
      return {};
    }
    carry_out(*record);
    summary_.last_wall_clock_ns = call_.wall_clock_ns;
    if (!master_) return {};
    if (summary_.calls % 1024 == 0 && progress) {
      const auto done = static_cast<double>(done_.value + record->offset);
      if (!progress(done / static_cast<double>(std::max<std::uint64_t>(1, total_.value)))) {
        return failed(ErrorCode::cancelled);
      }
    }
  }
  if (const auto& cut = reader->cut()) {
    broke(call_.file + " byte " + std::to_string(cut->offset) + ": " + cut->why + "; " +
          std::to_string(cut->bytes) + " bytes are left out");
  } else if (!ended && &slot != &slots_.back()) {
    broke(call_.file + " ends where the master that wrote it did");
  }
  return {};
}

void IncidentReplay::check_effects(std::uint64_t recorded, const std::string& where) {
  if (comparing_ && recorded != digest_.value()) {
    diverge(where, "what the master answered or commanded then differs from what it does here");
  }
}

void IncidentReplay::diverge(std::string where, std::string what) {
  comparing_ = false;
  if (!summary_.divergence) summary_.divergence = {std::move(where), std::move(what)};
}

void IncidentReplay::end() {
  if (!master_) return;
  summary_.objects_last = master_->status(call_.now).objects;
  observer_.ended(*master_, call_.now);
  master_.reset();
}

void IncidentReplay::broke(std::string why) {
  end();
  observer_.broken(why);
  summary_.breaks.push_back(std::move(why));
}

void IncidentReplay::carry_out(const Record& record) {
  ++summary_.calls;
  try {
    apply(record);
  } catch (const std::runtime_error& error) {
    diverge(to_text(call_), std::string("an invariant is broken here: ") + error.what());
    call_.request = nullptr;
    return broke("the replay could not go on from " + to_text(call_));
  }
  if (!master_) return;
  digest_.add(effects_);
  observer_.after(call_, *master_, effects_);
  effects_.clear();
  last_call_ = to_text(call_);
  const auto own = open_.find(call_.ticket);
  if (own != open_.end() && own->second.missing == 0) open_.erase(own);
}

void IncidentReplay::apply(const Record& record) {
  const Time now = record.header.now;
  switch (record.header.kind) {
    case RecordKind::request:
    case RecordKind::open_call: {
      auto decoded = decode_request(record.frame);
      if (!decoded) {
        diverge(to_text(call_), "its request cannot be read: " + decoded.error().message());
        return;
      }
      const std::size_t items = answer_count(decoded->request.body);
      call_.ticket = record.request.ticket;
      const auto [entry, is_new] = open_.insert_or_assign(
          call_.ticket, Open{.decoded = std::move(*decoded), .missing = items});
      if (record.header.kind == RecordKind::open_call) return;
      call_.request = &entry->second.decoded.request;
      call_.piece = {.first = 0, .end = items};
      count(*call_.request);
      break;
    }
    case RecordKind::piece: {
      call_.ticket = record.piece.ticket;
      const auto entry = open_.find(call_.ticket);
      if (entry == open_.end()) return diverge(to_text(call_), "its call is not in the recording");
      call_.request = &entry->second.decoded.request;
      call_.piece = {.first = record.piece.first, .end = record.piece.end};
      if (call_.piece.first == 0) count(*call_.request);
      break;
    }
    case RecordKind::tick:
      ++summary_.by_kind["tick"];
      observer_.before(call_, *master_);
      return master_->tick(now, effects_);
    case RecordKind::node_disconnected:
      call_.node = record.node;
      ++summary_.by_kind["node disconnected"];
      observer_.before(call_, *master_);
      return master_->node_disconnected(now, record.node.incarnation, record.node.registration);
    default:
      return;
  }
  observer_.before(call_, *master_);
  master_->apply(now, call_.ticket, *call_.request, effects_, call_.piece);
}

void IncidentReplay::count(const Request& request) {
  ++summary_.by_kind[std::string(request_name(request.body))];
  summary_.items += answer_count(request.body);
}

void IncidentReplay::answered(Ticket ticket, std::uint32_t index, const Answer& given) {
  digest_.add(ticket, index, given);
  const auto entry = open_.find(ticket);
  const Request* request = entry == open_.end() ? nullptr : &entry->second.decoded.request;
  observer_.answered(ticket, request, index, given);
  if (entry == open_.end()) return;
  if (entry->second.missing > 0) --entry->second.missing;
  // That of the call itself goes after it.
  if (entry->second.missing == 0 && ticket != call_.ticket) open_.erase(entry);
}

}  // namespace larder::sim
