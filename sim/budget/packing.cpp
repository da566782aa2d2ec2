#include "sim/budget/packing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/assert.h"
#include "core/base/size_text.h"
#include "core/protocol/extent_shape.h"
#include "sim/serving/serving.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

Bytes gap_behind(const ExtentShape& extent) {
  return extent.length.rounded_up(extent.alignment) - extent.length;
}

}  // namespace

Result<PackingMeter> PackingMeter::make(const PageShape& shape, Bytes segment) {
  if (shape.token == Bytes{} || shape.tokens == 0 || shape.objects == 0 ||
      shape.object_bytes(1) == Bytes{}) {
    return failed(ErrorCode::invalid_params, "a page has tokens, and bytes for each of them");
  }
  PackingMeter meter(shape, segment);
  Kept page{.id = 0, .tokens = shape.tokens, .extents = {}};
  if (!meter.place(page)) {
    return failed(ErrorCode::invalid_params,
                  "a segment of " + size_text(segment) + " has no room for one page, of " +
                      std::to_string(shape.objects) + " x " +
                      size_text(shape.object_bytes(shape.tokens)) + " and footers");
  }
  return PackingMeter(shape, segment);
}

Status PackingMeter::add(const workloads::Request& request) {
  LARDER_CHECK(pages_of(request, shape_.tokens, of_request_));
  const std::size_t blocks_each = shape_.tokens / request.block_tokens;
  for (std::size_t i = 0; i < of_request_.size(); ++i) {
    put(of_request_[i],
        request.tokens_of((i + 1) * blocks_each) - request.tokens_of(i * blocks_each));
  }
  return {};
}

void PackingMeter::put(std::uint64_t id, std::uint64_t tokens) {
  if (tokens == 0 || !ids_.insert(id).second) return;
  Kept page{.id = id, .tokens = tokens, .extents = {}};
  if (!place(page)) {
    note_refusal();
    do {
      drop_first();
    } while (!place(page));
  }
  ++pages_;
  const Bytes object = object_bytes(page);
  payload_ += shape_.object_bytes(tokens) * shape_.objects;
  stored_ += object * shape_.objects;
  alignment_ += gap_behind(extent_shape(object)) * shape_.objects;
  kept_.push_back(std::move(page));
}

// All objects of a page, or none.
bool PackingMeter::place(Kept& page) {
  const ExtentShape extent = extent_shape(object_bytes(page));
  page.extents.reserve(shape_.objects);
  while (page.extents.size() < shape_.objects) {
    const Result<ExtentId> id = space_.allocate(extent.length, extent.alignment);
    if (!id) {
      for (const ExtentId taken : page.extents) (void)space_.free(taken);  // just taken, so valid
      page.extents.clear();
      return false;
    }
    page.extents.push_back(*id);
  }
  return true;
}

void PackingMeter::drop_first() {
  LARDER_ASSERT(!kept_.empty());  // an empty segment has room for each page
  const Kept& page = kept_.front();
  for (const ExtentId extent : page.extents) (void)space_.free(extent);  // valid while it is kept
  const Bytes object = object_bytes(page);
  payload_ -= shape_.object_bytes(page.tokens) * shape_.objects;
  stored_ -= object * shape_.objects;
  alignment_ -= gap_behind(extent_shape(object)) * shape_.objects;
  ids_.erase(page.id);
  kept_.pop_front();
}

void PackingMeter::note_refusal() {
  ++refusals_;
  const Bytes footers = footer_size * space_.extents();
  // Behind the last extent there may be less than that.
  const Bytes alignment = std::min(alignment_, space_.free_bytes());
  const auto share = [&](Bytes bytes) {
    return static_cast<double>(bytes.value) / static_cast<double>(space_.capacity().value);
  };
  sums_.payload += share(payload_);
  sums_.tails += share(stored_ - payload_);
  sums_.footers += share(footers);
  sums_.rounding += share(space_.used() - stored_ - footers);
  sums_.alignment += share(alignment);
  sums_.unused += share(space_.free_bytes() - alignment);
}

std::optional<PackingShares> PackingMeter::shares() const {
  if (refusals_ == 0) return std::nullopt;
  const auto mean = [&](double sum) { return sum / static_cast<double>(refusals_); };
  return PackingShares{.payload = mean(sums_.payload),
                       .tails = mean(sums_.tails),
                       .footers = mean(sums_.footers),
                       .rounding = mean(sums_.rounding),
                       .alignment = mean(sums_.alignment),
                       .unused = mean(sums_.unused)};
}

Result<PackingShares> whole_pages_packed(const PageShape& shape, Bytes segment) {
  LARDER_TRY(PackingMeter meter, PackingMeter::make(shape, segment));
  const std::uint64_t pages = 2 * (segment / shape.bytes()) + 2;
  for (std::uint64_t page = 0; page < pages; ++page) {
    const workloads::BlockId id{page};
    LARDER_CHECK(meter.add(
        {.input_tokens = shape.tokens, .block_tokens = shape.tokens, .blocks = {&id, 1}}));
  }
  return meter.shares().value();
}

}  // namespace larder::sim
