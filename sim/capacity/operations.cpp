#include "sim/capacity/operations.h"

#include <algorithm>

#include <array>
#include <optional>
#include <utility>

#include "core/base/hash.h"
#include "core/client/rules.h"
#include "sim/capacity/page_names.h"

namespace larder::sim {

void PageList::assign(PageBook& book, std::span<const PoolPage> pages,
                      std::size_t objects_of_page) {
  static_assert(object_bytes == object_key_bytes);
  objects_of_page_ = objects_of_page;
  pages_.clear();
  keys_.clear();
  for (const PoolPage& page : pages) {
    pages_.push_back(book.number(page));
    for (std::size_t object = 0; object < objects_of_page; ++object) {
      append_object_key(keys_, page.id, static_cast<std::uint8_t>(object));
    }
  }
}

template <class Call>
void PageList::fill(RequestBody& body) const {
  auto* call = std::get_if<Call>(&body);
  if (call == nullptr) call = &body.emplace<Call>();
  call->items.resize(objects());
  for (std::size_t object = 0; object < objects(); ++object) call->items[object].key = key(object);
}

template void PageList::fill<GetReplicaList>(RequestBody& body) const;
template void PageList::fill<Exists>(RequestBody& body) const;

// ---- asking -------------------------------------------------------------------------------------

void CapacityPool::Asking::begin(ClientSession& session, std::span<const PoolPage> pages,
                                 Lookup& client) {
  session_ = &session;
  client_ = &client;
  list_.assign(pool_.book_, pages, pool_.config_.objects.size());
  if (pool_.call_watcher_ != nullptr) noted_ = pool_.call_watcher_->asked(list_.numbers());
  states_.assign(pages.size(), there);
  list_.fill<Exists>(request.body);
  session.send(*this);
}

void CapacityPool::Asking::answered(std::uint32_t index, const Answer& answer) {
  const auto* existence = answer ? std::get_if<Existence>(&*answer) : nullptr;
  if (existence != nullptr && existence->exists) return;
  const std::size_t page = index / pool_.config_.objects.size();
  if (states_[page] == there) {
    states_[page] = static_cast<PageState>(pool_.reason(list_[page], Told::not_there));
  }
}

void CapacityPool::Asking::ended() {
  session_->ended(*this);
  tell();
}

void CapacityPool::Asking::failed() {
  session_->ended(*this);
  for (std::size_t page = 0; page < list_.pages(); ++page) {
    states_[page] = static_cast<PageState>(pool_.reason(list_[page], Told::nothing));
  }
  tell();
}

void CapacityPool::Asking::tell() {
  Lookup* const client = std::exchange(client_, nullptr);
  const auto first = std::ranges::find_if(states_, [](PageState state) { return state != there; });
  const auto leading = static_cast<std::size_t>(first - states_.begin());
  const auto reason = first == states_.end() ? MissReason::cold : static_cast<MissReason>(*first);
  if (client != nullptr) {
    pool_.lookups_.asked += states_.size();
    pool_.lookups_.came += leading;
    if (pool_.call_watcher_ != nullptr) pool_.call_watcher_->answered(noted_, leading);
    for (std::size_t page = leading; page < states_.size(); ++page) {
      pool_.miss(pool_.lookups_, list_[page],
                 states_[page] == there ? MissReason::behind_a_miss
                                        : static_cast<MissReason>(states_[page]));
    }
  }
  pool_.asking_.free.push_back(this);
  if (client != nullptr) client->found(leading, reason);
}

// ---- reading ------------------------------------------------------------------------------------

void CapacityPool::Reading::begin(ClientSession& session, PartId into,
                                  std::span<const PoolPage> pages, Read& client) {
  ++life_;
  session_ = &session;
  client_ = &client;
  into_ = into;
  list_.assign(pool_.book_, pages, pool_.config_.objects.size());
  left_.assign(pages.size(), static_cast<std::uint8_t>(pool_.config_.objects.size()));
  forget_answers();
  objects_.clear();
  limit_ = next_ = arrived_ = 0;
  list_.fill<GetReplicaList>(request.body);
  asked_ = pool_.server_.now();
  lease_over_ = time_never;
  session.send(*this);
}

void CapacityPool::Reading::forget_answers() {
  answered_all_ = false;
  states_.assign(list_.pages(), there);
  sources_.assign(pool_.fabric_ != nullptr ? list_.objects() * pool_.config_.replicas : 0, no_node);
  leases_.clear();
}

void CapacityPool::Reading::asked_again() { forget_answers(); }

void CapacityPool::Reading::answered(std::uint32_t index, const Answer& answer) {
  const auto* list = answer ? std::get_if<ReplicaList>(&*answer) : nullptr;
  if (list == nullptr) {
    const std::size_t page = index / pool_.config_.objects.size();
    if (states_[page] == there) {
      states_[page] = static_cast<PageState>(pool_.reason(list_[page], Told::not_there));
    }
    return;
  }
  leases_.push_back({.slot = list->lease.slot, .round = list->lease.round, .put_id = list->put_id});
  lease_over_ = std::min(lease_over_, lease_deadline(asked_, list->lease.duration));
  if (sources_.empty()) {
    const bool comes = std::ranges::any_of(list->replicas, [&](const ReplicaLocation& location) {
      return pool_.node_of(location.segment)->reachable();
    });
    PageState& state = states_[index / pool_.config_.objects.size()];
    if (!comes && state == there) state = static_cast<PageState>(MissReason::lost);
    return;
  }
  std::size_t place = std::size_t{index} * pool_.config_.replicas;
  for (const ReplicaLocation& location : list->replicas) {
    sources_[place++] = pool_.node_of(location.segment)->place().number;
  }
}

void CapacityPool::Reading::ended() {
  session_->ended(*this);
  answered_all_ = true;
  if (client_ == nullptr) return release();  // given up meanwhile
  const auto first = std::ranges::find_if(states_, [](PageState state) { return state != there; });
  limit_ = static_cast<std::size_t>(first - states_.begin());
  if (pool_.fabric_ == nullptr) return take_all();
  go_on();
}

// What was not answered is missing for what the book says; what is there came too late.
void CapacityPool::Reading::guess_states() {
  for (std::size_t page = 0; page < list_.pages(); ++page) {
    states_[page] = static_cast<PageState>(pool_.reason(list_[page], Told::nothing));
  }
}

void CapacityPool::Reading::failed() {
  session_->ended(*this);
  if (client_ == nullptr) return release();
  guess_states();
  finish();
}

// Without a fabric.
void CapacityPool::Reading::take_all() {
  const std::uint64_t life = life_;
  for (std::size_t page = 0; page < limit_; ++page) {
    left_[page] = 0;
    client_->arrived(page);
    if (life_ != life) return;
  }
  next_ = arrived_ = limit_;
  finish();
}

void CapacityPool::Reading::go_on() {
  const std::size_t batch = pool_.config_.batch_pages;
  const std::size_t most = batch * pool_.config_.batches_under_way;
  while (next_ < limit_ && next_ - arrived_ + std::min(batch, limit_ - next_) <= most) {
    start_batch();
  }
  if (transfers_.empty() && next_ >= limit_) finish();
}

void CapacityPool::Reading::start_batch() {
  const std::size_t objects = pool_.config_.objects.size();
  const std::size_t end = std::min(limit_, next_ + pool_.config_.batch_pages);
  while (next_ < end) {
    const std::size_t page = next_++;
    for (std::size_t i = 0; i < objects; ++i) {
      bring(static_cast<std::uint32_t>(page * objects + i));
    }
  }
  start_requested();
}

// A replica on the reader's own host, else any: readers are spread over them.
PoolNode* CapacityPool::Reading::choose(std::uint32_t object) const {
  const std::size_t replicas = pool_.config_.replicas;
  std::array<ReplicaCandidate, replicas_max> candidates;
  for (std::size_t i = 0; i < replicas; ++i) {
    const std::uint32_t node = sources_[object * replicas + i];
    candidates[i] = {
        .usable = node != no_node,
        .local = node != no_node && pool_.nodes_[node]->place().host == session_->host()};
  }
  const PageNumber page = list_[object / pool_.config_.objects.size()];
  const std::uint64_t spread =
      Digest().add(pool_.book_.id(page)).add(object).add(session_->host()).value();
  const auto chosen = choose_replica(std::span(candidates).first(replicas), spread);
  return chosen ? pool_.nodes_[sources_[object * replicas + *chosen]].get() : nullptr;
}

// Into the transfer of its node.
void CapacityPool::Reading::bring(std::uint32_t object) {
  PoolNode* const node = choose(object);
  const std::size_t objects = pool_.config_.objects.size();
  if (node == nullptr) {
    return lose(object / objects, pool_.all_reachable() ? MissReason::timed_out : MissReason::lost);
  }
  by_node_.resize(pool_.nodes_.size());
  Transfer*& transfer = by_node_[node->place().number];
  if (transfer == nullptr) {
    transfer = &pool_.take_transfer();
    transfer->owner = this;
    transfer->node = node;
    transfer->engine = session_;
    transfer->engine_memory = into_;
    transfer->kind = Transfer::Kind::read;
    requested_.push_back(transfer);
  }
  transfer->objects.push_back(object);
  transfer->bytes += pool_.config_.objects[object % objects];
}

void CapacityPool::Reading::start_requested() {
  for (Transfer* transfer : requested_) {
    by_node_[transfer->node->place().number] = nullptr;
    transfers_.push_back(transfer);
    transfer->start();
  }
  requested_.clear();
}

void CapacityPool::Reading::lose(std::size_t page, MissReason reason) {
  if (states_[page] != there) return;
  states_[page] = static_cast<PageState>(reason);
  limit_ = std::min(limit_, page);
  ++arrived_;
}

void CapacityPool::Reading::transferred(Transfer& transfer, bool whole) {
  std::erase(transfers_, &transfer);
  const std::uint32_t node = transfer.node->place().number;
  const bool reachable = transfer.node->reachable() && pool_.connected(into_);
  std::swap(objects_, transfer.objects);
  pool_.release(transfer);
  const std::size_t of_page = pool_.config_.objects.size();
  const std::size_t replicas = pool_.config_.replicas;
  // Who reads for longer than its lease does not know what it has read.
  const bool in_time = pool_.server_.now() < lease_over_;
  const std::uint64_t life = life_;
  for (const std::uint32_t object : objects_) {
    const std::size_t page = object / of_page;
    if (whole && in_time) {
      if (--left_[page] > 0 || states_[page] != there) continue;
      ++arrived_;
      client_->arrived(page);
      if (life_ != life) return;
    } else if (whole) {
      lose(page, MissReason::timed_out);
    } else {
      const auto sources = std::span(sources_).subspan(object * replicas, replicas);
      std::ranges::replace(sources, node, no_node);
      if (in_time && choose(object) != nullptr) {
        bring(object);
      } else {
        lose(page, reachable ? MissReason::timed_out : MissReason::lost);
      }
    }
  }
  objects_.clear();
  start_requested();
  go_on();
}

// Counts all pages. `otherwise`: the state of one that is there, behind none that is not, and has
// not arrived. Gives the reason of the first that is missing.
MissReason CapacityPool::Reading::settle(PageState otherwise) {
  PageCounts& counts = pool_.reads_;
  counts.asked += list_.pages();
  std::optional<MissReason> first;
  bool behind = false;
  for (std::size_t page = 0; page < list_.pages(); ++page) {
    if (left_[page] == 0 && states_[page] == there) {
      ++counts.came;
      pool_.bytes_read_ += pool_.page_bytes_;
      continue;
    }
    PageState state = states_[page];
    behind = behind || state != there;
    if (state == there) state = behind ? PageState(MissReason::behind_a_miss) : otherwise;
    const auto reason = static_cast<MissReason>(state);
    pool_.miss(counts, list_[page], reason);
    if (!first) first = reason;
  }
  return first.value_or(MissReason::cold);
}

void CapacityPool::Reading::release() {
  ++life_;
  for (const LeaseReturn& lease : leases_) session_->give_back(lease);
  leases_.clear();
  client_ = nullptr;
  pool_.reading_.free.push_back(this);
}

void CapacityPool::Reading::finish() {
  Read* const client = client_;
  const MissReason reason = settle(PageState(MissReason::timed_out));
  release();
  client->ended(reason);
}

void CapacityPool::Reading::give_up() {
  if (!answered_all_) guess_states();
  (void)settle(PageState(MissReason::timed_out));
  for (Transfer* transfer : transfers_) pool_.release(*transfer);
  transfers_.clear();
  for (Transfer* transfer : requested_) {
    by_node_[transfer->node->place().number] = nullptr;
    pool_.release(*transfer);
  }
  requested_.clear();
  // Leases that it will be given go back when they come.
  if (!answered_all_) {
    client_ = nullptr;
    ++life_;
    return;
  }
  release();
}

}  // namespace larder::sim
