#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/serving/request_record.h"

namespace larder::sim {

// A request on its way through the simulator. Whoever made it owns it until Served::ended.
struct ServedRequest {
  std::vector<std::uint64_t> blocks;  // of its input, as pages of the engines
  RequestRecord record;
  // By block, once it is begun: why it had to be computed. The first record.hits() of them were
  // there, and theirs mean nothing.
  std::vector<MissReason> missing;
};

// Gets each request once, in the order in which they end. It may keep nothing of it.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void take(const ServedRequest& request) = 0;
};

// What becomes of requests; told once for each.
class Served {
 public:
  virtual ~Served() = default;
  // The first token is there. It may go on.
  virtual void first_token(ServedRequest& request) = 0;
  // It has ended, and its record is whole. Not from inside submit().
  virtual void ended(ServedRequest& request) = 0;
};

// What routers see of an engine.
struct EngineLoad {
  std::uint64_t waiting = 0;  // requests of which nothing is computed yet
  std::uint64_t running = 0;
  std::uint64_t tokens = 0;  // of prompts, still to be computed, as if nothing more were found
};

// Serves prompts in virtual time. Confined to its kernel's thread.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual void submit(ServedRequest& request) = 0;
  virtual EngineLoad load() const = 0;
  // How many leading blocks of a prompt it has without asking the pool.
  virtual std::size_t cached(std::span<const std::uint64_t> blocks) const = 0;
  // Its machine is lost: all its requests fail, not from inside this call, and its caches are
  // empty. It can be used again at once.
  virtual void lose() = 0;
  // How long its GPUs were at work so far: passes that computed prompts, and those that only
  // decoded.
  struct Busy {
    Duration prompts{0};
    Duration decoding{0};
  };
  virtual Busy busy() const = 0;
};

}  // namespace larder::sim
