#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/time.h"

namespace larder::real {

// The memory of frames that have begun and not ended, over all connections of a server: a peer that
// announces much and sends it slowly, or never ends, takes no more than its share of a fixed sum
// from the others. Where the sum is used up, the connection that has held the most for the longest,
// as bytes times seconds, is given up; so a frame that is on its way goes on, and one that stands
// still does not. What a connection may hold in any case is not counted here.
//
// Confined to one loop, but for given_up(). O(1), O(connections that hold something) where one is
// given up.
class UnfinishedFrames {
 public:
  class Connection {
   public:
    // Ends the connection and frees what it holds; it is not counted any more.
    virtual void give_up(Error why) = 0;

   protected:
    ~Connection() = default;
  };

  explicit UnfinishedFrames(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // The connection holds `bytes` from now on, for a frame that began at `since`. May give it up, or
  // others, before it returns.
  void hold(Connection& connection, std::size_t bytes, Time since, Time now);
  // The connection holds nothing, or is gone.
  void release(Connection& connection);

  std::size_t bytes() const { return bytes_; }
  std::uint64_t given_up() const { return given_up_; }  // from any thread

 private:
  struct Held {
    std::size_t bytes = 0;
    Time since;
  };

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::unordered_map<Connection*, Held> held_;
  std::atomic<std::uint64_t> given_up_ = 0;
};

}  // namespace larder::real
