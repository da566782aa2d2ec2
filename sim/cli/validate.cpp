#include "sim/calibration/validate.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/printable.h"
#include "proto/calibration/calibration_files.h"
#include "proto/hardware/hardware_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/text_file.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;

struct ValidateArguments {
  std::string directory;
  std::string out;
  bool json = false;
};

// A file of the directory, read by `read`; errors name it.
template <class T>
Result<T> load(const std::string& directory, const char* name,
               Result<T> (*read)(std::string_view)) {
  const std::string path = (std::filesystem::path(directory) / name).string();
  LARDER_TRY(const std::string text, read_text_file(path));
  Result<T> value = read(text);
  if (value) return value;
  return failed(value.error().code(), printable(path, 200) + ": " + value.error().facts().detail);
}

// ---- for people ---------------------------------------------------------------------------------

// "930.4 (930.4-1362.2)" of what was measured, then of what is predicted.
std::string cells(const Compared& compared, int digits) {
  const auto text = [&](const Interval& interval) {
    return fmt::format("{:.{}f} ({:.{}f}-{:.{}f})", interval.value / 1e6, digits,
                       interval.low / 1e6, digits, interval.high / 1e6, digits);
  };
  return fmt::format("{:>25}{:>25}", text(compared.measured), text(compared.predicted));
}

std::string percent(double share) { return fmt::format("{:.1f}", share * 100); }

std::string throughput_text(const Validation& validation) {
  std::string text = fmt::format("{:<30}{:>6}{:>25}{:>25}{:>8}{:>8}{:>8}\n", "throughput, MB/s",
                                 "half", "measured", "predicted", "error", "beyond", "spread");
  for (const ValidatedWorkload& each : validation.workloads) {
    const Compared& rate = each.bytes_per_second;
    text += fmt::format("{:<30}{:>6}{}{:>8}{:>8}{:>8}\n", to_string(each.workload),
                        each.fitted ? "fit" : "judge", cells(rate, 1), percent(rate.error()),
                        percent(rate.error_beyond_spread()), percent(rate.spread()));
  }
  return text;
}

std::string times_text(const Validation& validation) {
  std::string text =
      fmt::format("{:<30}{:>25}{:>25}{:>8}{:>25}{:>25}{:>8}\n", "of a call, ms", "p50 measured",
                  "predicted", "error", "p99 measured", "predicted", "error");
  for (const ValidatedWorkload& each : validation.workloads) {
    text += fmt::format("{:<30}{}{:>8}{}{:>8}\n", to_string(each.workload), cells(each.p50, 3),
                        percent(each.p50.error()), cells(each.p99, 3), percent(each.p99.error()));
  }
  return text;
}

std::string errors_text(const Validation& validation, std::string_view name,
                        Validation::Which which) {
  const auto plain = validation.errors(which);
  if (!plain) return {};
  which.beyond_spread = true;
  const Errors beyond = validation.errors(which).value();
  return fmt::format("{:<24}{:>10}{:>10}{:>22}{:>10}\n", name, percent(plain->median),
                     percent(plain->worst), percent(beyond.median), percent(beyond.worst));
}

std::string to_text(const Validation& validation) {
  const CalibratedMachine& machine = validation.costs.machine;
  std::string text =
      fmt::format("{}, {} cores, {}; others used {:.1f} % of the processors\n\n", machine.processor,
                  machine.cores, machine.date, static_cast<double>(machine.others_permille) / 10) +
      throughput_text(validation) + "\n" + times_text(validation);
  text += fmt::format("\n{:<24}{:>20}{:>32}\n{:<24}{:>10}{:>10}{:>22}{:>10}\n", "throughput, % off",
                      "of the middle run", "of the nearest run", "", "median", "worst", "median",
                      "worst");
  for (const bool fitted : {true, false}) {
    for (const auto& [name, transport] : transport_names) {
      text += errors_text(validation, fmt::format("{}, {}", fitted ? "fitted" : "judged", name),
                          {.fitted = fitted, .beyond_spread = false, .transport = transport});
    }
  }
  text += errors_text(validation, "judged, all", {});
  text += "\nfitted costs\n";
  for (const auto& [transport, costs] : validation.costs.transports) {
    for (const auto& [name, member] : cost_names) {
      const Figure& figure = costs.*member;
      text +=
          fmt::format("  {:<8}{:<26}{:>14}   {} to {}\n",
                      transport == CalibratedTransport::local ? "local" : "tcp", name,
                      terminal::with_thousands(figure.value), terminal::with_thousands(figure.low),
                      terminal::with_thousands(figure.high));
    }
  }
  return text;
}

// ---- for programs -------------------------------------------------------------------------------

ordered_json to_json(const Compared& compared) {
  const auto interval = [](const Interval& of) {
    return ordered_json{{"value", of.value}, {"low", of.low}, {"high", of.high}};
  };
  return {{"measured", interval(compared.measured)},
          {"predicted", interval(compared.predicted)},
          {"error", compared.error()},
          {"error_beyond_spread", compared.error_beyond_spread()},
          {"spread", compared.spread()}};
}

ordered_json to_json(const Validation& validation) {
  ordered_json workloads = ordered_json::array();
  for (const ValidatedWorkload& each : validation.workloads) {
    workloads.push_back({{"workload", to_string(each.workload)},
                         {"fitted", each.fitted},
                         {"bytes_per_second", to_json(each.bytes_per_second)},
                         {"p50_ns", to_json(each.p50)},
                         {"p99_ns", to_json(each.p99)}});
  }
  ordered_json value{{"costs", ordered_json::parse(write_costs(validation.costs))},
                     {"workloads", std::move(workloads)}};
  for (const bool beyond : {false, true}) {
    const auto errors = validation.errors({.fitted = false, .beyond_spread = beyond});
    ordered_json& place = value[beyond ? "judged_beyond_spread" : "judged"];
    if (errors) place = {{"median", errors->median}, {"worst", errors->worst}};
  }
  return value;
}

Status run(const ValidateArguments& arguments) {
  LARDER_TRY(const Hardware host, load(arguments.directory, "host.json", &read_hardware));
  LARDER_TRY(const CalibratedCosts costs, load(arguments.directory, "costs.json", &read_costs));
  LARDER_TRY(const Measurements measurements,
             load(arguments.directory, "measured.json", &read_measurements));
  terminal::ProgressBar bar({.title = "validate", .enabled = !arguments.json});
  LARDER_TRY(
      const Validation validation,
      validate(host, costs, measurements, {}, [&](double share) { bar.show(share, "fitting"); }));
  if (!arguments.out.empty()) {
    LARDER_CHECK(write_text_file(arguments.out, write_costs(validation.costs)));
  }
  return terminal::print(arguments.json ? to_json(validation).dump(2) + "\n" : to_text(validation));
}

}  // namespace

void add_validate(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "validate", "Holds the simulator against what larder calibrate has measured on a machine");
  command.footer(
      "DIR has the files of larder calibrate. Simulates the same workloads, after fitting the "
      "costs\n"
      "to every second one of them; the others judge. Of throughput and service time it prints "
      "what\n"
      "was measured (the middle run, and between what all runs lie) and predicted (and between "
      "what\n"
      "the fits to single runs lie), how far they are apart in percent, and how much of that the\n"
      "spread of the runs does not explain.\n"
      "Example: larder calibrate --out here && larder-sim validate here");
  const auto arguments = std::make_shared<ValidateArguments>();
  command.add_option("DIR", arguments->directory, "Where larder calibrate has written").required();
  command.add_option(
      "--out", arguments->out,
      "A file, for the fitted costs; as DIR/fitted.json they are what --costs DIR of "
      "replay, sweep and plan takes");
  command.add_flag("--json", arguments->json,
                   "Print {costs, workloads: [{workload, fitted, bytes_per_second, p50_ns, "
                   "p99_ns}], judged, judged_beyond_spread}");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
