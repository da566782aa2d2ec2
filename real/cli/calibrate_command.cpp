#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/printable.h"
#include "core/base/size_text.h"
#include "real/calibrate/calibrate.h"
#include "real/cli/commands.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"
#include "workloads/output_file.h"

namespace larder::real {
namespace {

struct CalibrateArguments {
  std::string directory;
  bool quick = false;
};

std::string costs_text(const CalibratedCosts& costs) {
  std::string text;
  for (const auto& [transport, of_it] : costs.transports) {
    for (const auto& [name, kind] : transport_names) {
      if (kind == transport) text += fmt::format("{}\n", name);
    }
    for (const auto& [name, member] : cost_names) {
      const Figure& figure = of_it.*member;
      text +=
          fmt::format("  {:<26}{:>14}   {} to {}\n", name, terminal::with_thousands(figure.value),
                      terminal::with_thousands(figure.low), terminal::with_thousands(figure.high));
    }
  }
  return text;
}

std::string to_text(const Calibration& calibration, const std::string& directory) {
  const CalibratedMachine& machine = calibration.measurements.machine;
  std::string text = fmt::format(
      "{}, {} cores, {}; others used {:.1f} % of the processors meanwhile\n"
      "memory {:.2f} GB/s read and written, loopback {:.2f} GB/s of one connection\n",
      machine.processor, machine.cores, size_text(machine.memory),
      static_cast<double>(machine.others_permille) / 10,
      static_cast<double>(calibration.rates.memory_per_second.value) / 1e9,
      static_cast<double>(calibration.rates.loopback_per_second.value) / 1e9);
  for (const MachineNic& nic : calibration.nics.usable) {
    text += fmt::format("NIC {} {:.2f} GB/s{}\n", printable(nic.name),
                        static_cast<double>(nic.per_second.value) / 1e9,
                        nic.numa_node ? fmt::format(", at NUMA node {}", *nic.numa_node) : "");
  }
  if (calibration.nics.usable.empty()) {
    text += "no NIC can be used: host.json has one that carries what loopback does\n";
  }
  text += costs_text(calibration.costs);
  for (const auto& [what, why] : calibration.measurements.not_measured) {
    text += fmt::format("not measured: {}: {}\n", what, why);
  }
  return text +
         fmt::format("{} workloads; what the simulator makes of them: larder-sim validate {}\n",
                     calibration.measurements.workloads.size(), directory);
}

// Before anything is measured.
Status make_directory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error) return {};
  return failed(ErrorCode::file_write_fail, printable(directory, 200) + ": " + error.message());
}

Status write(const Calibration& calibration, const std::filesystem::path& directory) {
  for (const auto& [name, text] : files_of(calibration)) {
    LARDER_TRY(workloads::OutputFile file, workloads::OutputFile::create(directory / name));
    LARDER_CHECK(file.write(text));
    LARDER_CHECK(file.commit());
  }
  return {};
}

Status run(const CalibrateArguments& arguments) {
  LARDER_CHECK(make_directory(arguments.directory));
  const CalibrationPlan plan = arguments.quick ? quick_plan() : full_plan();
  terminal::ProgressBar bar({.title = "calibrate"});
  LARDER_TRY(
      const Calibration calibration,
      calibrate(plan, [&](double share, const std::string& what) { bar.show(share, what); }));
  LARDER_CHECK(write(calibration, arguments.directory));
  return terminal::print(to_text(calibration, arguments.directory));
}

}  // namespace

void add_calibrate(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "calibrate", "Measures what this machine takes for a pool's work, for the simulator");
  command.footer(fmt::format(
      "Starts pools of its own on free ports (a master and a node as processes, and one inside "
      "this\n"
      "process), runs {} workloads on them, each {} times, and writes three files:\n"
      "  host.json      this machine as hardware: larder-sim hardware DIR/host.json\n"
      "  costs.json     what each step of a call takes\n"
      "  measured.json  throughput and service times of the workloads\n"
      "Takes about {}, both processors, and {} of memory. Whatever else runs meanwhile is in the\n"
      "figures: how much that was is written too.\n"
      "Example: larder calibrate --out here && larder-sim validate here",
      full_plan().workloads.size(), full_plan().runs,
      terminal::as_time(static_cast<double>(duration_of(full_plan()).count()) / 1e9),
      size_text(full_plan().memory)));
  const auto arguments = std::make_shared<CalibrateArguments>();
  command.add_option("--out", arguments->directory, "The directory for the files; it is made")
      .required()
      .type_name("DIR");
  command.add_flag("--quick", arguments->quick,
                   "A few workloads for a moment each, in a few seconds: shows that it works, and "
                   "measures little");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
