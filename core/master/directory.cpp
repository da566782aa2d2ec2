#include <algorithm>

#include "core/base/assert.h"
#include "core/master/state.h"
#include "core/pattern/pattern.h"

// What people and tools see of the directory. None of it is a use of an object.

namespace larder {
namespace {

// What one call may look at, so that nobody waits long for it: places of the directory, and bytes
// of keys that the pattern is held against or that go into the page.
constexpr std::uint32_t slots_per_page = 4096;
constexpr std::size_t key_bytes_per_page = std::size_t{256} << 10;
constexpr std::uint32_t items_per_page = 4096;

Duration left(Time until, Time now) {
  return until > now && until != time_never ? until - now : Duration(0);
}

}  // namespace

void Master::State::handle(Step& step, Caller caller, const ListObjects& request) {
  Session* session = session_of(step, caller);
  if (session == nullptr) return;
  Result<ObjectPage> page = list(step.now, session->tenant, request);
  if (page) {
    step.effects.answers.answer(caller.ticket, 0, *std::move(page));
  } else {
    step.effects.answers.answer(caller.ticket, 0, std::unexpected(std::move(page).error()));
  }
}

Result<ObjectPage> Master::State::list(Time now, TenantId tenant,
                                       const ListObjects& request) const {
  LARDER_CHECK(recovered());
  std::optional<Pattern> pattern;
  if (!request.pattern.empty()) {
    LARDER_TRY(pattern, Pattern::make(request.pattern));
  }
  ListCursor cursor = request.cursor;
  if (cursor == ListCursor{}) {
    cursor = {.epoch = identity_.epoch, .next = 0, .end = catalog_.slots()};
  }
  if (cursor.epoch != identity_.epoch || cursor.end > catalog_.slots()) {
    return failed(ErrorCode::invalid_params,
                  "the walk began at a master of epoch " + std::to_string(cursor.epoch.value) +
                      ", this one has epoch " + std::to_string(identity_.epoch.value) +
                      ": begin the walk again");
  }
  const std::uint32_t limit =
      request.limit == 0 ? items_per_page : std::min(request.limit, items_per_page);
  ObjectPage page;
  std::size_t key_bytes = 0;
  std::uint32_t looked_at = 0;
  for (; cursor.next < cursor.end; ++cursor.next) {
    if (looked_at++ == slots_per_page || key_bytes >= key_bytes_per_page ||
        page.items.size() == limit) {
      break;
    }
    const Object* object = catalog_.at(cursor.next);
    if (object == nullptr || object->unfinished() || object->tenant != tenant ||
        catalog_.expires(*object) <= now || !object->key().starts_with(request.prefix)) {
      continue;
    }
    key_bytes += object->key().size();
    if (!pattern || pattern->matches(object->key())) {
      page.items.push_back(page_item(now, *object));
    }
  }
  if (cursor.next < cursor.end) page.next = cursor;
  return page;
}

std::string Master::State::group_name(const Object& object) const {
  const Group* const group = catalog_.group(object);
  return group == nullptr ? std::string() : group->name;
}

// Of one that an earlier master took in: when this one began.
Time Master::State::began(const Object& object) const {
  return object.put_id.epoch == identity_.epoch ? put_times_.began(object.put_id.counter, started_)
                                                : started_;
}

ObjectPage::Item Master::State::page_item(Time now, const Object& object) const {
  return {.key = std::string(object.key()),
          .size = object.size,
          .replicas = static_cast<std::uint32_t>(object.replicas.size()),
          .readable = static_cast<std::uint32_t>(locations(object).size()),
          .group = group_name(object),
          .age = now - began(object),
          .hard_pin = object.hard_pin,
          .soft_pin = catalog_.soft_pin_end(object) > now};
}

void Master::State::handle(Step& step, Caller caller, const DescribeObjects& request) {
  Session* session = session_of(step, caller);
  if (session == nullptr) return;
  for (std::uint32_t i = caller.first; i < caller.end; ++i) {
    const auto look = [&]() -> Answer {
      LARDER_CHECK(check_key(request.items[i].key));
      ObjectDetails found = details(step.now, Catalog::name(session->tenant, request.items[i].key));
      if (found.versions.empty()) return failed(ErrorCode::object_not_found);
      return found;
    };
    step.effects.answers.answer(caller.ticket, i, look());
  }
}

ObjectDetails Master::State::details(Time now, const Catalog::Name& key) const {
  const Catalog::Versions versions = catalog_.find(key);
  ObjectDetails details;
  if (versions.current != nullptr && catalog_.expires(*versions.current) > now) {
    details.versions.push_back(complete_version(now, *versions.current));
  }
  if (versions.unfinished != nullptr) {
    details.versions.push_back(unfinished_version(now, *versions.unfinished));
  }
  return details;
}

ObjectDetails Master::State::describe(Time now, std::string_view tenant,
                                      std::string_view key) const {
  const std::optional<TenantId> id = catalog_.find_tenant(tenant);
  return id ? details(now, Catalog::name(*id, key)) : ObjectDetails{};
}

std::optional<Master::Who> Master::State::session(SessionId id) const {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return std::nullopt;
  return Who{catalog_.tenant_name(found->second->tenant), found->second->client};
}

const SegmentDescription* Master::State::segment(SegmentId id) const {
  const std::optional<SegmentIndex> index = find_segment(id);
  return index ? &segments_[*index]->description : nullptr;
}

ObjectDetails::Version Master::State::any_version(const Object& object) const {
  ObjectDetails::Version version{.put_id = object.put_id,
                                 .size = object.size,
                                 .group = group_name(object),
                                 .hard_pin = object.hard_pin};
  if (object.has_checksum) version.checksum = object.checksum;
  for (const Replica& replica : object.replicas) {
    ObjectDetails::Replica& entry = version.replicas.emplace_back();
    entry.state = to_string(replica.state);
    if (replica.segment == no_segment) continue;  // its node was lost
    const Segment& segment = *segments_[replica.segment];
    entry.segment = segment.description.id;
    entry.offset = replica.offset;
    entry.segment_name = segment.description.name;
    entry.node = segment.description.node;
    entry.node_state = state_name(*nodes_[segment.node]);
    entry.endpoint = segment.description.endpoint;
  }
  return version;
}

ObjectDetails::Version Master::State::complete_version(Time now, const Object& object) const {
  ObjectDetails::Version version = any_version(object);
  version.state = "complete";
  if (const Unit* parent = catalog_.parent(object)) {
    version.parent = parent->is_group ? static_cast<const Group*>(parent)->name
                                      : static_cast<const Object*>(parent)->key();
  }
  const Lease& lease = catalog_.unit(object).lease;
  version.soft_pin = left(catalog_.soft_pin_end(object), now);
  version.time_to_live = left(catalog_.expires(object), now);
  version.lease = lease.left(now);
  version.age = now - began(object);
  // The lease tells of the last get without a byte more for each object.
  const bool was_got = lease.end != Time::min();
  const Time last_got = was_got ? lease.end - config_.timing.lease : began(object);
  version.idle = std::clamp(now - last_got, Duration(0), version.age);
  return version;
}

ObjectDetails::Version Master::State::unfinished_version(Time now, const Object& object) const {
  ObjectDetails::Version version = any_version(object);
  const Put& put = *puts_.at(object.put);
  version.state = put.waiting ? "waiting for space" : "unfinished";
  if (put.wishes != nullptr) {
    version.parent = put.wishes->parent;
    version.soft_pin = put.wishes->soft_pin;
    version.time_to_live = put.wishes->time_to_live;
  }
  version.time_left = left(put.deadline, now);
  version.writer = put.session->client;
  return version;
}

}  // namespace larder
