#include <algorithm>
#include <array>
#include <utility>

#include "core/base/assert.h"
#include "core/base/printable.h"
#include "core/base/size_text.h"
#include "core/master/state.h"

namespace larder {
namespace {

constexpr std::uint64_t not_yet = ~std::uint64_t{0};
constexpr auto is_vacant = [](const auto& place) { return place == nullptr; };

}  // namespace

NodeRecord* Master::State::find_node(IncarnationId incarnation) {
  const auto found = node_index_.find(incarnation);
  return found == node_index_.end() ? nullptr : nodes_[found->second].get();
}

Result<NodeRecord*> Master::State::known_node(IncarnationId incarnation,
                                              std::uint64_t registration) {
  if (lost_.contains(incarnation)) return failed(ErrorCode::node_lost);
  NodeRecord* node = find_node(incarnation);
  if (node == nullptr || node->registration != registration) {
    return failed(ErrorCode::client_not_found,
                  "register (again): this is not the node's newest "
                  "registration");
  }
  return node;
}

void Master::State::handle(Step& step, Caller caller, const RegisterNode& request) {
  Result<NodeRegistered> registered = register_node(step, request);
  if (registered) {
    step.effects.answers.answer(caller.ticket, 0, *std::move(registered));
  } else {
    step.effects.answers.answer(caller.ticket, 0, std::unexpected(std::move(registered).error()));
  }
}

namespace {

// So that the bytes of a whole pool are a number that is far from its end.
constexpr Bytes node_bytes_max = 256_TiB;

// They stand in metrics and logs as they are.
bool bad_name(std::string_view name) {
  return name.size() > name_bytes_max || printable(name) != name;
}

}  // namespace

Status Master::State::check_registration(const RegisterNode& request) const {
  if (!request.incarnation) {
    return failed(ErrorCode::invalid_params, "an incarnation must not be zero");
  }
  for (const std::string_view name : {request.name, request.endpoint, request.host}) {
    if (!name.empty() && !bad_name(name)) continue;
    return failed(ErrorCode::invalid_params,
                  "a node's name, endpoint and host have 1 to " + std::to_string(name_bytes_max) +
                      " bytes of text without control characters, not " + in_quotes(name));
  }
  if (bad_name(request.rack)) {
    return failed(ErrorCode::invalid_params,
                  "a node's rack has at most " + std::to_string(name_bytes_max) +
                      " bytes of text without control characters, not " + in_quotes(request.rack));
  }
  Bytes left = node_bytes_max;
  for (const RegisterNode::Segment& segment : request.segments) {
    if (!segment.id || segment.size == 0_B || bad_name(segment.name)) {
      return failed(ErrorCode::invalid_params,
                    "a segment needs an id and a size, and a name of at most " +
                        std::to_string(name_bytes_max) +
                        " bytes of text without control characters, not " +
                        in_quotes(segment.name));
    }
    if (segment.size > left) {
      return failed(ErrorCode::invalid_params, "the segments of node " + in_quotes(request.name) +
                                                   " have more than " +
                                                   exact_size_text(node_bytes_max));
    }
    left -= segment.size;
    const std::optional<SegmentIndex> known = find_segment(segment.id);
    if (!known) continue;
    const SegmentDescription& description = segments_[*known]->description;
    if (description.incarnation != request.incarnation || description.size != segment.size ||
        description.endpoint != request.endpoint) {
      return failed(
          ErrorCode::segment_already_exists,
          "segment " + to_string(segment.id) + " is known with another owner, size or endpoint");
    }
  }
  return {};
}

// Another incarnation under the same name: a restart, or a mistake.
Status Master::State::make_way_for(Step& step, const RegisterNode& request) {
  for (const auto& other : nodes_) {
    if (other == nullptr || other->state == NodeState::lost || other->name != request.name) {
      continue;
    }
    if (other->connected && other->state != NodeState::hidden) {
      const auto heard =
          std::chrono::duration_cast<std::chrono::milliseconds>(step.now - other->last_heard);
      return failed(ErrorCode::segment_already_exists,
                    "a node named '" + other->name + "' is in the pool already (heard of " +
                        std::to_string(heard.count()) +
                        " ms ago): give this one another name, or stop that one");
    }
    lose(step, *other, "another incarnation came under its name");
    break;
  }
  return {};
}

NodeRecord& Master::State::add_node(Step& step, const RegisterNode& request) {
  auto vacant = std::ranges::find_if(nodes_, is_vacant);
  if (vacant == nodes_.end()) vacant = nodes_.insert(nodes_.end(), nullptr);
  *vacant = std::make_unique<NodeRecord>();
  NodeRecord& node = **vacant;
  node.index = static_cast<NodeIndex>(vacant - nodes_.begin());
  node.incarnation = request.incarnation;
  node.name = request.name;
  node.endpoint = request.endpoint;
  node.host = request.host;
  node.rack = request.rack;
  node_index_.emplace(node.incarnation, node.index);
  // Nobody waits for the report of an earlier life of it.
  std::erase_if(awaited_, [&](const auto& known) {
    return known.second == node.name && known.first != node.incarnation;
  });
  step.effects.records.emplace_back(NodeKnown{node.incarnation, node.name});
  return node;
}

void Master::State::add_segments(NodeRecord& node, const RegisterNode& request) {
  for (const RegisterNode::Segment& offered : request.segments) {
    if (find_segment(offered.id)) continue;
    auto vacant = std::ranges::find_if(segments_, is_vacant);
    if (vacant == segments_.end()) vacant = segments_.insert(segments_.end(), nullptr);
    const auto index = static_cast<SegmentIndex>(vacant - segments_.begin());
    *vacant = std::make_unique<Segment>(Segment{.description = {.id = offered.id,
                                                                .incarnation = node.incarnation,
                                                                .name = std::string(offered.name),
                                                                .kind = offered.kind,
                                                                .size = offered.size,
                                                                .numa_node = offered.numa_node,
                                                                .node = node.name,
                                                                .endpoint = node.endpoint,
                                                                .host = node.host,
                                                                .rack = node.rack},
                                                .node = node.index,
                                                .space = Space(offered.size)});
    segment_index_.emplace(offered.id, index);
    node.segments.push_back(index);
  }
}

// For people: of a node that has just registered.
std::string Master::State::why_it_reports(const NodeRecord& node, const RegisterNode& request,
                                          bool rejoins) const {
  const bool was_taken_in = request.taken_epoch != Epoch{};
  if (node.retires_everything && was_taken_in) {
    return "it missed a recovery, after which removals were acknowledged: what it held is removed";
  }
  if (rejoins) return "it came back on a new connection";
  if (!was_taken_in) return "it is new";
  if (node.of_another_directory) return "a master of another state directory led it until now";
  return "it is back from before this master";
}

Result<NodeRegistered> Master::State::register_node(Step& step, const RegisterNode& request) {
  if (lost_.contains(request.incarnation)) {
    return failed(ErrorCode::node_lost, "incarnation " + to_string(request.incarnation) +
                                            " of node " + in_quotes(request.name) +
                                            " was given up");
  }
  LARDER_CHECK(check_registration(request));
  NodeRecord* node = find_node(request.incarnation);
  if (node != nullptr && request.registration <= node->registration) {
    return failed(ErrorCode::invalid_params, "registration " +
                                                 std::to_string(request.registration) + " after " +
                                                 std::to_string(node->registration));
  }
  const bool rejoins = node != nullptr;
  if (!rejoins) {
    if (node_index_.size() >= config_.nodes_max) {
      return failed(ErrorCode::busy,
                    "there are " + std::to_string(node_index_.size()) + " nodes already");
    }
    LARDER_CHECK(make_way_for(step, request));
    node = &add_node(step, request);
  }
  // A later master than any of this directory has taken it in, and none of this directory ever did.
  node->of_another_directory =
      durable_ && !directory_known_.contains(request.incarnation) &&
      (request.taken_epoch > directory_epoch_ || directory_epoch_ == Epoch{});
  // What it held when it was last taken in is known here, and so is what was removed since.
  node->retires_everything = durable_ && request.taken_epoch < recovered_epoch_ &&
                             !node->in_books && !node->of_another_directory;
  set_shown(*node, false);
  set_state(step, *node, NodeState::reporting, why_it_reports(*node, request, rejoins));
  node->registration = request.registration;
  node->connected = true;
  node->disconnected_at = time_never;
  node->reported = false;
  node->reconciled = !rejoins;
  node->next_part = 0;
  node->show_after = not_yet;
  node->last_heard = step.now;
  add_segments(*node, request);
  arm(*node, next_check(*node));
  return NodeRegistered{.epoch = identity_.epoch,
                        .instance = identity_.instance,
                        .heartbeat = config_.timing.heartbeat,
                        .retire_everything = node->retires_everything,
                        .lowest_unfinished = lowest_unfinished()};
}

void Master::State::handle(Step& step, Caller caller, const Heartbeat& request) {
  const Result<NodeRecord*> known = known_node(request.incarnation, request.registration);
  if (!known) {
    step.effects.answers.answer(caller.ticket, 0, std::unexpected(known.error()));
    return;
  }
  NodeRecord& node = **known;
  node.fill_queue = request.fill_queue;
  node.overlaps = request.overlaps;
  node.stages.merge(request.stages);
  hear(step, node);
  step.effects.answers.answer(caller.ticket, 0, Done{});
}

void Master::State::handle(Step& step, Caller caller, const UnregisterNode& request) {
  const Result<NodeRecord*> known = known_node(request.incarnation, request.registration);
  if (!known) {
    step.effects.answers.answer(caller.ticket, 0, std::unexpected(known.error()));
    return;
  }
  lose(step, **known, "its process ended");
  step.effects.answers.answer(caller.ticket, 0, Done{});
}

void Master::State::node_disconnected(Time now, IncarnationId incarnation,
                                      std::uint64_t registration) {
  enter(now);
  NodeRecord* node = find_node(incarnation);
  if (node == nullptr || node->registration != registration) return;
  node->connected = false;
  node->disconnected_at = now;
  arm(*node, next_check(*node));
}

// It is alive. If it was hidden, it is shown again as soon as what was taken out of use before now
// is retired.
void Master::State::hear(Step& step, NodeRecord& node) {
  node.last_heard = step.now;
  node.connected = true;
  node.disconnected_at = time_never;
  if (node.state == NodeState::hidden && node.reported && node.show_after == not_yet) {
    node.show_after = quarantine_sequence_ + 1;
    ask_again(step, node);
  }
  try_show(step, node);
}

void Master::State::hide(Step& step, NodeRecord& node, std::string why) {
  set_shown(node, false);
  set_state(step, node, NodeState::hidden, std::move(why));
  node.show_after = not_yet;
}

void Master::State::try_show(Step& step, NodeRecord& node) {
  if (node.state == NodeState::shown || node.state == NodeState::lost) return;
  if (!node.reported || !node.reconciled || node.show_after == not_yet) return;
  if (!node.quarantine.empty() && node.quarantine.front().sequence < node.show_after) return;
  // Only now may the node remember that it was taken in: nothing that it should have retired is
  // left.
  step.effects.commands.push_back({.incarnation = node.incarnation,
                                   .epoch = identity_.epoch,
                                   .instance = identity_.instance,
                                   .lowest_unfinished = lowest_unfinished(),
                                   .body = InventoryTaken{node.registration}});
  set_state(step, node, NodeState::shown, "what it holds is known");
  node.retires_everything = false;
  set_shown(node, true);
  arm(node, next_check(node));
  serve_waiting(step);
}

void Master::State::set_state(Step& step, NodeRecord& node, NodeState state, std::string why) {
  using Kind = NodeEvent::Kind;
  constexpr std::array kinds{Kind::registered, Kind::shown, Kind::hidden, Kind::lost};
  node.state = state;
  tell_of(step, node, kinds[static_cast<std::size_t>(state)], std::move(why));
}

void Master::State::tell_of(Step& step, NodeRecord& node, NodeEvent::Kind kind, std::string why) {
  node.state_since = step.now;
  step.effects.node_events.push_back(
      {.kind = kind, .name = node.name, .endpoint = node.endpoint, .why = std::move(why)});
}

void Master::State::set_shown(NodeRecord& node, bool shown) {
  for (const SegmentIndex index : node.segments) {
    Segment& segment = *segments_[index];
    if (segment.shown == shown) continue;
    segment.shown = shown;
    std::vector<SegmentIndex>& on_host = shown_on_host_[segment.description.host];
    if (shown) {
      shown_.push_back(index);
      on_host.push_back(index);
      shown_capacity_ += segment.space.capacity();
    } else {
      std::erase(shown_, index);
      std::erase(on_host, index);
      if (on_host.empty()) shown_on_host_.erase(segment.description.host);
      shown_capacity_ -= segment.space.capacity();
    }
  }
}

// It will never come back: what only it had is gone, and nobody waits for its retirements.
void Master::State::lose(Step& step, NodeRecord& node, std::string why) {
  if (lost_nodes_.size() == lost_nodes_max) lost_nodes_.pop_back();
  lost_nodes_.push_front({.incarnation = node.incarnation,
                          .name = node.name,
                          .endpoint = node.endpoint,
                          .why = why,
                          .at = step.now});
  step.effects.records.emplace_back(NodeLost{node.incarnation});
  lost_.insert(node.incarnation);
  awaited_.erase(node.incarnation);
  set_shown(node, false);
  while (!node.quarantine.empty()) {
    end_quarantine(step, node.quarantine.front(), ReplicaEvent::node_lost);
  }
  set_state(step, node, NodeState::lost, std::move(why));
  node.to_retire.clear();
  node.to_verify.clear();
  if (node.armed != time_never) node_checks_.disarm(node.armed, node.index);
  node.armed = time_never;
  node_index_.erase(node.incarnation);
  for (const SegmentIndex index : node.segments) {
    segment_index_.erase(segments_[index]->description.id);
  }
  sweeps_.push_back({node.index, node.incarnation, node.registration, 0});
  answer_quiesce(step);
}

void Master::State::arm(NodeRecord& node, Time time) {
  if (node.state == NodeState::lost || time >= node.armed) return;
  if (node.armed != time_never) node_checks_.disarm(node.armed, node.index);
  node.armed = time;
  node_checks_.arm(time, node.index);
}

Time Master::State::next_check(const NodeRecord& node) const {
  const Timing& timing = config_.timing;
  Time next = node.last_heard + timing.node_lost;
  if (node.state != NodeState::hidden) {
    next = std::min(next, node.last_heard + timing.hidden_after_silence);
    if (node.disconnected_at != time_never) {
      next = std::min(next, node.disconnected_at + timing.hidden_after_disconnect);
    }
  }
  if (!node.quarantine.empty()) next = std::min(next, node.asked_at + timing.retirement_retry);
  return next;
}

void Master::State::check_node(Step& step, NodeIndex index) {
  NodeRecord& node = *nodes_[index];
  node.armed = time_never;
  const Timing& timing = config_.timing;
  const bool silent = step.now >= node.last_heard + timing.hidden_after_silence;
  const bool away = node.disconnected_at != time_never &&
                    step.now >= node.disconnected_at + timing.hidden_after_disconnect;
  const auto since = [&](Time time) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(step.now - time);
    return std::to_string(ms.count()) + " ms";
  };
  if (node.state != NodeState::hidden && (silent || away)) {
    hide(step, node,
         away ? "its connection ended " + since(node.disconnected_at) + " ago"
              : "it has been silent for " + since(node.last_heard));
  }
  if (step.now >= node.last_heard + timing.node_lost) {
    lose(step, node, "it has been silent for " + since(node.last_heard));
    return;
  }
  const bool was_sick = std::exchange(node.sick, false);
  if (!node.quarantine.empty()) {
    const Quarantined& oldest = node.quarantine.front();
    const bool held = step.now < oldest.held_until;
    const Duration age = step.now - oldest.since;
    if (!held && age >= timing.retirement_lost) {
      lose(step, node, "it has not confirmed a retirement for " + since(oldest.since));
      return;
    }
    node.sick = !held && age >= timing.retirement_sick;
    if (node.sick && !was_sick && node.state == NodeState::shown) {
      tell_of(step, node, NodeEvent::Kind::sick,
              "it has not confirmed a retirement for " + since(oldest.since));
    }
    if (node.sick && !was_sick) eviction_blocked_ = false;  // others go instead
    if (step.now >= node.asked_at + timing.retirement_retry) ask_again(step, node);
  }
  if (was_sick && !node.sick && node.state == NodeState::shown) {
    tell_of(step, node, NodeEvent::Kind::well, "it confirms retirements again");
  }
  arm(node, next_check(node));
}

// One bounded piece of a walk over all objects, for what a node no longer has.
void Master::State::sweep(Step& step) {
  constexpr std::uint32_t slots_per_step = 2048;
  if (sweeps_.empty()) return;
  Sweep& current = sweeps_.front();
  NodeRecord* node = nodes_[current.node].get();
  const bool valid = node != nullptr && node->incarnation == current.incarnation &&
                     (node->state == NodeState::lost || node->registration == current.registration);
  const std::uint32_t end = std::min(catalog_.slots(), current.next_slot + slots_per_step);
  if (valid) {
    for (; current.next_slot < end; ++current.next_slot) {
      if (Object* object = catalog_.at(current.next_slot)) sweep_object(step, *object, *node);
    }
    if (current.next_slot < catalog_.slots()) return;
  }
  sweeps_.pop_front();
  if (!valid) return;
  if (node->state == NodeState::lost) {
    if (LostNode* lost = find_lost(node->incarnation)) lost->cleared = true;
    drop_node(*node);
  } else {
    node->reconciled = true;
    try_show(step, *node);
  }
}

void Master::State::sweep_object(Step& step, Object& object, const NodeRecord& node) {
  for (std::size_t i = 0; i < object.replicas.size();) {
    Replica& replica = object.replicas[i];
    if (replica.segment == no_segment || segments_[replica.segment]->node != node.index) {
      ++i;
      continue;
    }
    if (node.state == NodeState::lost) {
      replica.advance(ReplicaEvent::node_lost);
      if (object.unfinished()) {
        Put& put = put_of(object);
        const Bytes length = segments_[replica.segment]->space.range(replica.extent).length;
        charge(*put.session, put, put.charged - length);
        granted_bytes_ -= length;
        replica = Replica{.state = ReplicaState::gone};  // its place in the grant stays
        ++i;
      } else if (object.replicas.size() > 1) {
        catalog_.drop_replica(object, i,
                              segments_[replica.segment]->space.range(replica.extent).length);
      } else {
        note_event(step, ObjectEvent::Kind::lost, object);
        LostNode* lost = find_lost(node.incarnation);
        if (lost != nullptr) ++lost->objects, lost->bytes += object.size;
        ++gone_[Gone::lost];
        catalog_.erase(object);
        return;
      }
    } else if (!object.unfinished() &&
               replica.confirmed_by != static_cast<std::uint16_t>(node.registration)) {
      const bool last = object.replicas.size() == 1;
      remove_replica(step, object, replica, Gone::bad);
      if (last) return;
    } else {
      ++i;
    }
  }
}

LostNode* Master::State::find_lost(IncarnationId incarnation) {
  const auto found = std::ranges::find(lost_nodes_, incarnation, &LostNode::incarnation);
  return found == lost_nodes_.end() ? nullptr : &*found;
}

void Master::State::drop_node(NodeRecord& node) {
  for (const SegmentIndex index : node.segments) segments_[index].reset();
  nodes_[node.index].reset();
}

}  // namespace larder
