#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/archive.h"
#include "core/base/hash.h"
#include "sim/incident/incident_replay.h"
#include "tests/files/temporary.h"

namespace larder::sim {

using namespace std::chrono_literals;
using journal::FileHeader;
using journal::FileKind;
using journal::RecordKind;

inline constexpr SessionId writer{1, 1};
inline constexpr IncarnationId incarnation{2, 1};
inline constexpr SegmentId segment{3, 1};
inline constexpr std::int64_t wall_ns = 1'800'000'000'000'000'000;  // 2027-01-15 08:00:00 UTC

// A master whose calls are written down as a recorder does it, with the files in memory.
class Recorded final : AnswerSink {
 public:
  Recorded() : effects_(*this) {
    MasterConfig config;
    config.quarantine_bytes_min = 1_TiB;
    config.timing.lease = 200ms;
    config.timing.exists_lease = 100ms;
    config.timing.session_lost = 5s;  // before a put is given up
    master_ = Master::make(now, config, {.epoch = {9}, .instance = {1, 2}}, {}).value();
    begin_slot();
    call({}, RegisterNode{.incarnation = incarnation,
                          .registration = 1,
                          .name = "n0",
                          .endpoint = "n0:1",
                          .host = "h",
                          .segments = {{.id = segment, .name = "s", .size = 64_KiB}}});
    call({}, ReportInventory{.incarnation = incarnation, .registration = 1, .last = true});
    call(writer, OpenSession{.tenant = "t", .client = "engine"});
  }

  void call(SessionId session, RequestBody body) {
    now += 1ms;
    Request request{.header = {.session = session}, .body = std::move(body)};
    if (session) request.header.number = request.header.lowest_unanswered = ++number_;
    std::string frame;
    encode(request, frame);
    ++ticket_;
    append({.kind = RecordKind::request, .now = now},
           journal::bytes_of(journal::RequestPart{.ticket = ticket_}), frame);
    master_->apply(now, ticket_, request, effects_);
    take();
    ticks();
  }
  // With the number of the call before it.
  void call_again(SessionId session, RequestBody body) {
    --number_;
    call(session, std::move(body));
  }
  // All of a put, and the confirmations of what it evicts.
  void put(const std::string& key, Bytes size = 4_KiB) {
    granted_.reset();
    call(writer, PutStart{.items = {{.key = key, .size = size}}});
    confirm();
    if (!granted_) return;
    call(writer, PutEnd{.items = {{.key = key, .put_id = *granted_, .sealed = 1, .checksum = 1}}});
    confirm();
  }
  // Whatever the node was asked to retire.
  void confirm() {
    while (!asked_.empty()) {
      call({}, ConfirmRetirement{.incarnation = incarnation,
                                 .registration = 1,
                                 .retired = std::exchange(asked_, {})});
    }
  }
  bool get(const std::string& key) {
    found_ = false;
    call(writer, GetReplicaList{.items = {{.key = key}}});
    return found_;
  }
  void pass(Duration duration) {
    for (const Time end = now + duration; now < end;) {
      now += 99ms;
      call({}, Heartbeat{.incarnation = incarnation, .registration = 1});
      call(writer, KeepAlive{});
    }
  }

  void begin_slot() {
    if (slot_ > 0)
      append({.kind = RecordKind::end, .now = now}, journal::bytes_of(journal::EndPart{}), {});
    write();
    ++slot_;
    digest_ = {};
    records_.clear();
    header_ = {.kind = FileKind::state,
               .slot = slot_,
               .epoch = {9},
               .begins = now,
               .wall_clock_ns = wall_ns + (now - Time{1h}).count()};
    header_.checksum = journal::checksum_of(header_);
    std::string state;
    Archive archive([&](std::span<const std::byte> piece) {
      state.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    master_->save(archive);
    journal::StateTrailer trailer{.length = state.size(), .digest = master_->digest(now)};
    state.append(journal::bytes_of(trailer).substr(0, 16));
    trailer.checksum = checksum(std::as_bytes(std::span(state)));
    directory.file(journal::file_name(slot_, ".state"),
                   std::string(journal::bytes_of(header_)) + state +
                       std::string(journal::bytes_of(trailer).substr(16)));
  }
  void write() {
    if (slot_ == 0) return;
    header_.kind = FileKind::calls;
    header_.checksum = journal::checksum_of(header_);
    journal::seal(records_);
    directory.file(journal::file_name(slot_, ".calls"),
                   std::string(journal::bytes_of(header_)) + records_);
  }
  void append(journal::RecordHeader header, std::string_view part, std::string_view frame) {
    header.effects = digest_.value();
    starts.push_back(records_.size());
    journal::append(header, part, frame, records_);
  }
  std::string& records() { return records_; }
  const Master& master() const { return *master_; }

  IncidentSummary replay(IncidentObserver& observer) {
    write();
    auto summary = IncidentReplay(journal::open_ring(directory.path()).value(), observer).run({});
    EXPECT_TRUE(summary.has_value()) << summary.error().message();
    return summary ? *summary : IncidentSummary{};
  }
  IncidentSummary replay() {
    IncidentObserver nobody;
    return replay(nobody);
  }

  const TemporaryDirectory directory;
  Time now{1h};
  std::vector<std::size_t> starts;  // of records, in the present slot's file

 private:
  void answer(Ticket ticket, std::uint32_t index, const Answer& given) override {
    digest_.add(ticket, index, given);
    if (!given) return;
    if (const auto* grant = std::get_if<PutGrant>(&*given)) granted_ = grant->put_id;
    if (std::holds_alternative<ReplicaList>(*given)) found_ = true;
  }
  void take() {
    digest_.add(effects_);
    for (const Command& command : effects_.commands) {
      const auto* retire = std::get_if<RetireExtents>(&command.body);
      if (retire == nullptr) continue;
      asked_.insert(asked_.end(), retire->extents.begin(), retire->extents.end());
    }
    effects_.clear();
  }
  void ticks() {
    for (auto due = master_->next_deadline(); due && *due <= now; due = master_->next_deadline()) {
      append({.kind = RecordKind::tick, .now = now}, {}, {});
      master_->tick(now, effects_);
      take();
    }
  }

  MasterEffects effects_;
  std::unique_ptr<Master> master_;
  EffectsDigest digest_;
  FileHeader header_;
  std::uint64_t slot_ = 0;
  std::uint64_t number_ = 0;
  Ticket ticket_ = 0;
  std::string records_;
  std::optional<PutId> granted_;
  bool found_ = false;
  std::vector<ExtentName> asked_;
};

// More than fits, so that the first ones are evicted.
inline void fill(Recorded& recorded) {
  for (int i = 0; i < 40; ++i) {
    recorded.put("key/" + std::to_string(i));
    if (i % 10 == 9) recorded.pass(1s);
  }
}

}  // namespace larder::sim
