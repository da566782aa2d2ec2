#include "sim/explore/history.h"

#include <array>

namespace larder::sim {
namespace {

// Enough to tell what is wrong with a run; a broken one could report millions.
constexpr std::size_t violations_max = 100;

}  // namespace

std::string_view to_string(Invariant invariant) {
  constexpr std::array<std::string_view, 7> names{
      "I1 whole bytes",    "I2 own key",       "I3 not superseded", "I4 machine",
      "I5 operations end", "I6 space returns", "I7 pool serves"};
  return names[std::size_t(invariant)];
}

void History::report(Invariant invariant, std::string what) {
  if (violations_.size() < violations_max) {
    violations_.push_back({invariant, now(), std::move(what)});
  }
}

void History::violation(const std::string& what) { report(Invariant::machine, what); }

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
    writes_.emplace(WriteId{first.value + i},
                    Write{.key = items[i].key, .size = items[i].size, .began = now()});
  }
}

void History::end(OperationId id) {
  ++counts_.ended;
  begins_.erase(id);
  upserts_.erase(id);
}

void History::put_ended(OperationId id, std::span<const PutSeen> items) {
  bool all = true;
  for (const PutSeen& seen : items) {
    const bool fresh = seen.result && !seen.result->already_stored;
    all = all && seen.result.has_value();
    if (!fresh) continue;
    ++counts_.puts_ok;
    Write& write = writes_.at(seen.write);
    write.acknowledged = now();
    if (upserts_.contains(id)) {
      replacements_[write.key].push_back({begin_of(id), now(), seen.write});
    }
  }
  if (all) succeeded_.insert(id);
  end(id);
}

void History::remove_ended(OperationId id, std::span<const std::string_view> keys,
                           std::span<const Status> results) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    // Also "there is none" is an acknowledgement: what was there before is not read any more.
    const bool gone = results[i] || results[i].error().code() == ErrorCode::object_not_found;
    if (!gone) continue;
    ++counts_.removes_ok;
    replacements_[std::string(keys[i])].push_back({begin_of(id), now(), WriteId{}});
  }
  end(id);
}

void History::exists_ended(OperationId id, std::span<const std::string_view>,
                           std::span<const Result<Existence>>) {
  end(id);
}

void History::operation_lost(OperationId id) {
  ++counts_.lost;
  begins_.erase(id);
  upserts_.erase(id);
}

void History::get_ended(OperationId id, std::span<const GetSeen> items) {
  bool all = true;
  for (const GetSeen& seen : items) {
    all = all && seen.result.has_value();
    if (!seen.result) continue;
    ++counts_.gets_ok;
    check_read(id, seen);
  }
  if (all) succeeded_.insert(id);
  end(id);
}

void History::check_read(OperationId id, const GetSeen& seen) {
  const std::string where =
      "get " + std::to_string(id.value) + " of '" + std::string(seen.key) + "'";
  const std::vector<ContentRun> runs = describe_content(seen.bytes);
  // A value shorter than a word names no write: its bytes are compared with each put of the key.
  const bool short_value = seen.bytes.size() < sizeof(std::uint64_t);
  const Write* write = nullptr;
  WriteId written;
  if (short_value) {
    for (const auto& [candidate, known] : writes_) {
      if (known.key == seen.key && known.size.value == seen.bytes.size() &&
          holds_content(seen.bytes, candidate)) {
        write = &known;
        written = candidate;
      }
    }
  } else if (runs.size() == 1 && runs[0].position == seen.range_offset) {
    const auto found = writes_.find(runs[0].write);
    if (found != writes_.end()) {
      write = &found->second;
      written = found->first;
    }
  }
  if (write == nullptr) {
    report(Invariant::whole_bytes, where + " returned " + content_text(runs));
    return;
  }
  if (write->key != seen.key || (write->size != seen.result->size && seen.range_offset == 0_B)) {
    report(Invariant::own_key, where + " returned write " + std::to_string(written.value) +
                                   " of '" + write->key + "', " +
                                   std::to_string(write->size.value) + " bytes");
    return;
  }
  // Superseded: acknowledged first, then replaced by something that began later and was
  // acknowledged before this get began.
  const auto replacements = replacements_.find(seen.key);
  if (replacements == replacements_.end()) return;
  const Instant begin = begin_of(id);
  for (const Replacement& replacement : replacements->second) {
    if (write->acknowledged < replacement.begin && replacement.end < begin &&
        replacement.by != written) {
      report(Invariant::not_superseded,
             where + " returned write " + std::to_string(written.value) + ", which " +
                 (replacement.by.value == 0 ? std::string("a removal")
                                            : "upsert " + std::to_string(replacement.by.value)) +
                 " had replaced");
      return;
    }
  }
}

}  // namespace larder::sim
