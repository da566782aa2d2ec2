#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/eviction/watermarks.h"
#include "core/topology/hardware.h"
#include "sim/budget/packing.h"
#include "sim/capacity/pool_config.h"
#include "sim/serving/models/model.h"

namespace larder::sim {

// What the hosts of a cluster are asked to hold. docs/simulator.md has the source of each constant.
struct BudgetConfig {
  Hardware hardware;
  Model model;
  KvType kv_type = KvType::fp16;
  std::uint32_t page_tokens = 512;
  bool cut_pages = false;  // PageShape::cut
  // On each host that has GPUs, which they divide evenly among them. 0: there are none.
  std::uint32_t engines = 1;
  // Of a host's engines together. Nothing: twice the KV that their GPUs hold, as HiCache has it.
  std::optional<Bytes> host_cache;
  // Of a host to the pool. Nothing: all that the other parts leave.
  std::optional<Bytes> contributed;
  std::uint32_t replicas = 1;
  // Of each engine, in each direction. Nothing: one batch of pages.
  std::optional<Bytes> staging;
  // For the operating system and all other processes. Nothing: by the number of GPUs.
  std::optional<Bytes> reserve;
  Watermarks watermarks;
  Move::Transport transport = PoolConfig().transport;
  std::uint32_t batch_pages = PoolConfig().batch_pages;
  std::uint32_t batches_under_way = PoolConfig().batches_under_way;
};

// The page that such a pool stores.
PageShape page_shape(const BudgetConfig& config);
// Of what size a segment is to be filled for make_budget(): as a host's smallest, but of no more
// than 4,096 pages, since what is lost at the end of a larger one is less.
Bytes segment_to_fill(const BudgetConfig& config);

// A part of a host's memory, or of what is contributed.
struct BudgetPart {
  const char* name;  // for programs: "host_cache"
  const char* title;
  Bytes bytes;
  std::string rule;  // how it comes to that
};

// Of one kind of host.
struct HostBudget {
  std::string kind;
  std::uint32_t first = 0;  // number of the first host
  std::uint32_t count = 0;
  std::uint32_t memories = 1;  // of a host; a node of a replay lies in one of them
  bool with_master = false;    // the first one has the master, and that is the one that is shown
  Bytes installed;
  Bytes contributed;              // the first of the parts
  std::vector<BudgetPart> parts;  // with the rest they sum to `installed`
  Bytes left;
};

struct Budget {
  std::vector<HostBudget> hosts;
  Bytes contributed;            // in the cluster
  std::vector<BudgetPart> use;  // of that; they sum to it
  std::uint32_t replicas = 1;
  Bytes page;
  Bytes payload;            // KV in the pool, all replicas
  Bytes usable;             // KV of different pages: payload / replicas
  std::uint64_t pages = 0;  // that are whole in the pool at once, and
  std::uint64_t tokens = 0;
  std::uint64_t objects = 0;
  // That masters and nodes keep for each object, and for each replica.
  Bytes master_each_object;
  Bytes node_each_replica;
};

// What masters and nodes keep of a pool of such pages (tests/unit/sim/budget measures it).
Bytes master_bytes_each_object(const BudgetConfig& config);
Bytes node_bytes_each_replica(const BudgetConfig& config);

// Where the memory goes. `packing` is what a full segment has of each kind of byte
// (PackingMeter::shares()).
//
// Errors: no_available_handle where it does not fit, with the host's memory, what is needed, and
// the largest parts; invalid_params for replicas outside of 1 to replicas_max or beyond the number
// of hosts, engines that do not divide the GPUs, a model that does not fit them, a contribution of
// less than a page. Precondition: check_hardware and check_model have passed.
Result<Budget> make_budget(const BudgetConfig& config, const PackingShares& packing);

}  // namespace larder::sim
