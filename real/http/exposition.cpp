#include "real/http/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <chrono>
#include <utility>
#include <vector>

namespace larder::real {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
double number(std::uint64_t count) { return static_cast<double>(count); }
double number(Bytes bytes) { return static_cast<double>(bytes.value); }

// The families of one page, in the order in which they are first named.
class Page {
 public:
  explicit Page(std::string prefix) : prefix_(std::move(prefix)) {}

  struct Family {
    const char* name;
    const char* help;
  };
  void gauge(const Family& family, double value, Labels labels = {}) {
    metric(family, MetricType::Gauge, std::move(labels)).gauge.value = value;
  }
  void counter(const Family& family, double value, Labels labels = {}) {
    metric(family, MetricType::Counter, std::move(labels)).counter.value = value;
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  ClientMetric& metric(const Family& family, MetricType type, Labels labels) {
    const std::string name = prefix_ + family.name;
    if (families_.empty() || families_.back().name != name) {
      families_.push_back({.name = name, .help = family.help, .type = type, .metric = {}});
    }
    ClientMetric& metric = families_.back().metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  std::string prefix_;
  std::vector<MetricFamily> families_;
};

void add_nodes(Page& page, const StatusReport& status) {
  using Node = StatusReport::Node;
  const auto each = [&](const Page::Family& family, auto value) {
    for (const Node& node : status.nodes) page.gauge(family, value(node), {{"node", node.name}});
  };
  constexpr Page::Family state{"node_state", "1 for the state that the node is in"};
  for (const Node& node : status.nodes) {
    page.gauge(state, 1, {{"node", node.name}, {"state", node.state}});
  }
  each({"node_capacity_bytes", "What the node contributes"},
       [](const Node& node) { return number(node.capacity); });
  each({"node_used_bytes", "Of that, in extents of objects and unfinished puts"},
       [](const Node& node) { return number(node.used); });
  each({"node_quarantined_bytes", "Freed, but not yet confirmed by the node"},
       [](const Node& node) { return number(node.quarantined); });
  each({"node_extents", "Extents in use on the node"},
       [](const Node& node) { return number(node.objects); });
  each({"node_silence_seconds", "Since the node was last heard"},
       [](const Node& node) { return seconds(node.since_heartbeat); });
}

void add_space(Page& page, const StatusReport& status) {
  page.gauge({"capacity_bytes", "What all shown nodes contribute"}, number(status.capacity));
  page.gauge({"used_bytes", "In extents of objects and unfinished puts"}, number(status.used));
  page.gauge({"quarantined_bytes", "Freed, but not yet confirmed by its node"},
             number(status.quarantined));
  page.gauge({"free_bytes", "Free to be given out"}, number(status.free));
  page.gauge({"hidden_capacity_bytes", "Of nodes that are not shown: silent, or still reporting"},
             number(status.hidden_capacity));
  page.gauge({"hidden_used_bytes", "In extents on those"}, number(status.hidden_used));
  page.gauge({"largest_free_bytes", "The largest free range"}, number(status.largest_free));
  page.gauge({"oldest_quarantine_seconds", "Age of the oldest unconfirmed retirement"},
             seconds(status.oldest_quarantine));
}

void add_counters(Page& page, const StatusReport& status) {
  page.counter({"puts_total", "Puts that were asked for, the refused ones included"},
               number(status.puts));
  page.counter({"gets_total", "Lookups of replica lists"}, number(status.gets));
  page.counter({"hits_total", "Of those, the ones that found a readable object"},
               number(status.hits));
  page.counter({"evicted_objects_total", "Objects that eviction took"},
               number(status.evicted_objects));
  page.counter({"evicted_bytes_total", "Bytes that eviction freed"}, number(status.evicted_bytes));
  for (const auto& [reason, count] : status.eviction_skips) {
    page.counter({"eviction_skips_total", "Objects that eviction passed over, by reason"},
                 number(count), {{"reason", reason}});
  }
  for (const auto& [reason, count] : status.gone) {
    page.counter({"gone_objects_total", "Objects that left, by reason"}, number(count),
                 {{"reason", reason}});
  }
  for (const auto& [code, count] : status.refusals) {
    page.counter({"refusals_total", "Items that were refused, by error"}, number(count),
                 {{"code", code}});
  }
}

// Quantiles and counts of how long the stages of requests took, each stage by itself.
void add_stages(Page& page, const std::vector<StatusReport::Stage>& stages) {
  for (const StatusReport::Stage& stage : stages) {
    const auto with = [&](const char* quantile) -> Labels {
      return {{"where", stage.where}, {"stage", stage.stage}, {"quantile", quantile}};
    };
    constexpr Page::Family family{"stage_seconds", "How long a stage of requests took"};
    page.gauge(family, seconds(stage.p50), with("0.5"));
    page.gauge(family, seconds(stage.p99), with("0.99"));
    page.gauge(family, seconds(stage.longest), with("1"));
  }
  for (const StatusReport::Stage& stage : stages) {
    page.counter({"stages_total", "How many requests went through a stage"}, number(stage.count),
                 {{"where", stage.where}, {"stage", stage.stage}});
  }
}

void add_given_up(Page& page, const GivenUp& given_up) {
  const auto add = [&](const char* reason, std::uint64_t count) {
    page.counter({"given_up_connections_total", "Connections closed so that others are served"},
                 number(count), {{"reason", reason}});
  };
  add("handshake_late", given_up.came_too_late);
  add("handshake_made_way", given_up.made_way);
  add("unfinished_frame", given_up.unfinished);
}

void add_recording(Page& page, const StatusReport::Recording& recording) {
  page.gauge({"recording", "1 while calls are recorded, 0 when that has failed"},
             recording.trouble.empty() ? 1 : 0);
  page.gauge({"recording_span_seconds", "How far back the recording can be replayed"},
             seconds(recording.span));
  page.gauge({"recording_bytes", "Of all files of the recording"}, number(recording.bytes));
  page.counter({"recording_dropped_calls_total", "Calls that the recording could not keep"},
               number(recording.dropped));
}

}  // namespace

std::string exposition(const StatusReport& status, const GivenUp& given_up) {
  Page page("larder_master_");
  page.gauge({"epoch", "The epoch in which this master leads"}, number(status.epoch.value));
  page.gauge({"recovering", "1 until all known nodes have reported or the recovery time is over"},
             status.recovering ? 1 : 0);
  page.gauge({"objects", "Objects with a complete replica"}, number(status.objects));
  page.gauge(
      {"hidden_objects", "Of those, the ones whose only copy is on a node that is not shown"},
      number(status.hidden_objects));
  page.gauge({"waiting_puts", "Puts that have no space yet"}, number(status.waiting_puts));
  page.gauge({"unfinished_puts", "Puts that have begun and not ended"},
             number(status.unfinished_puts));
  page.gauge({"sessions", "Clients with a session"}, number(status.sessions));
  add_space(page, status);
  add_counters(page, status);
  add_nodes(page, status);
  add_stages(page, status.stages);
  add_given_up(page, given_up);
  if (status.recording.on) add_recording(page, status.recording);
  return page.text();
}

std::string exposition(const NodeStatus& status, const StageTimes& times, Bytes capacity,
                       const GivenUp& given_up) {
  Page page("larder_node_");
  page.gauge({"epoch", "The epoch of the master that the node obeys; 0: none yet"},
             number(status.epoch.value));
  page.gauge({"registered", "1 while a master has taken the node's whole report"},
             status.reported ? 1 : 0);
  page.gauge({"capacity_bytes", "What the node contributes"}, number(capacity));
  constexpr std::array states{"filling", "sealed", "retiring"};
  static_assert(states.size() == std::tuple_size_v<decltype(status.extents)>);
  for (std::size_t i = 0; i < states.size(); ++i) {
    page.gauge({"extents", "Extents in the node's map, by state"}, number(status.extents[i]),
               {{"state", states[i]}});
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    page.gauge({"extent_bytes", "Bytes in those extents, by state"}, number(status.bytes[i]),
               {{"state", states[i]}});
  }
  page.gauge({"fills_in_flight", "Fills whose bytes are coming in"},
             number(status.fills_in_flight));
  page.gauge({"open_fills", "Fills that have begun and are not sealed"}, number(status.open_fills));
  page.gauge({"reads_in_flight", "Reads under way"}, number(status.reads_in_flight));
  page.gauge({"fill_queue_seconds", "How long a fill that comes now would wait"},
             seconds(status.fill_queue));
  std::vector<StatusReport::Stage> stages;
  for (std::size_t i = 0; i < stages_max; ++i) {
    const Histogram& all = times.all()[i];
    stages.push_back({.where = "node",
                      .stage = std::string(node_stage_names[i]),
                      .count = all.count(),
                      .p50 = all.quantile(0.5),
                      .p99 = all.quantile(0.99),
                      .longest = all.longest_seen()});
  }
  add_stages(page, stages);
  page.counter({"overlaps_total", "Fills refused since they overlapped the node's map"},
               number(status.overlaps));
  add_given_up(page, given_up);
  return page.text();
}

}  // namespace larder::real
