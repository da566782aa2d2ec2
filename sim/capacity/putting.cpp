#include <algorithm>
#include <utility>

#include "core/base/assert.h"
#include "sim/capacity/operations.h"
#include "sim/capacity/page_names.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t no_node = ~std::uint32_t{0};

}  // namespace

CapacityPool::Putting::Putting(CapacityPool& pool)
    : pool_(pool), start_(pool, *this, true), end_(pool, *this, false) {}

void CapacityPool::Putting::begin(ClientSession& session, PartId from,
                                  std::span<const PoolPage> pages, Put& client) {
  session_ = &session;
  client_ = &client;
  from_ = from;
  given_up_ = false;
  const std::size_t objects = pool_.config_.objects.size();
  list_.assign(pool_.book_, pages, objects);
  if (pool_.call_watcher_ != nullptr) pool_.call_watcher_->put(list_.numbers());
  pages_.assign(pages.size(), {});
  parents_.clear();
  parents_.reserve(pages.size() * object_key_bytes);
  for (const PoolPage& page : pages) append_object_key(parents_, page.parent, 0);
  auto* start = std::get_if<PutStart>(&start_.request.body);
  if (start == nullptr) start = &start_.request.body.emplace<PutStart>();
  start->items.resize(list_.objects());
  for (std::size_t page = 0; page < pages.size(); ++page) {
    const PageNumber number = list_[page];
    pages_[page].ours = !pool_.book_.under_way(number);
    if (pages_[page].ours) pool_.book_.set_under_way(number, true);
    const std::string_view parent =
        std::string_view(parents_).substr(page * object_key_bytes, object_key_bytes);
    const bool first = pages[page].parent == pages[page].id;
    for (std::size_t i = 0; i < objects; ++i) {
      PutStart::Item& item = start->items[page * objects + i];
      item.key = list_.key(page * objects + i);
      item.size = pool_.config_.objects[i];
      item.replicas = pool_.config_.replicas;
      item.group = group_name(item.key, objects);
      item.parent = first ? std::string_view() : parent_name(parent, objects);
    }
  }
  pool_.puts_.asked += pages.size();
  send_start();
}

void CapacityPool::Putting::send_start() {
  forget_answers();
  session_->send(start_);
}

void CapacityPool::Putting::forget_answers() {
  granted_.clear();
  nodes_.clear();
  for (Page& page : pages_) page = {.ours = page.ours, .concluded = page.concluded};
}

// At the master's instant.
void CapacityPool::Putting::started(std::uint32_t index, const Answer& answer) {
  const std::size_t objects = pool_.config_.objects.size();
  Page& page = pages_[index / objects];
  ++page.answered;
  if (const auto* grant = answer ? std::get_if<PutGrant>(&*answer) : nullptr) {
    ++page.granted;
    granted_.push_back({.object = index, .put_id = grant->put_id});
    if (pool_.fabric_ != nullptr) {
      for (const ReplicaLocation& location : grant->replicas) {
        nodes_.push_back(pool_.node_of(location.segment)->place().number);
      }
      nodes_.resize(granted_.size() * pool_.config_.replicas, no_node);
    } else {
      granted_.back().sealed = (1u << grant->replicas.size()) - 1;
    }
  } else {
    switch (answer.error().code()) {
      case ErrorCode::object_already_exists:
        ++page.stored;
        break;
      case ErrorCode::put_in_flight:
        page.outcome = Outcome::elsewhere;
        break;
      case ErrorCode::no_available_handle:
        page.outcome = pool_.fragmented(pool_.config_.objects[index % objects])
                           ? Outcome::fragmented
                           : Outcome::refused;
        break;
      default:
        page.outcome = Outcome::failed;
    }
  }
  if (page.answered == objects && page.granted == 0) conclude(index / objects);
}

void CapacityPool::Putting::start_ended() {
  if (granted_.empty()) return finish();
  if (given_up_) {
    for (Granted& granted : granted_) granted.sealed = 0;
  }
  if (given_up_ || pool_.fabric_ == nullptr) return send_end();
  by_node_.resize(pool_.nodes_.size());
  const std::size_t replicas = pool_.config_.replicas;
  for (std::uint32_t number = 0; number < granted_.size(); ++number) {
    fill(granted_[number], number, std::span(nodes_).subspan(number * replicas, replicas));
  }
  // All of them are in the list before the first one starts.
  for (Transfer* transfer : transfers_) by_node_[transfer->node->place().number] = nullptr;
  for (Transfer* transfer : transfers_) transfer->start();
}

// A transfer's objects are places in granted_ here.
void CapacityPool::Putting::fill(const Granted& granted, std::uint32_t number,
                                 std::span<const std::uint32_t> nodes) {
  for (const std::uint32_t node : nodes) {
    if (node == no_node) break;
    Transfer*& transfer = by_node_[node];
    if (transfer == nullptr) {
      transfer = &pool_.take_transfer();
      transfer->owner = this;
      transfer->node = pool_.nodes_[node].get();
      transfer->engine = session_;
      transfer->engine_memory = from_;
      transfer->kind = Transfer::Kind::fill;
      transfers_.push_back(transfer);
    }
    transfer->objects.push_back(number);
    transfer->bytes += pool_.config_.objects[granted.object % pool_.config_.objects.size()];
  }
}

void CapacityPool::Putting::transferred(Transfer& transfer, bool whole) {
  const std::size_t replicas = pool_.config_.replicas;
  const std::uint32_t node = transfer.node->place().number;
  if (whole && transfer.node->reachable()) {
    pool_.bytes_put_ += transfer.bytes;
    for (const std::uint32_t number : transfer.objects) {
      const auto nodes = std::span(nodes_).subspan(number * replicas, replicas);
      granted_[number].sealed |= 1u << (std::ranges::find(nodes, node) - nodes.begin());
    }
  }
  std::erase(transfers_, &transfer);
  pool_.release(transfer);
  if (transfers_.empty()) send_end();
}

void CapacityPool::Putting::send_end() {
  auto* end = std::get_if<PutEnd>(&end_.request.body);
  if (end == nullptr) end = &end_.request.body.emplace<PutEnd>();
  end->items.resize(granted_.size());
  for (std::size_t i = 0; i < granted_.size(); ++i) {
    end->items[i] = {.key = list_.key(granted_[i].object),
                     .put_id = granted_[i].put_id,
                     .sealed = granted_[i].sealed,
                     .checksum = std::nullopt};
  }
  session_->send(end_);
}

// At the master's instant.
void CapacityPool::Putting::published(std::uint32_t index, const Answer& answer) {
  const std::size_t number = granted_[index].object / pool_.config_.objects.size();
  Page& page = pages_[number];
  --page.granted;
  if (answer) {
    ++page.stored;
    page.new_objects = true;
  } else if (page.outcome == Outcome::none) {
    const bool gone = !given_up_ && answer.error().code() == ErrorCode::replica_is_gone;
    page.outcome = gone ? Outcome::gone : Outcome::failed;
  }
  if (page.granted == 0) conclude(number);
}

// What becomes of the page is clear.
void CapacityPool::Putting::conclude(std::size_t number) {
  Page& page = pages_[number];
  if (std::exchange(page.concluded, true)) return;
  PutCounts& counts = pool_.puts_;
  const bool stored = page.stored == pool_.config_.objects.size();
  std::optional<PageBook::Fate> fate;
  if (stored) {
    ++(page.new_objects ? counts.stored : counts.there);
    fate = PageBook::Fate::stored;
  } else if (page.outcome == Outcome::elsewhere) {
    ++counts.there;
  } else if (page.outcome == Outcome::refused) {
    ++counts.refused;
    fate = PageBook::Fate::refused;
  } else if (page.outcome == Outcome::fragmented) {
    ++counts.fragmented;
    fate = PageBook::Fate::fragmented;
  } else {
    ++counts.given_up;
    if (page.outcome == Outcome::gone) fate = PageBook::Fate::lost;
  }
  if (!page.ours) return;
  pool_.book_.set_under_way(list_[number], false);
  if (fate) pool_.book_.set_fate(list_[number], *fate);
}

void CapacityPool::Putting::fail() {
  for (Page& page : pages_) {
    if (!page.concluded) page.outcome = Outcome::failed;
  }
  finish();
}

void CapacityPool::Putting::finish() {
  for (std::size_t page = 0; page < pages_.size(); ++page) conclude(page);
  session_ = nullptr;
  Put* const client = std::exchange(client_, nullptr);
  pool_.putting_.free.push_back(this);
  if (client != nullptr) client->ended();
}

void CapacityPool::Putting::give_up() {
  client_ = nullptr;
  given_up_ = true;
  if (transfers_.empty()) return;  // a call is under way; what it was granted ends unsealed
  for (Transfer* transfer : transfers_) pool_.release(*transfer);
  transfers_.clear();
  send_end();
}

void CapacityPool::Putting::master_lost() {
  if (start_.under_way() && !start_.returning()) return;  // it will be asked again
  if (end_.under_way()) {
    if (end_.returning()) return;
    pool_.server_.recall(end_);
    session_->ended(end_);
  } else if (start_.under_way()) {
    pool_.server_.lose_answers(start_);
    session_->ended(start_);
  }
  for (Transfer* transfer : transfers_) pool_.release(*transfer);
  transfers_.clear();
  send_start();
}

}  // namespace larder::sim
