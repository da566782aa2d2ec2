#include "sim/planning/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/duration_text.h"
#include "core/base/printable.h"
#include "core/eviction/policy.h"
#include "core/protocol/limits.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t hosts_max = 10'000;
constexpr std::uint32_t engines_max = 10'000;
constexpr std::uint32_t nodes_max = 10'000;
constexpr std::uint32_t intervals_max = 100'000;
constexpr std::uint32_t page_tokens_max = 1 << 20;
constexpr Bytes host_memory_max{std::uint64_t{1} << 48};

Status wrong(std::string what) { return failed(ErrorCode::invalid_params, std::move(what)); }

Status range(std::string_view parameter, std::uint64_t value, std::uint64_t least,
             std::uint64_t most) {
  if (value >= least && value <= most) return {};
  return wrong(std::string(parameter) + " is " + std::to_string(value) + "; it can be from " +
               std::to_string(least) + " to " + std::to_string(most));
}

// How many times as fast something is.
Status factor(std::string_view parameter, double value) {
  constexpr double most = 1'000'000;
  if (value >= 1 / most && value <= most) return {};
  return wrong(fmt::format("{} is {}; it can be from 0.000001 to 1000000", parameter, value));
}

// The GPU in the name of a preset, such as "h800" of "8xh800-8x200".
std::string gpu_in(std::string_view cluster) {
  const std::size_t x = cluster.find('x');
  if (x == std::string_view::npos) return {};
  cluster.remove_prefix(x + 1);
  return std::string(cluster.substr(0, cluster.find('-')));
}

// Calls go over TCP whatever the bytes do.
Result<const CallCosts*> tcp_costs(const CalibratedCosts& calibrated) {
  const CallCosts* const costs = calibrated.find(CalibratedTransport::tcp);
  if (costs != nullptr) return costs;
  return failed(ErrorCode::invalid_params, "costs: the calibration has none of tcp");
}

}  // namespace

std::vector<Bytes> objects_of_page(const Model& model, KvType type, std::uint32_t page_tokens) {
  const Bytes page = kv_bytes_per_token(model, type) * page_tokens;
  if (model.latent) return {page};
  return {page / 2, page / 2};
}

Result<Gpu> Setting::gpu_numbers() const {
  if (gpu != "auto") return gpu_preset(gpu);
  // A file that began as a preset still has its name on its hosts.
  std::vector<std::string_view> names{cluster};
  for (const HardwareHost& host : hardware.hosts) names.emplace_back(host.name);
  const std::vector<std::string_view> known = gpu_preset_names();
  std::set<std::string> told;
  for (const std::string_view name : names) {
    std::string inside = gpu_in(name);
    if (std::ranges::find(known, inside) != known.end()) told.insert(std::move(inside));
  }
  if (told.size() == 1) return gpu_preset(*told.begin());
  return failed(ErrorCode::invalid_params, "gpu is auto, and the names of the cluster, " +
                                               in_quotes(cluster) + ", and of its hosts tell of " +
                                               (told.empty() ? "none" : "several kinds") +
                                               ": say which they are");
}

Result<Hardware> Setting::machines() const {
  Hardware machines = hardware;
  if (calibrated && transport == Move::Transport::tcp) {
    LARDER_TRY(const CallCosts* const tcp, tcp_costs(*calibrated));
    for (HardwareHost& host : machines.hosts) {
      set_tcp_costs(host.costs, values_of(*tcp, costs_at));
    }
  }
  if (hosts == 0) return machines;
  if (machines.hosts.size() != 1) {
    return failed(ErrorCode::invalid_params, "hosts is " + std::to_string(hosts) +
                                                 ", but the cluster has " +
                                                 std::to_string(machines.hosts.size()) +
                                                 " kinds of host: their numbers are in its file");
  }
  machines.hosts.front().count = hosts;
  return machines;
}

Result<PoolCosts> Setting::process_costs() const {
  if (!calibrated) return PoolCosts{};
  LARDER_TRY(const CallCosts* const tcp, tcp_costs(*calibrated));
  const CostValues values = values_of(*tcp, costs_at);
  return transport == Move::Transport::tcp ? pool_costs(values) : call_costs_alone(values);
}

Status Setting::check() const {
  LARDER_CHECK(range("hosts", hosts, 0, hosts_max));
  LARDER_CHECK(range("engines", engines, 1, engines_max));
  LARDER_CHECK(range("gpus-per-engine", gpus_per_engine, 1, 512));
  LARDER_CHECK(range("nodes", nodes, 1, nodes_max));
  LARDER_CHECK(range("replicas", replicas, 1, std::min(replicas_max, nodes)));
  LARDER_CHECK(range("page-tokens", page_tokens, 0, page_tokens_max));
  LARDER_CHECK(range("stripes-max", stripes_max, 1, 64));
  LARDER_CHECK(range("batch-pages", batch_pages, 1, 65'536));
  LARDER_CHECK(range("batches", batches, 1, 65'536));
  LARDER_CHECK(range("chunk-tokens", engine.chunk_tokens, 1, 1u << 30));
  LARDER_CHECK(range("waiting-max", engine.waiting_max, 1, 1u << 30));
  LARDER_CHECK(range("selective-uses", engine.selective_uses, 1, 1u << 30));
  LARDER_CHECK(range("intervals", intervals, 2, intervals_max));
  if (memory_per_node && *memory_per_node == Bytes{}) {
    return wrong("memory-per-node is 0, which makes a pool of zero bytes");
  }
  if (memory_per_node && *memory_per_node > unlimited_node) {
    return wrong("memory-per-node is more than the 256 TiB that a master takes of a node");
  }
  if (host_memory > host_memory_max) return wrong("host-memory is more than 256 TiB");
  LARDER_CHECK(factor("speed", speed));
  LARDER_CHECK(factor("gpu-speed", gpu_speed));
  LARDER_CHECK(factor("master-speed", master_speed));
  if (!(gpu_memory_share > 0 && gpu_memory_share <= 1)) {
    return wrong("gpu-memory-share must be above 0, and at most 1");
  }
  if (!costs.empty() && !calibrated) return wrong("costs is " + in_quotes(costs) + ", unread");
  if (costs_at != CostsAt::value && !calibrated) {
    return wrong("costs-at is " + std::string(costs_at_name(costs_at)) +
                 ", an end of a calibration's intervals, and there is none: costs says which");
  }
  if (calibrated) LARDER_CHECK(tcp_costs(*calibrated));
  if (lease < Timing().exists_lease) {
    return wrong("lease is " + duration_text(lease) + "; it can be from " +
                 duration_text(Timing().exists_lease) +
                 " on, as long as whether a key is there is relied on");
  }
  LARDER_CHECK(watermarks.check());
  if (closed && every > Duration(0)) {
    return wrong(
        "every says when requests come, and in a closed loop that is when those before "
        "them have ended: only one of the two");
  }
  if (sessions > 0 && !closed) return wrong("sessions at once are of a closed loop");
  if (const Status known = check_policy(policy); !known) {
    return wrong("policy: " + known.error().facts().detail);
  }
  return {};
}

}  // namespace larder::sim
