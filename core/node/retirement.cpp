#include "core/base/assert.h"
#include "core/node/node.h"

namespace larder {
namespace {

constexpr std::size_t retired_per_step = 4096;

}  // namespace

std::optional<ExtentPlace> Node::find(const ExtentName& name) {
  const auto segment = segments_.find(name.location.segment);
  if (segment == segments_.end()) return std::nullopt;
  const auto at =
      segment->second.extents.find({.offset = name.location.offset, .put_id = name.put_id});
  if (at == segment->second.extents.end()) return std::nullopt;
  return ExtentPlace{.segment = &segment->second, .at = at};
}

// The order matters: first no new reader finds it valid, then nothing writes there, then the
// readers that are under way end.
void Node::retire(ExtentPlace place, NodeEffects& effects) {
  Extent& extent = place.extent();
  if (extent.state == FillState::retiring) return;
  if (extent.state == FillState::sealed) {
    memory_.write_footer(place.footer(), FooterBytes{});
    --footers_;
  }
  extent.state = FillState::retiring;
  ended_.add(place.name());
  if (const auto fill = fills_.find(extent.fill); fill != fills_.end()) {
    abort(fill, effects);  // one with nothing in flight ends here, and with it the extent
    return;
  }
  release_if_idle(place);
}

// Held or not, no fill of it is taken any more.
void Node::retire_named(const ExtentName& name, NodeEffects& effects) {
  ended_.add(name);
  const auto place = find(name);
  if (!place) return confirm(name);
  if (place->extent().state != FillState::retiring) return retire(*place, effects);
  if (place->extent().held_told || held_.size() >= config_.confirmations_max) return;
  place->extent().held_told = true;
  held_.push_back(name);
}

void Node::release_if_idle(ExtentPlace place) {
  const Extent& extent = place.extent();
  if (extent.state != FillState::retiring || extent.reads > 0) return;
  LARDER_ASSERT(extent.fill == FillId{}, "a fill is in flight where none can be");
  confirm(place.name());
  place.segment->extents.erase(place.at);
}

// Where everything is retired, the empty report says so.
void Node::confirm(const ExtentName& name) {
  if (!retiring_all_ && confirm_.size() < config_.confirmations_max) confirm_.push_back(name);
}

ConfirmRetirement Node::next_confirmation(Time now) {
  ConfirmRetirement request{
      .incarnation = incarnation_, .registration = registration_, .retired = {}, .held = {}};
  while (!confirm_.empty() && request.retired.size() < items_per_piece) {
    request.retired.push_back(confirm_.front());
    confirm_.pop_front();
  }
  while (!held_.empty() && request.held.size() < items_per_piece) {
    const ExtentName name = held_.front();
    held_.pop_front();
    const auto place = find(name);
    if (!place || !place->extent().held_told) continue;
    Extent& extent = place->extent();
    extent.held_told = false;
    const Duration reads =
        extent.read_until > now ? extent.read_until - now : config_.timing.fill_stalled;
    request.held.push_back({.extent = name, .at_most = reads});
  }
  return request;
}

void Node::begin_retire_all(NodeEffects& effects) {
  retiring_all_ = true;
  retire_cursor_ = Cursor{};
  retire_some(effects);
}

void Node::retire_some(NodeEffects& effects) {
  for (std::size_t i = 0; i < retired_per_step && retire_cursor_; ++i) {
    const auto place = after(*retire_cursor_);
    if (!place) {
      retire_cursor_.reset();
      break;
    }
    *retire_cursor_ = {.segment = place->segment->info.id, .extent = place->at->first};
    retire(*place, effects);
  }
}

std::optional<ExtentPlace> Node::after(const Cursor& cursor) {
  auto segment = segments_.lower_bound(cursor.segment);
  if (segment != segments_.end() && segment->first == cursor.segment && cursor.extent) {
    const auto at = segment->second.extents.upper_bound(*cursor.extent);
    if (at != segment->second.extents.end()) return ExtentPlace{&segment->second, at};
    ++segment;
  }
  for (; segment != segments_.end(); ++segment) {
    auto& extents = segment->second.extents;
    if (!extents.empty()) return ExtentPlace{&segment->second, extents.begin()};
  }
  return std::nullopt;
}

std::size_t Node::extent_count() const {
  std::size_t count = 0;
  for (const auto& [id, segment] : segments_) count += segment.extents.size();
  return count;
}

}  // namespace larder
