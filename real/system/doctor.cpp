#include "real/system/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>
#include <system_error>

#include "core/base/size_text.h"

namespace larder::real {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

Finding good(std::string subject, std::string found) {
  return {.subject = std::move(subject), .found = std::move(found), .advice = {}};
}

Finding unknown(std::string subject) {
  return {.subject = std::move(subject),
          .found = "this kernel does not say",
          .verdict = Verdict::note,
          .advice = {}};
}

Finding kernel(const MachineFacts& facts) {
  constexpr MachineFacts::KernelVersion populate{.major = 5, .minor = 14};
  constexpr MachineFacts::KernelVersion ring{.major = 5, .minor = 1};
  Finding finding = good("kernel", facts.kernel.empty() ? "unknown" : facts.kernel);
  const bool has_ring = facts.version >= ring && facts.io_uring_disabled.value_or(0) == 0;
  finding.found += has_ring ? ", io_uring" : ", no io_uring";
  if (facts.version >= populate) {
    finding.found += ", MADV_POPULATE_WRITE";
  } else {
    finding.found += ", no MADV_POPULATE_WRITE";
    finding.verdict = Verdict::warning;
    finding.advice =
        "a kernel from 5.14 on takes a node's memory faster, and says where there is not enough";
  }
  return finding;
}

Finding memory(const MachineFacts& facts, const DoctorQuestion& question) {
  if (!facts.memory || !facts.memory_available) return unknown("memory");
  Finding finding =
      good("memory", fmt::format("{} of {} available", size_text(*facts.memory_available),
                                 size_text(*facts.memory)));
  if (question.memory > *facts.memory_available) {
    finding.verdict = Verdict::problem;
    finding.advice = fmt::format("a node of {} does not fit: larder node --memory {}MiB",
                                 size_text(question.memory),
                                 facts.memory_available->value / 10 * 9 / (1_MiB).value);
  }
  return finding;
}

Finding memory_limit(const MachineFacts& facts, const DoctorQuestion& question) {
  if (!facts.memory_limit) return good("memory limit", "none by a control group");
  const MachineFacts::MemoryLimit& limit = *facts.memory_limit;
  const Bytes left = limit.limit - std::min(limit.limit, limit.used);
  Finding finding = good(
      "memory limit", fmt::format("{} of {} left in control group {} (version {})", size_text(left),
                                  size_text(limit.limit), limit.directory, limit.version));
  finding.verdict = Verdict::note;
  finding.advice = "a node's --memory must stay below it, or the kernel kills the process";
  if (question.memory > left) {
    finding.verdict = Verdict::problem;
    finding.advice = fmt::format(
        "a node of {} will be killed: raise the limit (docker run --memory, or "
        "resources.limits.memory of the pod) or take less with --memory",
        size_text(question.memory));
  }
  return finding;
}

Finding locked_memory(const MachineFacts& facts) {
  if (!facts.locked_max) return unknown("locked memory");
  const bool unlimited = *facts.locked_max == no_limit;
  Finding finding = good("locked memory", unlimited ? "no limit" : size_text({*facts.locked_max}));
  if (unlimited) return finding;
  // Only devices need pages that stay where they are.
  finding.verdict = facts.verbs.empty() ? Verdict::note : Verdict::problem;
  finding.advice =
      std::string(facts.verbs.empty() ? "matters only for RDMA: "
                                      : "RDMA cannot register memory: ") +
      "ulimit -l unlimited, or LimitMEMLOCK=infinity in the systemd unit, or docker run --ulimit "
      "memlock=-1";
  return finding;
}

Finding open_files(const MachineFacts& facts) {
  if (!facts.files_max || !facts.files_hard) return unknown("open files");
  constexpr std::uint64_t enough = 8192;
  const auto text = [](std::uint64_t limit) {
    return limit == no_limit ? std::string("unlimited") : std::to_string(limit);
  };
  Finding finding = good(
      "open files", fmt::format("{}, at most {}", text(*facts.files_max), text(*facts.files_hard)));
  if (*facts.files_hard < enough) {  // servers raise the soft limit themselves
    finding.verdict = Verdict::warning;
    finding.advice =
        "each client and node takes one: ulimit -Hn 1048576, or LimitNOFILE=1048576 in the unit";
  }
  return finding;
}

Finding huge_pages(const MachineFacts& facts) {
  std::string found = "none reserved";
  if (facts.huge_pages && facts.huge_pages->total > 0) {
    found = fmt::format("{} of {} free, of {} each", facts.huge_pages->free,
                        facts.huge_pages->total, size_text(facts.huge_pages->size));
  }
  const std::string& transparent = facts.transparent_huge_pages;
  Finding finding = good(
      "huge pages",
      fmt::format("{}; transparent: {}", found, transparent.empty() ? "not there" : transparent));
  if (transparent == "never" || transparent.empty()) {
    finding.verdict = Verdict::warning;
    finding.advice =
        "large copies are slower without: echo madvise > "
        "/sys/kernel/mm/transparent_hugepage/enabled";
  }
  return finding;
}

Finding shared_memory(const MachineFacts& facts) {
  if (!facts.shared_memory) {
    return {.subject = "/dev/shm",
            .found = "not mounted",
            .verdict = Verdict::warning,
            .advice = "mount -t tmpfs -o size=50% tmpfs /dev/shm"};
  }
  Finding finding = good("/dev/shm", size_text(*facts.shared_memory));
  if (*facts.shared_memory < 1_GiB) {
    finding.verdict = Verdict::warning;
    finding.advice =
        "too small for engines that share memory: docker run --shm-size 8g, or "
        "mount -o remount,size=50% /dev/shm";
  }
  return finding;
}

Finding clock_source(const MachineFacts& facts) {
  if (facts.clock_source.empty()) return unknown("clock source");
  Finding finding = good("clock source", facts.clock_source);
  const bool fast = facts.clock_source == "tsc" || facts.clock_source == "kvm-clock" ||
                    facts.clock_source == "hyperv_clocksource_tsc_page" ||
                    facts.clock_source == "arch_sys_counter";
  if (!fast) {
    finding.verdict = Verdict::warning;
    finding.advice =
        "each look at the clock is a system call: echo tsc > "
        "/sys/devices/system/clocksource/clocksource0/current_clocksource, if it is available";
  }
  return finding;
}

Finding port(const MachineFacts& facts, std::uint16_t number) {
  const std::string subject = fmt::format("port {}", number);
  for (const MachineFacts::Listening& each : facts.listening) {
    if (each.port != number) continue;
    const bool ours = each.holder.starts_with("larder ");
    return {
        .subject = subject,
        .found = "taken by " + (each.holder.empty() ? "a process of another user" : each.holder),
        .verdict = ours ? Verdict::note : Verdict::warning,
        .advice = ours ? "a pool runs here already"
                       : fmt::format("take another: larder master --listen 127.0.0.1:{}",
                                     number == 65535 ? 7701 : number + 1)};
  }
  return good(subject, "free");
}

Finding waiting_connections(const MachineFacts& facts) {
  if (!facts.connections_waiting_max) return unknown("waiting connections");
  Finding finding = good("waiting connections", std::to_string(*facts.connections_waiting_max));
  if (*facts.connections_waiting_max < 1024) {
    finding.verdict = Verdict::warning;
    finding.advice =
        "clients that start together are turned away: sysctl -w net.core.somaxconn=4096";
  }
  return finding;
}

Finding tcp_buffers(const MachineFacts& facts) {
  if (!facts.receive_buffer_max || !facts.send_buffer_max) return unknown("TCP buffers");
  Finding finding = good("TCP buffers", fmt::format("receive up to {}, send up to {}",
                                                    size_text(*facts.receive_buffer_max),
                                                    size_text(*facts.send_buffer_max)));
  if (std::min(*facts.receive_buffer_max, *facts.send_buffer_max) < 4_MiB) {
    finding.verdict = Verdict::note;
    finding.advice =
        "between machines more is faster: sysctl -w net.ipv4.tcp_rmem='4096 131072 33554432' "
        "net.ipv4.tcp_wmem='4096 16384 33554432'";
  }
  return finding;
}

Finding congestion_control(const MachineFacts& facts) {
  if (!facts.congestion) return unknown("TCP congestion control");
  Finding finding = good(
      "TCP congestion control",
      fmt::format("{} (available: {})", facts.congestion->current, facts.congestion->available));
  if (facts.congestion->current.starts_with("bbr")) {
    finding.verdict = Verdict::note;
    finding.advice =
        "holds bytes back inside one machine, so larder takes cubic there (--tcp-congestion auto)";
    if (facts.congestion->available.find("cubic") == std::string::npos) {
      finding.verdict = Verdict::warning;
      finding.advice =
          "holds bytes back inside one machine, and cubic is not there: modprobe tcp_cubic";
    }
  }
  return finding;
}

std::vector<Finding> verbs(const MachineFacts& facts) {
  if (facts.verbs.empty()) {
    Finding none = good("verbs devices", "none; bytes go over TCP");
    none.verdict = Verdict::note;
    return {none};
  }
  std::vector<Finding> findings;
  for (const MachineFacts::VerbsPort& each : facts.verbs) {
    Finding finding = good(fmt::format("verbs {} port {}", each.device, each.port),
                           fmt::format("{}, {}, {}", each.state, each.link, each.rate));
    if (each.state != "ACTIVE") {
      finding.verdict = Verdict::warning;
      finding.advice = each.link == "InfiniBand"
                           ? "look at cable and subnet manager: ibstat " + each.device
                           : fmt::format(
                                 "bring its link up: ip link set dev $(ls "
                                 "/sys/class/infiniband/{}/device/net) up",
                                 each.device);
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

Finding numa(const MachineFacts& facts) {
  Finding finding = good("NUMA nodes", std::to_string(std::max<std::size_t>(1, facts.numa_nodes)));
  if (facts.numa_nodes > 1) {
    finding.verdict = Verdict::note;
    finding.advice =
        "one larder node for each keeps its memory near its threads: numactl --cpunodebind=0 "
        "--membind=0 larder node …";
  }
  return finding;
}

Finding ptrace(const MachineFacts& facts) {
  if (!facts.ptrace_scope) return good("ptrace_scope", "not restricted");
  Finding finding = good("ptrace_scope", std::to_string(*facts.ptrace_scope));
  if (*facts.ptrace_scope > 0) {
    finding.verdict = Verdict::note;
    finding.advice =
        "a node may not read the memory of its clients, so puts over shared memory are copied once "
        "more: sysctl -w kernel.yama.ptrace_scope=0";
  }
  return finding;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::good:
      return "good";
    case Verdict::note:
      return "note";
    case Verdict::warning:
      return "warning";
    case Verdict::problem:
      return "problem";
  }
  return "";
}

std::vector<Finding> examine(const MachineFacts& facts, const DoctorQuestion& question) {
  std::vector<Finding> findings{kernel(facts),
                                memory(facts, question),
                                memory_limit(facts, question),
                                locked_memory(facts),
                                open_files(facts),
                                huge_pages(facts),
                                shared_memory(facts),
                                numa(facts),
                                clock_source(facts)};
  for (const std::uint16_t number : question.ports) findings.push_back(port(facts, number));
  findings.push_back(waiting_connections(facts));
  findings.push_back(tcp_buffers(facts));
  findings.push_back(congestion_control(facts));
  for (Finding& finding : verbs(facts)) findings.push_back(std::move(finding));
  findings.push_back(ptrace(facts));
  return findings;
}

Finding examine_boot_clock() {
  timespec now{};
  if (::clock_gettime(CLOCK_BOOTTIME, &now) == 0) return good("CLOCK_BOOTTIME", "works");
  return {.subject = "CLOCK_BOOTTIME",
          .found = std::generic_category().message(errno),
          .verdict = Verdict::problem,
          .advice = "leases are counted by it: allow clock_gettime(CLOCK_BOOTTIME) in the sandbox"};
}

}  // namespace larder::real
