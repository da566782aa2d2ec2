#include "sim/explore/history.h"

#include <algorithm>
#include <array>

#include "core/base/printable.h"

namespace larder::sim {
namespace {

constexpr std::size_t violation_shown_max = 200;

// Enough to tell what is wrong with a run; a broken one could report millions.
constexpr std::size_t violations_max = 100;

constexpr auto of_result = [](const auto& result) { return result ? nullptr : &result.error(); };
constexpr auto of_seen = [](const auto& seen) { return of_result(seen.result); };

}  // namespace

std::string_view to_string(Invariant invariant) {
  constexpr std::array<std::string_view, 8> names{
      "I1 whole bytes",    "I2 own key",       "I3 not superseded", "I4 machine",
      "I5 operations end", "I6 space returns", "I7 pool serves",    "I8 repeatable"};
  return names[std::size_t(invariant)];
}

std::string to_text(const Violation& violation) {
  return std::string(to_string(violation.invariant)) + ": " +
         printable(violation.what, violation_shown_max);
}

void History::report(Invariant invariant, std::string what) {
  if (violations_.size() < violations_max) {
    violations_.push_back({invariant, now(), std::move(what)});
  }
}

void History::wrong_read(Invariant invariant, std::string what) {
  ++wrong_reads_;
  report(invariant, std::move(what));
}

void History::violation(const std::string& what) { report(Invariant::machine, what); }

OperationCounts& OperationCounts::operator+=(const OperationCounts& other) {
  began += other.began;
  succeeded += other.succeeded;
  failed += other.failed;
  lost += other.lost;
  gets_ok += other.gets_ok;
  puts_ok += other.puts_ok;
  removes_ok += other.removes_ok;
  not_begun += other.not_begun;
  for (const auto& [reason, count] : other.reasons) reasons[reason] += count;
  return *this;
}

void History::begins(OperationId id) {
  ++counts_.began;
  begins_.try_emplace(id, now());
}

void History::upsert_begins(OperationId id) {
  upserts_.insert(id);
  begins(id);
}

Instant History::begin_of(OperationId id) const {
  const auto found = begins_.find(id);
  return found == begins_.end() ? now() : found->second;
}

void History::put_began(OperationId id, std::span<const PutWanted> items, WriteId first) {
  begins_.try_emplace(id, now());
  for (std::size_t i = 0; i < items.size(); ++i) {
    writes_.emplace(
        WriteId{first.value + i},
        Write{.key = items[i].key, .size = items[i].size, .began = now(), .operation = id});
  }
}

void History::all_promised() {
  if (!promises_.not_superseded) {
    replacements_.clear();
    revoked_.clear();
  }
  promises_.not_superseded = true;
}

std::vector<std::optional<ErrorCode>> History::codes(OperationId id) const {
  const auto found = codes_.find(id);
  return found == codes_.end() ? std::vector<std::optional<ErrorCode>>() : found->second;
}

// `failure`: of an item, null if it has none.
template <class Items, class Failure>
void History::end(OperationId id, const Items& items, Failure&& failure) {
  const auto bad =
      std::ranges::find_if(items, [&](const auto& item) { return failure(item) != nullptr; });
  ++(bad == items.end() ? counts_.succeeded : counts_.failed);
  if (bad != items.end()) ++counts_.reasons[failure(*bad)->code()];
  begins_.erase(id);
  upserts_.erase(id);
  if (!keeps_codes_) return;
  std::vector<std::optional<ErrorCode>>& codes = codes_[id];
  for (const auto& item : items) {
    const Error* error = failure(item);
    codes.push_back(error == nullptr ? std::nullopt : std::optional(error->code()));
  }
}

void History::put_ended(OperationId id, std::span<const PutSeen> items) {
  for (const PutSeen& seen : items) {
    const bool fresh = seen.result && !seen.result->already_stored;
    if (!fresh) continue;
    ++counts_.puts_ok;
    Write& write = writes_.at(seen.write);
    write.acknowledged = now();
    if (upserts_.contains(id)) {
      replacements_[write.key].push_back({begin_of(id), now(), seen.write});
    }
  }
  end(id, items, of_seen);
}

void History::remove_ended(OperationId id, std::span<const std::string_view> keys,
                           std::span<const Status> results) {
  // Also "there is none" is an acknowledgement: what was there before is not read any more.
  const auto of_removal = [](const Status& result) -> const Error* {
    const bool gone = result || result.error().code() == ErrorCode::object_not_found;
    return gone ? nullptr : &result.error();
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (of_removal(results[i]) != nullptr) continue;
    ++counts_.removes_ok;
    replacements_[std::string(keys[i])].push_back({begin_of(id), now(), WriteId{}});
  }
  end(id, results, of_removal);
}

void History::exists_ended(OperationId id, std::span<const std::string_view>,
                           std::span<const Result<Existence>> results) {
  end(id, results, of_result);
}

void History::operation_lost(OperationId id) {
  ++counts_.lost;
  begins_.erase(id);
  upserts_.erase(id);
}

// A writer that gave its put up is answered when nobody can read it any more.
void History::master_answered(const MasterProcess&, const Request& request, std::uint32_t index,
                              const Answer& answer) {
  const auto* revoke = std::get_if<PutRevoke>(&request.body);
  if (revoke != nullptr && answer) revoked_.try_emplace(revoke->items[index].put_id, now());
}

void History::get_ended(OperationId id, std::span<const GetSeen> items) {
  for (const GetSeen& seen : items) {
    if (!seen.result) continue;
    ++counts_.gets_ok;
    check_read(id, seen);
  }
  end(id, items, of_seen);
}

// A write by the operation that made it, and its key, since there is one for each item.
std::string History::name_of(WriteId write) const {
  const auto found = writes_.find(write);
  if (found == writes_.end()) return "no put";
  const Write& it = found->second;
  return "the put of operation " + std::to_string(it.operation.value);
}

// "[0, 64) of the put of operation 3 from 0; [64, 72) of no put"
std::string History::content_of(std::span<const std::byte> bytes) const {
  std::string text;
  std::optional<Bytes> nobodys;  // where bytes of no put begin
  const auto range = [&](Bytes from, Bytes end) {
    text += (text.empty() ? "[" : "; [") + std::to_string(from.value) + ", " +
            std::to_string(end.value) + ") of ";
  };
  const auto end_nobodys = [&](Bytes end) {
    if (!nobodys) return;
    range(*nobodys, end);
    text += "no put";
    nobodys.reset();
  };
  for (const ContentRun& run : describe_content(bytes)) {
    if (!writes_.contains(run.write)) {
      if (!nobodys) nobodys = run.at;
      continue;
    }
    end_nobodys(run.at);
    range(run.at, run.at + run.length);
    text += name_of(run.write) + " from " + std::to_string(run.position.value);
  }
  end_nobodys({bytes.size()});
  return text;
}

// The writes whose bytes they may be. Few or unaligned bytes name none by themselves: they are
// compared with each put of the key, and may be those of several.
std::vector<WriteId> History::writes_of(const GetSeen& seen) const {
  constexpr std::size_t word = sizeof(std::uint64_t);
  if (seen.bytes.size() >= word && seen.range_offset.value % word == 0) {
    const std::vector<ContentRun> runs = describe_content(seen.bytes);
    const bool one = runs.size() == 1 && runs[0].position == seen.range_offset &&
                     writes_.contains(runs[0].write);
    return one ? std::vector{runs[0].write} : std::vector<WriteId>();
  }
  std::vector<WriteId> found;
  for (const auto& [id, write] : writes_) {
    if (write.key == seen.key && holds_content(seen.bytes, id, seen.range_offset)) {
      found.push_back(id);
    }
  }
  return found;
}

void History::check_read(OperationId id, const GetSeen& seen) {
  if (!promises_.parts_whole && seen.ranged) return;
  const std::string where =
      "operation " + std::to_string(id.value) + ", get of " + in_quotes(seen.key) + ",";
  const std::vector<WriteId> writes = writes_of(seen);
  if (writes.empty()) {
    wrong_read(Invariant::whole_bytes, where + " returned " + content_of(seen.bytes));
    return;
  }
  std::optional<Fault> first;
  for (const WriteId write : writes) {
    std::optional<Fault> fault = fault_of(id, seen, write);
    if (!fault) return;
    if (!first) first = std::move(fault);
  }
  wrong_read(first->invariant, where + " returned " + first->what);
}

// What is wrong if the bytes are those of this write.
std::optional<History::Fault> History::fault_of(OperationId id, const GetSeen& seen,
                                                WriteId written) const {
  const Write& write = writes_.at(written);
  const Bytes end = seen.range_offset + seen.result->size;
  if (write.key != seen.key || (seen.ranged ? end > write.size : end != write.size)) {
    return Fault{Invariant::own_key, name_of(written) + " of " + in_quotes(write.key) + ", " +
                                         std::to_string(write.size.value) + " bytes"};
  }
  if (!promises_.not_superseded) return std::nullopt;
  const Instant began = begin_of(id);
  const auto revoked = revoked_.find(seen.result->put_id);
  if (revoked != revoked_.end() && revoked->second < began) {
    return Fault{Invariant::not_superseded, name_of(written) + ", which had been revoked"};
  }
  const Replacement* replaced = replacement_of(written, began);
  if (replaced == nullptr) return std::nullopt;
  return Fault{Invariant::not_superseded,
               name_of(written) + ", which " +
                   (replaced->by.value == 0 ? std::string("a removal") : name_of(replaced->by)) +
                   " had replaced"};
}

// Superseded: acknowledged first, then replaced by something that began later and was acknowledged
// `before`. Null: by nothing.
const History::Replacement* History::replacement_of(WriteId written, Instant before) const {
  const Write& write = writes_.at(written);
  const auto replacements = replacements_.find(write.key);
  if (replacements == replacements_.end()) return nullptr;
  const auto found = std::ranges::find_if(replacements->second, [&](const Replacement& each) {
    return write.acknowledged < each.begin && each.end < before && each.by != written;
  });
  return found == replacements->second.end() ? nullptr : &*found;
}

std::uint64_t History::identity() const {
  Digest digest;
  for (const auto& [written, write] : writes_) {
    digest.add(written.value).add(write.acknowledged <= now());
    digest.add(replacement_of(written, later(now(), Duration(1))) != nullptr);
  }
  for (const auto& [id, begin] : begins_) {
    digest.add(id.value).add(upserts_.contains(id));
    for (const auto& [written, write] : writes_) {
      digest.add(write.acknowledged < begin).add(replacement_of(written, begin) != nullptr);
    }
  }
  return digest.value();
}

}  // namespace larder::sim
