#include "sim/incident/incident_replay.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <variant>

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

// Whether it can be what that request was answered. A client that uses the number of an open call
// again, for another kind of call, gets the answer of the first one to the second.
bool can_answer(const Request& request, std::uint32_t index, const Answer& given) {
  if (index >= answer_count(request.body)) return false;
  if (!given) return true;
  if (std::holds_alternative<PutStart>(request.body)) {
    return std::holds_alternative<PutGrant>(*given);
  }
  if (std::holds_alternative<GetReplicaList>(request.body)) {
    return std::holds_alternative<ReplicaList>(*given);
  }
  if (std::holds_alternative<Exists>(request.body)) {
    return std::holds_alternative<Existence>(*given);
  }
  return true;
}

Bytes size_of(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  return {error ? 0 : size};
}

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
    if (slot.calls) {
      if (master_) {
        LARDER_CHECK(calls(slot, progress));
      } else if (slot.state) {
        summary_.left_out += size_of(*slot.calls);
      }
    } else if (&slot == slots_.data()) {
      broke("the calls of slot " + std::to_string(slot.number) + " are overwritten");
    } else {
      damaged("the calls of slot " + std::to_string(slot.number) + " are missing", 0_B);
      cannot_go_on(summary_.damages.back());
    }
    done_ += slot.bytes;
  }
  if (summary_.first_wall_clock_ns == 0) {
    std::string why = "no state of the recording can be loaded";
    for (const auto* list : {&summary_.damages, &summary_.breaks}) {
      for (const std::string& each : *list) why += "; " + each;
    }
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
    // The calls before it lead here all the same: only nothing is compared.
    damaged(state.error().facts().detail, size_of(*slot.state));
    if (!master_) observer_.broken(summary_.damages.back());
    return {};
  }
  if (master_ && state->header.epoch != epoch_) broke("another master began to record");
  if (master_) {
    compare(*state);
    if (comparing_) return {};
  }
  auto loaded = state->load();
  const auto config = state->config();
  if (!loaded || !config) {
    damaged(loaded ? config.error().facts().detail : loaded.error().facts().detail,
            size_of(*slot.state));
    cannot_go_on(summary_.damages.back());
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
  observer_.configured(*config);
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
  const std::string file = slot.calls->filename().string();
  auto reader = journal::CallsReader::open(*slot.calls);
  if (!reader && size_of(*slot.calls) < Bytes{sizeof(journal::FileHeader)} && last_of_life(slot)) {
    broke(file + ": the header is torn, " + std::to_string(size_of(*slot.calls).value) +
          " bytes left out");
    return {};
  }
  if (!reader) {
    damaged(reader.error().facts().detail, size_of(*slot.calls));
    cannot_go_on(summary_.damages.back());
    return {};
  }
  const journal::FileHeader& header = reader->header();
  if (header.epoch != epoch_) {
    // With its own state it would have been that master's: it is there, and damaged.
    if (slot.state) summary_.left_out += size_of(*slot.calls);
    broke(file + " is of another master");
    return {};
  }
  call_.file = file;
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
    const std::string why = call_.file + " byte " + std::to_string(cut->offset) + ": " + cut->why +
                            ", " + std::to_string(cut->bytes) + " bytes left out";
    if (cut->torn && last_of_life(slot)) {
      broke(why);
    } else {
      damaged(why, {cut->bytes});
      cannot_go_on(why);
    }
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

void IncidentReplay::cannot_go_on(const std::string& why) {
  end();
  observer_.broken(why);
}

void IncidentReplay::broke(std::string why) {
  cannot_go_on(why);
  summary_.breaks.push_back(std::move(why));
}

void IncidentReplay::damaged(std::string why, Bytes left_out) {
  summary_.damages.push_back(std::move(why));
  summary_.left_out += left_out;
}

// Whether the master that wrote it wrote nothing after it: then it may end anywhere.
bool IncidentReplay::last_of_life(const journal::Slot& slot) const {
  const auto next = slots_.begin() + (&slot - slots_.data()) + 1;
  if (next == slots_.end()) return true;
  if (next->calls) {
    const auto reader = journal::CallsReader::open(*next->calls);
    return reader && reader->header().epoch != epoch_;
  }
  if (!next->state) return false;
  const auto state = journal::read_state(*next->state);
  return state && state->header.epoch != epoch_;
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
  if (request != nullptr && !can_answer(*request, index, given)) request = nullptr;
  observer_.answered(ticket, request, index, given);
  if (entry == open_.end()) return;
  if (entry->second.missing > 0) --entry->second.missing;
  // That of the call itself goes after it.
  if (entry->second.missing == 0 && ticket != call_.ticket) open_.erase(entry);
}

}  // namespace larder::sim
