#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/time.h"
#include "core/master/config.h"
#include "core/topology/topology.h"
#include "sim/fabric/fabric.h"

namespace larder::sim {

// What the pool's processes take of time beside the bytes. docs/simulator.md has the source of each
// number.
struct PoolCosts {
  // Between any host and the master, and between a client and a node: one small message, each way.
  Duration message{20'000};
  // The master's one thread, for each request and then for each item of it.
  Duration request{5'000};
  Duration lookup{500};     // GetReplicaList
  Duration existence{290};  // Exists
  Duration put_start{800};
  Duration put_end{800};
  Duration confirmation{600};  // of a retired extent
  Duration reported{1'500};    // an item of a node's inventory
  Duration eviction{600};      // of an object, in the master's own time
  // A node's one control thread, for each request that it serves and each extent in it: fills, the
  // reads of a transport whose ranges the node checks (tcp), and retirements.
  Duration node_request{5'000};
  Duration node_extent{500};
  std::optional<Duration> node_fill = {};  // of each extent of a fill; none: as above
  // The processor time of a client's thread for each call of the master, for each item of that, and
  // for each item that it reads or writes; and what a lookup, a read or a put takes between the
  // thread that calls and the client's, both ways together. Counted only on hosts whose cores are
  // known.
  Duration client_request{0};
  Duration client_item{0};
  Duration client_read_item{0};
  Duration client_put_item{0};
  Duration hand_over{0};
  // Likewise: the time of a node for each MiB that it is given beyond what a thread copies at its
  // rate, and of a client for each MiB that is not warm: of all that is on its way from and to its
  // host, what is more than warm_bytes.
  Duration fill_each_mib{0};
  Duration cold_each_mib{0};
  Bytes warm_bytes{std::uint64_t{1} << 62};
};

// Where the cores of a host are known, all that its processes do shares them: the work above, and
// what they copy for TCP. Each process has so many threads.
struct PoolThreads {
  std::uint32_t client = 1;  // of the one process of all engines of a host
  std::uint32_t node = 1;
  std::optional<std::uint32_t> master_host = {};  // none: the master has a core to itself
};

// The most that a master takes of one node.
inline constexpr Bytes node_bytes_max{std::uint64_t{1} << 48};

// A node: so much of one memory of a host.
struct PoolNodeShape {
  PartId memory;
  Bytes capacity{};
};

struct PoolConfig {
  std::vector<PoolNodeShape> nodes;
  // The objects of one page, each of its own size: K and V, or one where both are one (MLA).
  std::vector<Bytes> objects;
  std::uint32_t replicas = 1;
  // Its seed is of placement's choices; object_events is set by the pool.
  MasterConfig master;
  PoolCosts costs;
  PoolThreads threads = {};
  Move::Transport transport = Move::Transport::verbs;
  // A read goes in batches of so many pages, of which so many are under way at once: the first
  // pages come first, and what was asked for in vain when a read is given up stays small.
  std::uint32_t batch_pages = 16;
  std::uint32_t batches_under_way = 2;

  // INVALID_PARAMS: no node, a node that is no DRAM or has no room for one page, no object, one
  // of zero bytes or more than the master takes, more than 255 objects, replicas outside of 1 to
  // replicas_max, no batch, no thread, a master on a host whose cores are not known, or what the
  // master says of its own part.
  Status check(const Topology& topology) const;
  Bytes page_bytes() const;
};

}  // namespace larder::sim
