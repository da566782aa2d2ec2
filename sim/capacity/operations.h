#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/capacity/capacity_pool.h"

// What CapacityPool does for its callers, each from begin() until it puts itself back on its shelf.

namespace larder::sim {

// Why a page is missing; `there` if it is not.
using PageState = std::uint8_t;
inline constexpr PageState there = 0xff;

// The pages of an operation, with the keys of their objects.
class PageList {
 public:
  // Enters the pages into the book.
  void assign(PageBook& book, std::span<const PoolPage> pages, std::size_t objects_of_page);
  std::size_t pages() const { return pages_.size(); }
  std::span<const PageNumber> numbers() const { return pages_; }
  PageNumber operator[](std::size_t index) const { return pages_[index]; }
  // Of all objects, page by page.
  std::size_t objects() const { return pages_.size() * objects_of_page_; }
  std::string_view key(std::size_t object) const {
    return std::string_view(keys_).substr(object * object_bytes, object_bytes);
  }
  // Items of a call, each of which is a key.
  template <class Call>
  void fill(RequestBody& body) const;

 private:
  static constexpr std::size_t object_bytes = 9;
  std::vector<PageNumber> pages_;
  std::string keys_;
  std::size_t objects_of_page_ = 1;
};

class CapacityPool::Asking final : public MasterCall {
 public:
  explicit Asking(CapacityPool& pool) : MasterCall(pool.server_), pool_(pool) {}
  void begin(ClientSession& session, std::span<const PoolPage> pages, Lookup& client);
  bool serves(const Lookup& client) const { return client_ == &client; }
  void give_up() { client_ = nullptr; }

 private:
  void answered(std::uint32_t index, const Answer& answer) override;
  void ended() override;
  void failed() override;
  void asked_again() override { states_.assign(list_.pages(), there); }
  void tell();

  CapacityPool& pool_;
  ClientSession* session_ = nullptr;
  Lookup* client_ = nullptr;
  PageList list_;
  std::vector<PageState> states_;
  bool noted_ = false;  // what the watcher of calls said
};

class CapacityPool::Reading final : public MasterCall, private Transfer::Owner {
 public:
  explicit Reading(CapacityPool& pool) : MasterCall(pool.server_), pool_(pool) {}
  void begin(ClientSession& session, PartId into, std::span<const PoolPage> pages, Read& client);
  bool serves(const Read& client) const { return client_ == &client; }
  void give_up();

 private:
  static constexpr std::uint32_t no_node = ~std::uint32_t{0};

  void answered(std::uint32_t index, const Answer& answer) override;
  void ended() override;
  void failed() override;
  void asked_again() override;
  void transferred(Transfer& transfer, bool whole) override;

  void forget_answers();
  void take_all();
  void go_on();
  void start_batch();
  void bring(std::uint32_t object);
  void start_requested();
  PoolNode* choose(std::uint32_t object) const;
  void lose(std::size_t page, MissReason reason);
  void guess_states();
  MissReason settle(PageState otherwise);
  void release();
  void finish();

  CapacityPool& pool_;
  ClientSession* session_ = nullptr;
  Read* client_ = nullptr;
  PartId into_;
  std::uint64_t life_ = 0;  // changes whenever it begins or ends: callers may do both from inside
  PageList list_;
  std::vector<PageState> states_;
  std::vector<std::uint8_t> left_;      // by page: objects that have not arrived
  std::vector<std::uint32_t> sources_;  // by object: `replicas` nodes, or no_node
  std::vector<LeaseReturn> leases_;
  Time asked_;
  Time lease_over_;
  bool answered_all_ = false;
  std::size_t limit_ = 0;    // pages that are worth bringing
  std::size_t next_ = 0;     // the first that was not asked for
  std::size_t arrived_ = 0;  // of those before next_, and lost ones
  std::vector<Transfer*> transfers_;
  std::vector<Transfer*> by_node_;    // while a batch is put together
  std::vector<Transfer*> requested_;  // likewise
  std::vector<std::uint32_t> objects_;
};

class CapacityPool::Putting final : private Transfer::Owner {
 public:
  explicit Putting(CapacityPool& pool);
  void begin(ClientSession& session, PartId from, std::span<const PoolPage> pages, Put& client);
  bool serves(const Put& client) const { return client_ == &client; }
  bool under_way() const { return session_ != nullptr; }
  void give_up();
  // Nobody knows of what it was granted any more.
  void master_lost();

 private:
  class Call final : public MasterCall {
   public:
    Call(CapacityPool& pool, Putting& putting, bool starts)
        : MasterCall(pool.server_), putting_(putting), starts_(starts) {}

   private:
    void answered(std::uint32_t index, const Answer& answer) override {
      starts_ ? putting_.started(index, answer) : putting_.published(index, answer);
    }
    void ended() override {
      putting_.session_->ended(*this);
      starts_ ? putting_.start_ended() : putting_.finish();
    }
    void failed() override {
      putting_.session_->ended(*this);
      putting_.fail();
    }
    void asked_again() override {
      if (starts_) putting_.forget_answers();
    }
    Putting& putting_;
    const bool starts_;
  };
  enum class Outcome : std::uint8_t { none, refused, fragmented, failed, gone, elsewhere };
  struct Page {
    bool ours = false;           // the book says so: under way
    bool concluded = false;      // what becomes of it is counted
    std::uint16_t answered = 0;  // objects: by PutStart
    std::uint16_t granted = 0;   // of those
    std::uint16_t stored = 0;    // there now, or were there
    bool new_objects = false;    // some of them by this put
    Outcome outcome = Outcome::none;
  };
  struct Granted {
    std::uint32_t object;
    PutId put_id;
    std::uint32_t sealed = 0;
  };

  void send_start();
  void started(std::uint32_t index, const Answer& answer);
  void start_ended();
  void fill(const Granted& granted, std::uint32_t number, std::span<const std::uint32_t> nodes);
  void transferred(Transfer& transfer, bool whole) override;
  void send_end();
  void published(std::uint32_t index, const Answer& answer);
  void conclude(std::size_t page);
  void fail();
  void forget_answers();
  void finish();

  CapacityPool& pool_;
  ClientSession* session_ = nullptr;
  Put* client_ = nullptr;
  PartId from_;
  bool given_up_ = false;
  PageList list_;
  std::string parents_;
  std::vector<Page> pages_;
  std::vector<Granted> granted_;
  std::vector<std::uint32_t> nodes_;  // `replicas` for each granted object, or no_node
  Call start_;
  Call end_;
  std::vector<Transfer*> transfers_;
  std::vector<Transfer*> by_node_;
};

}  // namespace larder::sim
