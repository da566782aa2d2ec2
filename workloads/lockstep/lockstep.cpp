#include "workloads/lockstep/lockstep.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <string>

#include "core/base/hash.h"
#include "workloads/lockstep/page_pattern.h"

namespace larder::workloads {
namespace {

std::string page_key(BlockId block) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "page/%016llx",
                static_cast<unsigned long long>(block.value));
  return text.data();
}

// Not null, and not an address that could be used by mistake without being noticed.
std::byte* nobodys_memory() { return reinterpret_cast<std::byte*>(std::uintptr_t{64}); }

// One run: buffers that are used again, and the totals.
class Run {
 public:
  Run(Client& client, const LockstepConfig& config) : client_(client), config_(config) {}

  Task<Status> begin();
  Task<Status> serve(const Request& request);
  LockstepTotals totals() const;

 private:
  struct Page {
    BlockId block;
    std::string key;
    std::string_view parent;
    std::span<std::byte> bytes;
    Slice slice;
    ConstSlice value;
  };
  void lay_out(const Request& request);
  // The indices of the pages that were not found.
  Task<Result<std::vector<std::size_t>>> read_pages(const Request& request);
  Task<Status> write_pages(std::span<const std::size_t> missing);
  Task<Status> quiesce();

  Client& client_;
  const LockstepConfig& config_;
  LockstepTotals totals_;
  Duration first_arrival_{0};
  std::uint64_t evicted_ = 0;            // since the master's start
  std::uint64_t evicted_at_start_ = 0;   // of this run
  std::uint64_t evicted_uncounted_ = 0;  // then and in the warm-up
  Digest decisions_;
  Bytes put_bytes_max_;
  std::vector<std::byte> memory_;
  std::vector<Page> pages_;
};

Task<Status> Run::begin() {
  Status quiet = co_await quiesce();
  evicted_at_start_ = evicted_uncounted_ = evicted_;
  co_return quiet;
}

LockstepTotals Run::totals() const {
  LockstepTotals totals = totals_;
  totals.evictions = evicted_ - evicted_uncounted_;
  totals.decision_digest = decisions_.value();
  return totals;
}

void Run::lay_out(const Request& request) {
  const std::size_t size = config_.page_bytes.value;
  if (config_.content) memory_.resize(std::max(memory_.size(), request.blocks.size() * size));
  pages_.clear();
  pages_.reserve(request.blocks.size());
  for (std::size_t i = 0; i < request.blocks.size(); ++i) {
    const std::span<std::byte> bytes = config_.content ? std::span(memory_).subspan(i * size, size)
                                                       : std::span(nobodys_memory(), size);
    pages_.push_back({.block = request.blocks[i],
                      .key = page_key(request.blocks[i]),
                      .parent = i == 0 ? std::string_view() : std::string_view(pages_[i - 1].key),
                      .bytes = bytes,
                      .slice = bytes,
                      .value = bytes});
  }
}

Task<Status> Run::serve(const Request& request) {
  if (totals_.requests + totals_.warmup_requests == 0) first_arrival_ = request.arrival;
  lay_out(request);
  Result<std::vector<std::size_t>> missing = co_await read_pages(request);
  if (!missing) co_return std::unexpected(std::move(missing).error());
  Status written = co_await write_pages(*missing);
  const Duration trace_time = request.arrival - first_arrival_;
  if (totals_.warmup_requests < config_.warmup_requests) {
    totals_ = {.warmup_requests = totals_.warmup_requests + 1};
    evicted_uncounted_ = evicted_;
  } else {
    ++totals_.requests;
  }
  totals_.trace_time = trace_time;
  co_return written;
}

Task<Result<std::vector<std::size_t>>> Run::read_pages(const Request& request) {
  std::vector<GetItem> items;
  items.reserve(pages_.size());
  for (const Page& page : pages_) items.push_back({.key = page.key, .into = {&page.slice, 1}});
  const std::vector<Result<GetOutcome>> read =
      co_await client_.get(items, client_.operation_deadline(config_.page_bytes * pages_.size()));
  std::vector<std::size_t> missing;
  std::size_t leading = pages_.size();
  std::set<BlockId> listed;
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    if (read[i]) {
      totals_.bytes_read += read[i]->size;
      if (read[i]->size != config_.page_bytes ||
          (config_.content && !is_page(pages_[i].block, pages_[i].bytes))) {
        co_return std::unexpected(
            Error(ErrorCode::checksum_mismatch, "a page that was read is not what was written")
                .with_key(pages_[i].key));
      }
    } else if (read[i].error().code() == ErrorCode::object_not_found) {
      leading = std::min(leading, i);
      if (listed.insert(pages_[i].block).second) missing.push_back(i);
    } else {
      co_return std::unexpected(read[i].error());
    }
  }
  totals_.pages += pages_.size();
  totals_.page_hits += leading;
  totals_.tokens += request.input_tokens;
  totals_.tokens_hit += request.tokens_of(leading);
  decisions_.add(leading);
  co_return missing;
}

Task<Status> Run::write_pages(std::span<const std::size_t> missing) {
  const std::size_t per_call =
      std::max<std::size_t>(1, put_bytes_max_.value / config_.page_bytes.value);
  std::size_t done = 0;
  do {
    const auto piece = missing.subspan(done, std::min(per_call, missing.size() - done));
    done += piece.size();
    std::vector<PutItem> items;
    items.reserve(piece.size());
    for (const std::size_t index : piece) {
      const Page& page = pages_[index];
      if (config_.content) fill_page(page.block, page.bytes);
      items.push_back({.key = page.key, .value = {&page.value, 1}, .parent = page.parent});
    }
    const std::vector<Result<PutOutcome>> put = co_await client_.put(
        items, {}, client_.operation_deadline(config_.page_bytes * items.size()));
    for (std::size_t i = 0; i < put.size(); ++i) {
      if (!put[i]) co_return std::unexpected(put[i].error());
      if (put[i]->already_stored) continue;
      ++totals_.puts;
      totals_.bytes_written += config_.page_bytes;
      decisions_.add(items[i].key);
    }
    if (Status quiet = co_await quiesce(); !quiet) co_return quiet;
  } while (done < missing.size());
  co_return Status{};
}

Task<Status> Run::quiesce() {
  Result<QuiesceReport> report = co_await client_.quiesce(client_.control_deadline());
  if (!report) co_return std::unexpected(std::move(report).error());
  put_bytes_max_ = report->put_bytes_max;
  evicted_ = report->evicted_objects;
  decisions_.add(evicted_ - evicted_at_start_).add(report->eviction_digest);
  co_return Status{};
}

}  // namespace

Task<Result<LockstepTotals>> run_in_lockstep(Client& client, const Clock& clock, TraceReader& trace,
                                             LockstepConfig config, LockstepProgress progress) {
  Run run(client, config);
  const Time begin = clock.now();
  Status status = co_await run.begin();
  for (std::uint64_t count = 0; status && count < config.requests_max; ++count) {
    if (clock.now() - begin >= config.stop_after) break;
    Result<const Request*> next = trace.next();
    if (!next) co_return std::unexpected(std::move(next).error());
    if (*next == nullptr) break;
    status = co_await run.serve(**next);
    if (status && progress && !progress(run.totals())) break;
  }
  if (!status) co_return std::unexpected(std::move(status).error());
  const LockstepTotals totals = run.totals();
  if (totals.warmup_requests > 0 && totals.requests == 0) {
    co_return failed(ErrorCode::invalid_params,
                     all_is_warmup(config.warmup_requests, totals.warmup_requests));
  }
  co_return totals;
}

}  // namespace larder::workloads
