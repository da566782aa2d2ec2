#include "sim/planning/deployment.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/protocol/extent_shape.h"
#include "sim/serving/cached_engine.h"
#include "sim/serving/pool_only_engine.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

constexpr std::uint32_t engine_fault_label = 0x702;

Status wrong(std::string what) { return failed(ErrorCode::invalid_params, std::move(what)); }

// The GPUs of the machines, with the memory that these have.
Result<Gpu> gpu_of(const Setting& setting, const Topology& topology, PartId part) {
  LARDER_TRY(Gpu gpu, setting.gpu_numbers());
  const std::string name = topology.name(part);
  const auto& parts = topology.hardware_of(topology.host_of(part)).parts;
  gpu.memory =
      std::ranges::find(parts, name.substr(name.find('/') + 1), &HardwarePart::name)->capacity;
  gpu.fp16_flops *= setting.gpu_speed;
  gpu.fp8_flops *= setting.gpu_speed;
  gpu.memory_per_second = Bytes{static_cast<std::uint64_t>(
      static_cast<double>(gpu.memory_per_second.value) * setting.gpu_speed)};
  return gpu;
}

void speed_up(PoolCosts& costs, double speed) {
  for (Duration* const cost :
       {&costs.request, &costs.lookup, &costs.existence, &costs.put_start, &costs.put_end,
        &costs.confirmation, &costs.reported, &costs.eviction}) {
    *cost = Duration(std::llround(static_cast<double>(cost->count()) / speed));
  }
}

// With its footer and what rounding adds.
Bytes room_of_page(const std::vector<Bytes>& objects) {
  Bytes room;
  for (const Bytes object : objects) {
    const ExtentShape shape = extent_shape(object);
    room += shape.length.rounded_up(shape.alignment);
  }
  return room;
}

}  // namespace

Result<Sizes> sizes_of(const Setting& setting, std::uint32_t trace_block_tokens) {
  Sizes sizes{.block_tokens = trace_block_tokens,
              .page_tokens = setting.page_tokens == 0 ? trace_block_tokens : setting.page_tokens};
  if (trace_block_tokens == 0 || sizes.page_tokens % trace_block_tokens != 0) {
    return failed(ErrorCode::invalid_params, "page-tokens is " + std::to_string(sizes.page_tokens) +
                                                 ", and the trace has blocks of " +
                                                 std::to_string(trace_block_tokens) +
                                                 " tokens: a page is a whole number of them");
  }
  sizes.objects = objects_of_page(setting.model_numbers, setting.kv_type, sizes.page_tokens);
  for (const Bytes object : sizes.objects) sizes.page_bytes += object;
  sizes.pool_bytes = setting.memory_per_node.value_or(unlimited_node) * setting.nodes;
  sizes.page_room = room_of_page(sizes.objects) * setting.replicas;
  sizes.pool_pages = sizes.pool_bytes / sizes.page_room;
  return sizes;
}

Deployment::EngineTurn::EngineTurn(Serving& serving, std::size_t engine, bool lost)
    : Event(engine_fault_label), serving_(serving), engine_(engine), lost_(lost) {}

void Deployment::EngineTurn::fire() {
  lost_ ? serving_.lose_engine(engine_) : serving_.restore_engine(engine_);
}

Deployment::Deployment(const Setting& setting, Topology topology)
    : kernel_(setting.seed), topology_(std::move(topology)) {
  if (setting.fabric) {
    fabric_.emplace(kernel_, topology_, StripeRules{.stripes_max = setting.stripes_max});
  }
}

Result<std::unique_ptr<Deployment>> Deployment::make(const Setting& setting,
                                                     std::uint32_t trace_block_tokens,
                                                     RecordSink& sink) {
  LARDER_CHECK(setting.check());
  LARDER_TRY(const Hardware machines, setting.machines());
  LARDER_TRY(Topology topology, Topology::make(machines));
  std::unique_ptr<Deployment> made(new Deployment(setting, std::move(topology)));
  LARDER_TRY(made->sizes_, sizes_of(setting, trace_block_tokens));
  LARDER_TRY(made->placement_, place(setting, made->topology_));
  LARDER_CHECK(made->make_compute(setting));
  LARDER_CHECK(made->make_pool(setting));
  LARDER_CHECK(made->make_engines(setting, sink));
  LARDER_CHECK(made->plan_faults(setting));
  return made;
}

Status Deployment::make_compute(const Setting& setting) {
  const std::vector<PartId>& gpus = placement_.engines.front().gpus;
  if (gpus.empty()) return {};
  for (const Placement::Engine& engine : placement_.engines) {
    const auto capacity = [&](PartId gpu) { return gpu_of(setting, topology_, gpu)->memory; };
    if (!setting.gpu_numbers() || capacity(engine.gpus.front()) == capacity(gpus.front())) continue;
    return wrong(
        "the engines have GPUs of several sizes, and the time of a pass is of one kind: "
        "take a cluster whose hosts with GPUs are of one kind");
  }
  const Result<Gpu> gpu = gpu_of(setting, topology_, gpus.front());
  if (!gpu && !setting.serving) return {};
  if (!gpu) return std::unexpected(gpu.error());
  Result<Compute> compute = Compute::make({.model = setting.model_numbers,
                                           .gpu = *gpu,
                                           .gpus = setting.gpus_per_engine,
                                           .kv_type = setting.kv_type,
                                           .costs = {.memory_share = setting.gpu_memory_share}});
  if (compute) {
    compute_.emplace(*std::move(compute));
    return check_times(setting);
  }
  return setting.serving ? Status(std::unexpected(compute.error())) : Status();
}

// Sums of the times of prompts must be far from 64 bits.
Status Deployment::check_times(const Setting& setting) const {
  constexpr Duration longest = std::chrono::seconds(100'000);
  const std::uint32_t context = setting.model_numbers.context_tokens;
  Pass prompt;
  prompt.add_prompt(context, 0);
  if (compute_->time(prompt) <= longest) return {};
  return wrong("a prompt of " + std::to_string(context) + " tokens, as long as the context of " +
               setting.model_numbers.name +
               ", takes more than 100000 s on an engine (gpu, gpu-speed, gpus-per-engine)");
}

Status Deployment::make_pool(const Setting& setting) {
  PoolConfig config{
      .objects = sizes_.objects,
      .replicas = setting.replicas,
      .master = {.watermarks = setting.watermarks, .policy = setting.policy, .seed = setting.seed},
      .transport = setting.transport,
      .batch_pages = setting.batch_pages,
      .batches_under_way = setting.batches};
  config.master.timing.lease = setting.lease;
  LARDER_TRY(config.costs, setting.process_costs());
  speed_up(config.costs, setting.master_speed);
  const Bytes each = setting.memory_per_node.value_or(unlimited_node);
  for (const Placement::Node& node : placement_.nodes) config.nodes.push_back({node.memory, each});
  LARDER_TRY(pool_, CapacityPool::make(kernel_, topology_, fabric_ ? &*fabric_ : nullptr, config));
  return {};
}

Status Deployment::make_engines(const Setting& setting, RecordSink& sink) {
  Serving::Config config{.page_tokens = sizes_.page_tokens,
                         .router = setting.router,
                         .speed = setting.speed,
                         .warmup_requests = setting.warmup_requests,
                         .closed = setting.closed};
  if (setting.sessions > 0) config.sessions_at_once = setting.sessions;
  serving_.emplace(kernel_, config, sink);
  CachedEngineConfig engine = setting.engine;
  engine.page_tokens = sizes_.page_tokens;
  engine.host_memory = setting.host_memory;
  for (const Placement::Engine& place : placement_.engines) {
    if (!setting.serving) {
      serving_->add(
          std::make_unique<PoolOnlyEngine>(kernel_, *pool_, place.drams.front(), *serving_));
      continue;
    }
    LARDER_TRY(auto made, CachedEngine::make(kernel_, *compute_, engine,
                                             {.fabric = fabric_ ? &*fabric_ : nullptr,
                                              .gpus = place.gpus,
                                              .drams = place.drams},
                                             pool_.get(), *serving_));
    const BlockTree::Room& room = made->tree().room();
    sizes_.gpu_pages = room.gpu;
    sizes_.host_pages = room.host;
    serving_->add(std::move(made));
  }
  return {};
}

Status Deployment::lose_host(const PlannedFault& fault, std::vector<PoolFault>& faults) {
  if (fault.number >= topology_.hosts()) {
    return wrong("fail: " + fault_text(fault) + ": the cluster has " +
                 std::to_string(topology_.hosts()) + " hosts, numbered from 0");
  }
  const Instant at = later(Instant{}, fault.at);
  for (std::uint32_t node = 0; node < placement_.nodes.size(); ++node) {
    if (placement_.nodes[node].host != fault.number) continue;
    faults.push_back({.kind = PoolFault::Kind::host, .node = node, .at = at, .lasts = fault.lasts});
  }
  for (std::size_t engine = 0; engine < placement_.engines.size(); ++engine) {
    if (placement_.engines[engine].host != fault.number) continue;
    kernel_.arm(engine_turns_.emplace_back(*serving_, engine, true), at);
    const Instant over = later(at, fault.lasts);
    kernel_.arm(engine_turns_.emplace_back(*serving_, engine, false), over);
  }
  return {};
}

Status Deployment::plan_faults(const Setting& setting) {
  std::vector<PoolFault> faults;
  for (const PlannedFault& fault : setting.faults) {
    PoolFault planned{.at = later(Instant{}, fault.at), .lasts = fault.lasts};
    switch (fault.kind) {
      case PlannedFault::Kind::host:
        LARDER_CHECK(lose_host(fault, faults));
        continue;
      case PlannedFault::Kind::node:
        planned.kind = PoolFault::Kind::node;
        planned.node = fault.number;
        break;
      case PlannedFault::Kind::nic: {
        planned.kind = PoolFault::Kind::nic;
        const Result<PartId> nic = find_nic(topology_, fault.nic);
        if (!nic) return wrong("fail: " + fault_text(fault) + ": " + nic.error().facts().detail);
        planned.nic = *nic;
        break;
      }
      case PlannedFault::Kind::master:
        planned.kind = PoolFault::Kind::master;
        break;
    }
    const Status fits = PoolFaults::check(std::span(&planned, 1), topology_, *pool_);
    if (!fits) return wrong("fail: " + fault_text(fault) + ": " + fits.error().facts().detail);
    faults.push_back(planned);
  }
  faults_.emplace(kernel_, *pool_, faults);
  return {};
}

}  // namespace larder::sim
