#include "workloads/statistics.h"

#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <set>

namespace larder::workloads {
namespace {

// Counts how often each length comes.
class Lengths {
 public:
  void add(std::uint64_t length) { ++counts_[length]; }

  std::optional<LengthSummary> summary(std::uint64_t total) const {
    if (total == 0) return std::nullopt;
    return LengthSummary{
        .p50 = percentile(50, total), .p90 = percentile(90, total), .max = counts_.rbegin()->first};
  }

 private:
  std::uint64_t percentile(std::uint64_t percent, std::uint64_t total) const {
    const std::uint64_t rank = (total * percent + 99) / 100;
    std::uint64_t passed = 0;
    for (const auto& [length, count] : counts_) {
      passed += count;
      if (passed >= rank) return length;
    }
    return counts_.rbegin()->first;
  }

  std::map<std::uint64_t, std::uint64_t> counts_;
};

// What the first access to a block told, and how many there were.
struct Seen {
  std::optional<BlockId> parent;
  std::uint64_t uses = 0;
};
using SeenBlocks = boost::unordered_flat_map<std::uint64_t, Seen>;

void look_up(const Request& request, SeenBlocks& seen, TraceStatistics& sum) {
  std::size_t leading = 0;
  std::optional<BlockId> parent;
  for (std::size_t i = 0; i < request.blocks.size(); ++i) {
    const BlockId block = request.blocks[i];
    const auto [at, fresh] = seen.try_emplace(block.value, Seen{.parent = parent});
    ++at->second.uses;
    if (!fresh) {
      ++sum.block_hits;
      if (leading == i) ++leading;
      if (at->second.parent != parent) ++sum.trie_violations;
    }
    parent = block;
  }
  sum.block_accesses += request.blocks.size();
  sum.leading_block_hits += leading;
  sum.leading_token_hits += request.tokens_of(leading);
}

std::vector<ReuseBucket> reuse_of(const SeenBlocks& seen) {
  std::vector<ReuseBucket> buckets;
  for (const auto& [block, what] : seen) {  // sums only: the order does not show
    const auto bucket = static_cast<std::size_t>(std::bit_width(what.uses - 1));
    while (buckets.size() <= bucket) {
      const std::size_t i = buckets.size();
      buckets.push_back({.uses_min = i == 0 ? 1 : (std::uint64_t{1} << (i - 1)) + 1,
                         .uses_max = std::uint64_t{1} << i});
    }
    ++buckets[bucket].blocks;
  }
  return buckets;
}

}  // namespace

std::optional<double> ratio(std::uint64_t hits, std::uint64_t total) {
  if (total == 0) return std::nullopt;
  return static_cast<double>(hits) / static_cast<double>(total);
}

Result<TraceStatistics> trace_statistics(TraceReader& reader) {
  TraceStatistics sum;
  SeenBlocks seen;
  std::set<Speaker> speakers;
  Lengths inputs;
  Lengths outputs;
  Lengths blocks;
  while (true) {
    LARDER_TRY(const Request* request, reader.next());
    if (request == nullptr) break;
    if (sum.requests == 0) sum.first_arrival = request->arrival;
    if (sum.requests == 0 || request->arrival != sum.last_arrival) ++sum.distinct_timestamps;
    sum.last_arrival = request->arrival;
    ++sum.requests;
    sum.input_tokens += request->input_tokens;
    sum.output_tokens += request->output_tokens;
    if (request->speaker) speakers.insert(*request->speaker);
    inputs.add(request->input_tokens);
    outputs.add(request->output_tokens);
    blocks.add(request->blocks.size());
    look_up(*request, seen, sum);
  }
  std::optional<std::uint32_t> session;
  for (const Speaker& speaker : speakers) {
    if (speaker.session != session) ++sum.sessions;
    session = speaker.session;
  }
  sum.agents = speakers.size();
  sum.unique_blocks = seen.size();
  sum.reuse = reuse_of(seen);
  sum.input_lengths = inputs.summary(sum.requests);
  sum.output_lengths = outputs.summary(sum.requests);
  sum.blocks_per_request = blocks.summary(sum.requests);
  return sum;
}

}  // namespace larder::workloads
