#include "sim/budget/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/size_text.h"
#include "core/pages/page_keys.h"
#include "core/protocol/extent_shape.h"
#include "core/protocol/limits.h"
#include "sim/serving/models/compute.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

// docs/simulator.md, "Budget", says where each of these comes from.
constexpr std::uint64_t kernel_page = 4096;
constexpr std::uint64_t page_struct = 64;
constexpr std::uint64_t page_table_entry = 8;
constexpr std::uint64_t nic_table_entry = 8;
constexpr std::uint64_t host_cache_ratio = 2;
constexpr Bytes reserve_each_host = 16_GiB;
constexpr Bytes reserve_each_gpu = 8_GiB;
constexpr Bytes socket_buffers = 10_MiB;
constexpr std::uint64_t connections_each_peer = 8;
constexpr double socket_memory_share = 0.09375;
constexpr Bytes queue_pair = 64_KiB;
constexpr std::uint64_t pages_of_filled_segment = 4096;
constexpr Bytes contribution_step = 1_MiB;
constexpr Bytes asked_max = 1024_TiB;
// Metadata, beside the bytes of the names.
constexpr Bytes master_object = 225_B;
constexpr Bytes master_object_of_group = 80_B;
constexpr Bytes master_group = 176_B;
constexpr Bytes master_several_replicas = 48_B;
constexpr Bytes master_replica_more = 64_B;
constexpr Bytes node_extent = 232_B;

// Never more than are there.
Bytes part_of(Bytes whole, double share) {
  const double bytes = std::floor(static_cast<double>(whole.value) * std::clamp(share, 0.0, 1.0));
  return {std::min(whole.value, static_cast<std::uint64_t>(bytes))};
}

Bytes rounded_up(double bytes) { return {static_cast<std::uint64_t>(std::ceil(bytes))}; }

std::uint32_t count_of(const HardwareHost& host, PartKind kind) {
  return static_cast<std::uint32_t>(std::ranges::count(host.parts, kind, &HardwarePart::kind));
}

Bytes installed(const HardwareHost& host) {
  Bytes sum;
  for (const HardwarePart& part : host.parts) {
    if (part.kind == PartKind::dram) sum += part.capacity;
  }
  return sum;
}

std::uint32_t engines_on(const BudgetConfig& config, const HardwareHost& host) {
  return count_of(host, PartKind::gpu) == 0 ? 0 : config.engines;
}

PageKeys page_keys(const BudgetConfig& config) {
  // Names as long as real ones; a model's own may be of any length.
  const std::string model = config.model.name.substr(0, 64);
  return PageKeys::make({.tenant = "default",
                         .model = model.empty() ? "model" : model,
                         .revision = "main",
                         .kv_type = std::string(kv_type_name(config.kv_type)),
                         .page_tokens = config.page_tokens,
                         .layout = "page-first",
                         .keys_and_values = !config.model.latent})
      .value();
}

// KV on the GPUs of one engine.
Result<Bytes> gpu_kv(const BudgetConfig& config, const HardwareHost& host) {
  const std::uint32_t gpus = count_of(host, PartKind::gpu);
  if (gpus % config.engines != 0) {
    return failed(ErrorCode::invalid_params,
                  fmt::format("{} engines do not divide the {} GPUs of a host of {}",
                              config.engines, gpus, host.name));
  }
  const auto gpu = std::ranges::find(host.parts, PartKind::gpu, &HardwarePart::kind);
  // Of the GPU only its memory counts here.
  LARDER_TRY(const Compute compute, Compute::make({.model = config.model,
                                                   .gpu = {.name = host.name,
                                                           .fp16_flops = 1,
                                                           .memory = gpu->capacity,
                                                           .memory_per_second = {1}},
                                                   .gpus = gpus / config.engines,
                                                   .kv_type = config.kv_type}));
  return compute.kv_bytes_each_gpu() * compute.kv_tokens() * compute.shape().gpus;
}

// What follows from each byte that is contributed.
struct Rates {
  double filled = 0;   // how much of a full segment is in use at the high watermark
  double extents = 0;  // each of one replica of one object
};

Rates rates_of(const BudgetConfig& config, const PackingShares& packing) {
  const double in_use = packing.payload + packing.tails + packing.footers + packing.rounding;
  const double filled = in_use > 0 ? std::min(1.0, config.watermarks.high / in_use) : 0;
  return {.filled = filled,
          .extents = filled * packing.footers / static_cast<double>(footer_size.value)};
}

// One kind of host.
class Host {
 public:
  Host(const BudgetConfig& config, const HardwareHost& host, Rates rates, Bytes kv_of_engine)
      : config_(config), host_(host), rates_(rates), engines_(engines_on(config, host)) {
    std::uint32_t engines_of_all = 0;
    std::uint32_t hosts = 0;
    for (const HardwareHost& each : config.hardware.hosts) {
      engines_of_all += each.count * engines_on(config, each);
      hosts += each.count;
    }
    pairs_ = std::uint64_t{engines_} * hosts + engines_of_all;
    if (engines_ > 0) {
      host_cache_ = config.host_cache.value_or(kv_of_engine * engines_ * host_cache_ratio);
      host_cache_rule_ = config.host_cache
                             ? "as asked for"
                             : fmt::format("{} x the {} of KV on the GPUs", host_cache_ratio,
                                           size_text(kv_of_engine * engines_));
    }
  }

  // What is here whether the pool has a byte of it or none.
  Bytes without_pool() const {
    Bytes sum;
    for (const BudgetPart& part : parts({}, {})) sum += part.bytes;
    return sum;
  }
  // For each byte that is contributed, what nodes and tables have of it.
  double beside_each_byte() const {
    return rates_.extents * static_cast<double>(node_bytes_each_replica(config_).value) +
           static_cast<double>(table_entries()) / kernel_page;
  }
  std::vector<BudgetPart> parts(Bytes contributed, Bytes master) const;

 private:
  Bytes batch() const { return page_shape(config_).bytes() * config_.batch_pages; }
  std::uint64_t table_entries() const {
    const bool verbs = config_.transport == Move::Transport::verbs;
    return page_table_entry + (verbs ? nic_table_entry * count_of(host_, PartKind::nic) : 0);
  }
  BudgetPart staging() const;
  BudgetPart in_flight() const;
  BudgetPart connections() const;
  BudgetPart node(Bytes contributed) const;
  BudgetPart tables(Bytes mapped) const;
  BudgetPart reserve() const;

  const BudgetConfig& config_;
  const HardwareHost& host_;
  Rates rates_;
  std::uint32_t engines_;
  std::uint64_t pairs_ = 0;  // of an engine and a node, of which one is here
  Bytes host_cache_;
  std::string host_cache_rule_;
};

BudgetPart Host::staging() const {
  const Bytes each = config_.staging.value_or(batch());
  return {.name = "staging",
          .title = "staging buffers",
          .bytes = each * 2 * engines_,
          .rule = fmt::format("{} each way and engine, of which there are {}", size_text(each),
                              engines_)};
}

BudgetPart Host::in_flight() const {
  const bool into_cache = host_cache_ > Bytes{};
  return {.name = "in_flight",
          .title = "transfers in flight",
          .bytes = into_cache ? Bytes{} : batch() * config_.batches_under_way * engines_,
          .rule = into_cache || engines_ == 0
                      ? "reads land in the host cache, puts in the pool"
                      : fmt::format("{} batches of {} pages of each engine, of which there are {}",
                                    config_.batches_under_way, config_.batch_pages, engines_)};
}

BudgetPart Host::connections() const {
  BudgetPart part{.name = "connections", .title = "transfer buffers", .bytes = {}, .rule = {}};
  if (config_.transport == Move::Transport::tcp) {
    const Bytes most = part_of(installed(host_), socket_memory_share);
    const Bytes asked = socket_buffers * connections_each_peer * pairs_;
    part.bytes = std::min(most, asked);
    part.rule = fmt::format("{} of sockets for each of {} connections{}", size_text(socket_buffers),
                            connections_each_peer * pairs_,
                            asked > most ? ", as far as the kernel lets them" : "");
  } else {
    const std::uint64_t queue_pairs = pairs_ * count_of(host_, PartKind::nic);
    part.bytes = queue_pair * queue_pairs;
    part.rule = fmt::format("{} for each of {} queue pairs", size_text(queue_pair), queue_pairs);
  }
  return part;
}

BudgetPart Host::node(Bytes contributed) const {
  const double extents = rates_.extents * static_cast<double>(contributed.value);
  const Bytes each = node_bytes_each_replica(config_);
  return {.name = "node_metadata",
          .title = "metadata of the node",
          .bytes = rounded_up(extents * static_cast<double>(each.value)),
          .rule = fmt::format("{} B for each of {:.0f} replicas", each.value, extents)};
}

BudgetPart Host::tables(Bytes mapped) const {
  return {.name = "page_tables",
          .title = "page tables",
          .bytes = mapped.rounded_up(kernel_page) / kernel_page * table_entries(),
          .rule = fmt::format("{} B for each 4 KiB that is mapped or registered", table_entries())};
}

BudgetPart Host::reserve() const {
  const std::uint32_t gpus = count_of(host_, PartKind::gpu);
  return {.name = "reserve",
          .title = "reserve for the system",
          .bytes = config_.reserve.value_or(reserve_each_host + reserve_each_gpu * gpus),
          .rule = config_.reserve
                      ? "as asked for"
                      : fmt::format("{}, and {} for each GPU", size_text(reserve_each_host),
                                    size_text(reserve_each_gpu))};
}

std::vector<BudgetPart> Host::parts(Bytes contributed, Bytes master) const {
  std::vector<BudgetPart> parts;
  parts.push_back({.name = "pool",
                   .title = "contributed to the pool",
                   .bytes = contributed,
                   .rule = config_.contributed ? "as asked for" : "what the other parts leave"});
  parts.push_back({.name = "host_cache",
                   .title = "host cache of the engines",
                   .bytes = host_cache_,
                   .rule = host_cache_rule_});
  parts.push_back(staging());
  parts.push_back(in_flight());
  parts.push_back(connections());
  parts.push_back(node(contributed));
  parts.push_back({.name = "master_metadata",
                   .title = "metadata of the master",
                   .bytes = master,
                   .rule = fmt::format("{} B for each object of the pool, on the first host",
                                       master_bytes_each_object(config_).value)});
  parts.push_back(tables(contributed + host_cache_ + parts[2].bytes + parts[3].bytes));
  parts.push_back({.name = "page_structs",
                   .title = "the kernel's page structs",
                   .bytes = installed(host_) / kernel_page * page_struct,
                   .rule = fmt::format("{} B for each 4 KiB of memory", page_struct)});
  parts.push_back(reserve());
  return parts;
}

Bytes sum_of(const std::vector<BudgetPart>& parts) {
  Bytes sum;
  for (const BudgetPart& part : parts) sum += part.bytes;
  return sum;
}

std::string numbered(std::uint32_t first, std::uint32_t count) {
  return count == 1 ? fmt::format("host{}", first)
                    : fmt::format("host{} to host{}", first, first + count - 1);
}

Status does_not_fit(const HostBudget& host) {
  std::vector<BudgetPart> largest = host.parts;
  std::ranges::sort(largest, std::ranges::greater(), &BudgetPart::bytes);
  const Bytes needed = sum_of(host.parts);
  std::string text = fmt::format(
      "{} ({}) has {} of memory and would need {}, {} more: the largest part is {}, {} ({})",
      numbered(host.first, host.with_master ? 1 : host.count), host.kind, size_text(host.installed),
      size_text(needed), size_text(needed - host.installed), largest[0].title,
      size_text(largest[0].bytes), largest[0].rule);
  for (std::size_t i = 1; i < 3 && largest[i].bytes > Bytes{}; ++i) {
    text += fmt::format("{} {} {}", i == 1 ? "; then" : ",", largest[i].title,
                        size_text(largest[i].bytes));
  }
  return failed(ErrorCode::no_available_handle, std::move(text));
}

Status check(const BudgetConfig& config) {
  std::uint32_t hosts = 0;
  for (const HardwareHost& host : config.hardware.hosts) hosts += host.count;
  if (config.replicas == 0 || config.replicas > replicas_max) {
    return failed(ErrorCode::invalid_params,
                  fmt::format("{} replicas; 1 to {} are possible", config.replicas, replicas_max));
  }
  if (config.replicas > hosts) {
    return failed(
        ErrorCode::invalid_params,
        fmt::format("{} replicas lie on as many hosts, and there are {}", config.replicas, hosts));
  }
  LARDER_CHECK(config.watermarks.check());
  // Their sums are far from 64 bits.
  for (const std::optional<Bytes>& asked :
       {config.host_cache, config.contributed, config.staging, config.reserve}) {
    if (asked.value_or(Bytes{}) > asked_max) {
      return failed(
          ErrorCode::invalid_params,
          fmt::format("{} are asked for; at most {}", size_text(*asked), size_text(asked_max)));
    }
  }
  const bool no_gpus = std::ranges::none_of(
      config.hardware.hosts, [](const auto& host) { return count_of(host, PartKind::gpu) > 0; });
  if (config.host_cache && *config.host_cache > Bytes{} && (config.engines == 0 || no_gpus)) {
    return failed(ErrorCode::invalid_params,
                  "a host cache is of engines, and there are none on these hosts");
  }
  return {};
}

// What the first kind of host can contribute, whose first host has the master, which keeps what all
// hosts of all kinds contribute: `elsewhere` those of the other kinds.
Bytes room_for_pool(const Host& host, const HostBudget& budget, double master_each_byte,
                    Bytes elsewhere) {
  const Bytes before = host.without_pool();
  if (before >= budget.installed) return {};
  double room = static_cast<double>((budget.installed - before).value);
  double each = 1 + host.beside_each_byte();
  if (budget.with_master) {
    room -= master_each_byte * static_cast<double>(elsewhere.value);
    each += master_each_byte * budget.count;
  }
  const Bytes most{room > 0 ? static_cast<std::uint64_t>(room / each) : 0};
  const Bytes rounding = contribution_step;  // sums of parts that were rounded up
  return most < rounding ? Bytes{} : (most - rounding).rounded_down(contribution_step.value);
}

std::vector<BudgetPart> use_of(const Budget& budget, const PackingShares& packing, Rates rates) {
  std::vector<BudgetPart> use;
  Bytes left = budget.contributed;
  const auto add = [&](const char* name, const char* title, double share, const char* rule) {
    const Bytes bytes = std::min(left, part_of(budget.contributed, share));
    left -= bytes;
    use.push_back({.name = name, .title = title, .bytes = bytes, .rule = rule});
  };
  add("payload", "KV of tokens", packing.payload * rates.filled, "in all replicas");
  add("tails", "tails of pages", packing.tails * rates.filled,
      "of pages that a prompt ends in, where these take a whole page");
  add("footers", "footers", packing.footers * rates.filled, "64 B for each replica");
  add("rounding", "rounding", packing.rounding * rates.filled, "of payloads to 64 B");
  add("alignment", "alignment", packing.alignment * rates.filled,
      "replicas of 256 KiB or more begin at multiples of 4 KiB");
  add("fragmented", "in no piece that fits", packing.unused,
      "measured when a page found no room in a full segment");
  use.push_back({.name = "headroom",
                 .title = "above the high watermark",
                 .bytes = left,
                 .rule = "for puts in flight, and what waits for its retirement"});
  return use;
}

}  // namespace

PageShape page_shape(const BudgetConfig& config) {
  return {.token = kv_bytes_per_token(config.model, config.kv_type),
          .tokens = config.page_tokens,
          .objects = config.model.latent ? 1u : 2u,
          .cut = config.cut_pages};
}

Bytes segment_to_fill(const BudgetConfig& config) {
  const PageShape page = page_shape(config);
  const ExtentShape extent = extent_shape(page.object_bytes(page.tokens));
  Bytes segment =
      extent.length.rounded_up(extent.alignment) * page.objects * pages_of_filled_segment;
  for (const HardwareHost& host : config.hardware.hosts) {
    segment = std::min(segment, config.contributed.value_or(installed(host)));
  }
  return segment;
}

Bytes master_bytes_each_object(const BudgetConfig& config) {
  const PageKeys keys = page_keys(config);
  const Bytes key{keys.key_bytes()};
  Bytes each = master_object + key.rounded_up(16);
  if (keys.objects() > 1) {  // the group's name is the key without "/k"
    each += master_object_of_group + (master_group + key) / keys.objects();
  }
  if (config.replicas > 1) {
    each += master_several_replicas + master_replica_more * (config.replicas - 1);
  }
  return each;
}

Bytes node_bytes_each_replica(const BudgetConfig& config) {
  const PageKeys keys = page_keys(config);
  // Its key, its group, and its parent's.
  const std::uint64_t names = keys.objects() > 1 ? 3 : 2;
  return node_extent + Bytes{keys.key_bytes()} * names;
}

Result<Budget> make_budget(const BudgetConfig& config, const PackingShares& packing) {
  LARDER_CHECK(check(config));
  const Rates rates = rates_of(config, packing);
  Budget budget{.hosts = {},
                .contributed = {},
                .use = {},
                .replicas = config.replicas,
                .page = page_shape(config).bytes(),
                .master_each_object = master_bytes_each_object(config),
                .node_each_replica = node_bytes_each_replica(config)};
  const double master_each_byte =
      rates.extents * static_cast<double>(budget.master_each_object.value) / config.replicas;
  std::vector<Host> hosts;
  std::uint32_t first = 0;
  for (const HardwareHost& host : config.hardware.hosts) {
    Bytes kv;
    if (engines_on(config, host) > 0) {
      LARDER_TRY(kv, gpu_kv(config, host));
    }
    hosts.emplace_back(config, host, rates, kv);
    budget.hosts.push_back({.kind = host.name,
                            .first = first,
                            .count = host.count,
                            .memories = count_of(host, PartKind::dram),
                            .with_master = first == 0,
                            .installed = installed(host),
                            .contributed = config.contributed.value_or(Bytes{}),
                            .parts = {}});
    first += host.count;
  }
  // The first kind last, since its master keeps what the others contribute.
  for (std::size_t i = hosts.size(); i-- > 0;) {
    HostBudget& host = budget.hosts[i];
    if (!config.contributed) {
      host.contributed = room_for_pool(hosts[i], host, master_each_byte, budget.contributed);
    }
    budget.contributed += host.contributed * host.count;
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    HostBudget& host = budget.hosts[i];
    const Bytes master =
        host.with_master
            ? rounded_up(master_each_byte * static_cast<double>(budget.contributed.value))
            : Bytes{};
    host.parts = hosts[i].parts(host.contributed, master);
    const Bytes needed = sum_of(host.parts);
    if (needed > host.installed) LARDER_CHECK(does_not_fit(host));
    host.left = host.installed - needed;
  }
  budget.use = use_of(budget, packing, rates);
  budget.payload = budget.use[0].bytes;
  budget.usable = budget.payload / config.replicas;
  const PageShape page = page_shape(config);
  budget.objects = static_cast<std::uint64_t>(
      rates.extents * static_cast<double>(budget.contributed.value) / config.replicas);
  budget.pages = budget.objects / page.objects;
  budget.tokens = budget.usable / page.token;
  if (budget.pages == 0) {
    return failed(
        ErrorCode::no_available_handle,
        fmt::format("{} in the pool hold no page, of {}, in {} replicas",
                    size_text(budget.contributed), size_text(budget.page), config.replicas));
  }
  return budget;
}

}  // namespace larder::sim
