#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"

namespace larder::real {

// What the files of a machine below /proc and /sys say about how well a pool will run on it. A fact
// that this kernel does not tell is empty.
struct MachineFacts {
  struct KernelVersion {
    unsigned major = 0;
    unsigned minor = 0;
    auto operator<=>(const KernelVersion&) const = default;
  };
  struct HugePages {
    std::uint64_t total = 0;
    std::uint64_t free = 0;
    Bytes size;
  };
  struct MemoryLimit {
    int version = 2;  // of the control groups
    Bytes limit;
    Bytes used;  // without file pages that nobody uses
    std::string directory;
  };
  struct CongestionControl {
    std::string current;
    std::string available;
  };
  struct VerbsPort {
    std::string device;
    std::string port;
    std::string state;  // ACTIVE, DOWN …
    std::string link;   // InfiniBand, Ethernet
    std::string rate;
  };
  struct Listening {  // a TCP port that is taken
    std::uint16_t port = 0;
    std::string holder;  // "larder (pid 17)"; empty where we may not look
  };

  std::string kernel;  // "6.1.0-18-amd64"
  KernelVersion version;
  std::optional<Bytes> memory;              // of the machine
  std::optional<Bytes> memory_available;    // as the kernel guesses
  std::optional<std::uint64_t> locked_max;  // bytes that a process may lock; the largest: no limit
  std::optional<std::uint64_t> files_max;   // descriptors, soft limit
  std::optional<std::uint64_t> files_hard;
  std::optional<HugePages> huge_pages;
  std::string transparent_huge_pages;       // always, madvise, never
  std::optional<Bytes> shared_memory;       // the size of /dev/shm
  std::optional<MemoryLimit> memory_limit;  // the tightest of our control group and those above it
  std::string clock_source;
  std::optional<std::uint64_t> connections_waiting_max;  // net.core.somaxconn
  std::optional<Bytes> receive_buffer_max;               // the third of net.ipv4.tcp_rmem
  std::optional<Bytes> send_buffer_max;                  // of net.ipv4.tcp_wmem
  std::optional<CongestionControl> congestion;
  std::vector<VerbsPort> verbs;  // by device and port
  std::size_t numa_nodes = 0;
  std::optional<unsigned> ptrace_scope;
  std::optional<unsigned> io_uring_disabled;
  std::vector<Listening> listening;  // by port
};

// `root` holds proc and sys: "/" for this machine.
MachineFacts read_machine_facts(const std::filesystem::path& root = "/");

}  // namespace larder::real
