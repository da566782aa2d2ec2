#include "sim/calibration/validate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sim/calibration/simulated_workload.h"

namespace larder::sim {
namespace {

constexpr Bytes call_bytes_max{std::uint64_t{2} << 30};
constexpr std::uint64_t items_max = 65'536;

// Which costs are fitted; the others are taken as they were measured.
std::vector<std::size_t> free_costs(CalibratedTransport transport) {
  std::vector<std::size_t> free{
      cost_index(&CallCosts::hand_over),   cost_index(&CallCosts::client_request),
      cost_index(&CallCosts::client_item), cost_index(&CallCosts::client_get),
      cost_index(&CallCosts::client_put),  cost_index(&CallCosts::thread_rate),
      cost_index(&CallCosts::fill_mib),    cost_index(&CallCosts::cold_mib)};
  if (transport == CalibratedTransport::tcp) {
    for (Figure CallCosts::* member : {&CallCosts::message, &CallCosts::node_request,
                                       &CallCosts::node_read, &CallCosts::node_fill}) {
      free.push_back(cost_index(member));
    }
  }
  return free;
}

CostValues as_costs(const std::vector<double>& numbers) {
  CostValues costs{};
  std::ranges::copy(numbers, costs.begin());
  return costs;
}

double middle(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[(numbers.size() - 1) / 2];
}

Interval interval_of(const std::vector<double>& numbers) {
  const auto [low, high] = std::ranges::minmax(numbers);
  return {.value = middle(numbers), .low = low, .high = high};
}

// `first` is the value; the others widen its bounds.
Interval interval_around(const std::vector<double>& numbers) {
  const auto [low, high] = std::ranges::minmax(numbers);
  return {.value = numbers.front(), .low = low, .high = high};
}

// The figures of a run that are compared.
using RunFigure = double (*)(const WorkloadRun&);
double throughput(const WorkloadRun& run) { return run.bytes_per_second(); }
double median_time(const WorkloadRun& run) { return static_cast<double>(run.p50.count()); }
double tail_time(const WorkloadRun& run) { return static_cast<double>(run.p99.count()); }

std::vector<double> figures(const std::vector<WorkloadRun>& runs, RunFigure figure) {
  std::vector<double> numbers;
  for (const WorkloadRun& run : runs) numbers.push_back(figure(run));
  return numbers;
}

Compared compared(const std::vector<WorkloadRun>& measured,
                  const std::vector<WorkloadRun>& predicted, RunFigure figure) {
  return {.measured = interval_of(figures(measured, figure)),
          .predicted = interval_around(figures(predicted, figure))};
}

// All workloads over one transport.
class Transport {
 public:
  Transport(const Hardware& machine, const CallCosts& costs, const ValidationRules& rules)
      : machine_(machine), rules_(rules), measured_(costs), start_(values_of(costs)) {}

  // Every second one of an operation is fitted on; where that begins with the first one, the next
  // operation begins with the second. So what is judged has been fitted on with other operations.
  void add(const MeasuredWorkload& workload) {
    const Workload::Operation operation = workload.workload.operation;
    const auto before = std::ranges::count_if(workloads_, [&](const MeasuredWorkload* each) {
      return each->workload.operation == operation;
    });
    is_fitted_.push_back((before + static_cast<int>(operation)) % 2 == 0);
    workloads_.push_back(&workload);
  }
  std::size_t runs() const { return workloads_.front()->runs.size(); }

  // The fit to the middle of all runs, then those to each; told() hears of each fit.
  template <class Told>
  void fit(Told told) {
    const std::vector<std::size_t> free = free_costs(workloads_.front()->workload.transport);
    std::vector<double> targets;
    for (const MeasuredWorkload* each : fitted()) {
      targets.push_back(middle(figures(each->runs, throughput)));
    }
    const std::vector<double> start(start_.begin(), start_.end());
    const std::vector<double> best = search(start, free, targets, rules_.fit, rules_.seed);
    fits_.push_back(best);
    told();
    for (std::size_t run = 0; run < runs(); ++run) {
      targets.clear();
      for (const MeasuredWorkload* each : fitted()) targets.push_back(throughput(each->runs[run]));
      fits_.push_back(search(best, free, targets, rules_.refit, rules_.seed + run + 1));
      told();
    }
  }

  // What was not fitted keeps the interval that was measured.
  CallCosts costs() const {
    CallCosts costs = measured_;
    for (const std::size_t place : free_costs(workloads_.front()->workload.transport)) {
      std::vector<double> numbers;
      for (const auto& fit : fits_) numbers.push_back(fit[place]);
      const Interval interval = interval_around(numbers);
      const auto whole = [](double number) {
        return static_cast<std::uint64_t>(std::llround(number));
      };
      costs.*cost_names[place].second = {
          .value = whole(interval.value), .low = whole(interval.low), .high = whole(interval.high)};
    }
    return costs;
  }

  void predict(std::vector<ValidatedWorkload>& validated) const {
    for (std::size_t index = 0; index < workloads_.size(); ++index) {
      const auto& [workload, measured] = *workloads_[index];
      std::vector<WorkloadRun> predicted;
      for (std::size_t fit = 0; fit < fits_.size(); ++fit) {
        predicted.push_back(simulate(machine_, as_costs(fits_[fit]), workload, rules_.seed + fit));
      }
      validated.push_back({.workload = workload,
                           .fitted = is_fitted_[index],
                           .bytes_per_second = compared(measured, predicted, throughput),
                           .p50 = compared(measured, predicted, median_time),
                           .p99 = compared(measured, predicted, tail_time)});
    }
  }

 private:
  std::vector<const MeasuredWorkload*> fitted() const {
    std::vector<const MeasuredWorkload*> half;
    for (std::size_t index = 0; index < workloads_.size(); ++index) {
      if (is_fitted_[index]) half.push_back(workloads_[index]);
    }
    return half;
  }

  std::vector<double> search(const std::vector<double>& from, std::span<const std::size_t> free,
                             const std::vector<double>& targets, const SearchRules& rules,
                             std::uint64_t seed) const {
    const std::vector<const MeasuredWorkload*> half = fitted();
    const auto loss = [&](const std::vector<double>& numbers) {
      double sum = 0;
      for (std::size_t i = 0; i < half.size(); ++i) {
        const WorkloadRun run = simulate(machine_, as_costs(numbers), half[i]->workload, seed);
        const double off = std::log(throughput(run) / targets[i]);
        sum += off * off;
      }
      // What no workload tells stays about where it was measured.
      for (const std::size_t place : free) {
        if (start_[place] < 1) continue;
        const double off = std::log(numbers[place] / start_[place]);
        sum += rules_.weight_of_measured * off * off;
      }
      return sum;
    };
    return coordinate_search(from, free, loss, rules);
  }

  const Hardware& machine_;
  const ValidationRules& rules_;
  const CallCosts measured_;
  const CostValues start_;
  std::vector<const MeasuredWorkload*> workloads_;
  std::vector<bool> is_fitted_;
  std::vector<std::vector<double>> fits_;  // to the middle, then to each run
};

}  // namespace

double Compared::error() const { return std::abs(predicted.value / measured.value - 1); }

double Compared::error_beyond_spread() const {
  const double nearest = std::clamp(predicted.value, measured.low, measured.high);
  return std::abs(predicted.value - nearest) / measured.value;
}

std::optional<Errors> Validation::errors(const Which& which) const {
  std::vector<double> all;
  for (const ValidatedWorkload& each : workloads) {
    if (each.fitted != which.fitted) continue;
    if (which.transport && each.workload.transport != *which.transport) continue;
    all.push_back(which.beyond_spread ? each.bytes_per_second.error_beyond_spread()
                                      : each.bytes_per_second.error());
  }
  if (all.empty()) return std::nullopt;
  return Errors{.median = middle(all), .worst = std::ranges::max(all)};
}

Status check_calibration(const Hardware& host, const CalibratedCosts& costs,
                         const Measurements& measurements) {
  const auto wrong = [](std::string what) {
    return failed(ErrorCode::invalid_params, std::move(what));
  };
  if (host.hosts.size() != 1 || host.hosts.front().cores == 0) {
    return wrong("the machine is one kind of host with its \"cores\", as calibrate writes it");
  }
  for (const auto& [workload, runs] : measurements.workloads) {
    const std::string which = to_string(workload);
    if (costs.find(workload.transport) == nullptr) {
      return wrong(which + ": there are no costs of this transport");
    }
    if (workload.size * workload.batch > call_bytes_max) {
      return wrong(which + ": a call has more than 2 GiB, which is not simulated");
    }
    if (std::uint64_t{workload.clients} * workload.batch > items_max) {
      return wrong(which + ": more than " + std::to_string(items_max) +
                   " items at once, which are not simulated");
    }
  }
  return {};
}

Result<Validation> validate(const Hardware& host, const CalibratedCosts& costs,
                            const Measurements& measurements, const ValidationRules& rules,
                            const std::function<void(double)>& progress) {
  LARDER_CHECK(check_calibration(host, costs, measurements));
  std::vector<std::pair<CalibratedTransport, Transport>> transports;
  for (const MeasuredWorkload& each : measurements.workloads) {
    const CalibratedTransport transport = each.workload.transport;
    auto found = std::ranges::find(transports, transport, [](const auto& t) { return t.first; });
    if (found == transports.end()) {
      transports.emplace_back(transport, Transport(host, *costs.find(transport), rules));
      found = transports.end() - 1;
    }
    found->second.add(each);
  }
  Validation validation{
      .costs = {.machine = costs.machine, .transports = {}, .not_measured = costs.not_measured},
      .workloads = {}};
  const std::size_t fits = transports.size() * (1 + measurements.workloads.front().runs.size());
  std::size_t done = 0;
  for (auto& [kind, transport] : transports) {
    transport.fit([&] { progress(static_cast<double>(++done) / static_cast<double>(fits)); });
    validation.costs.transports.push_back({.transport = kind, .costs = transport.costs()});
    transport.predict(validation.workloads);
  }
  return validation;
}

}  // namespace larder::sim
