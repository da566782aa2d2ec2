#include "real/system/machine_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "real/system/kernel_files.h"

namespace larder::real {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// "MemTotal:   16384 kB"
std::optional<std::uint64_t> field_of(const std::vector<std::string>& lines,
                                      std::string_view name) {
  for (const std::string& line : lines) {
    const auto words = words_of(line);
    if (words.size() >= 2 && words[0] == name) return number_of(words[1]);
  }
  return std::nullopt;
}

void read_memory(const fs::path& proc, MachineFacts& facts) {
  const auto lines = lines_of(proc / "meminfo");
  const auto kib = [&](std::string_view name) -> std::optional<Bytes> {
    const auto number = field_of(lines, name);
    return number ? std::optional(Bytes{*number << 10}) : std::nullopt;
  };
  facts.memory = kib("MemTotal:");
  facts.memory_available = kib("MemAvailable:");
  const auto total = field_of(lines, "HugePages_Total:");
  const auto free = field_of(lines, "HugePages_Free:");
  const auto size = kib("Hugepagesize:");
  if (total && free && size) {
    facts.huge_pages = MachineFacts::HugePages{.total = *total, .free = *free, .size = *size};
  }
}

// "Max locked memory   8388608   8388608   bytes"
void read_limits(const fs::path& proc, MachineFacts& facts) {
  for (const std::string& line : lines_of(proc / "self/limits")) {
    const auto read = [&](std::string_view name, std::optional<std::uint64_t>& soft,
                          std::optional<std::uint64_t>& hard) {
      if (!line.starts_with(name)) return;
      const auto words = words_of(std::string_view(line).substr(name.size()));
      const auto limit = [](const std::string& word) {
        return word == "unlimited" ? std::optional(no_limit) : number_of(word);
      };
      if (words.size() < 2) return;
      soft = limit(words[0]);
      hard = limit(words[1]);
    };
    std::optional<std::uint64_t> ignored;
    read("Max locked memory", facts.locked_max, ignored);
    read("Max open files", facts.files_max, facts.files_hard);
  }
}

// The word in brackets of "always [madvise] never".
std::string chosen(const std::string& line) {
  const std::size_t begin = line.find('[');
  const std::size_t end = line.find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  return line.substr(begin + 1, end - begin - 1);
}

// Of a tmpfs, its option size= (in bytes, or with k, m or g); without it half of the memory.
std::optional<Bytes> size_of_shared_memory(const fs::path& proc, std::optional<Bytes> memory) {
  std::optional<Bytes> size;
  for (const std::string& line : lines_of(proc / "self/mounts")) {
    const auto words = words_of(line);
    if (words.size() < 4 || words[1] != "/dev/shm") continue;
    size = memory ? std::optional(*memory / 2) : std::nullopt;
    const std::string options = "," + words[3];
    const std::size_t at = options.find(",size=");
    if (at == std::string::npos) continue;
    const std::string value = options.substr(at + 6, options.find(',', at + 1) - at - 6);
    const auto number = number_of(value);
    if (!number) continue;
    const std::size_t power = std::string_view("kmg").find(value.back());
    size = Bytes{*number << (power == std::string_view::npos ? 0 : 10 * (power + 1))};
  }
  return size;
}

struct GroupFiles {
  int version;
  fs::path mount;  // where its tree is
  const char* limit;
  const char* used;
  const char* idle;  // in memory.stat
};

// Looks at the group and at all above it, since each limits those below. In a container its own
// group stands at the root of what it sees.
void read_group(const GroupFiles& files, const std::string& group, MachineFacts& facts) {
  fs::path path = fs::path(group).relative_path();
  while (true) {
    const fs::path directory = path.empty() ? files.mount : files.mount / path;
    const auto limit = number_of(text_of(directory / files.limit));
    const auto used = number_of(text_of(directory / files.used));
    // Version 1 says "no limit" by a number that no machine reaches.
    constexpr std::uint64_t beyond = std::uint64_t{1} << 60;
    if (limit && used && *limit < beyond &&
        (!facts.memory_limit || *limit < facts.memory_limit->limit.value)) {
      const auto idle = field_of(lines_of(directory / "memory.stat"), files.idle).value_or(0);
      facts.memory_limit = MachineFacts::MemoryLimit{.version = files.version,
                                                     .limit = {*limit},
                                                     .used = {*used - std::min(*used, idle)},
                                                     .directory = "/" + path.string()};
    }
    if (path.empty()) return;
    path = path.parent_path();
  }
}

void read_groups(const fs::path& root, MachineFacts& facts) {
  const fs::path mount = root / "sys/fs/cgroup";
  for (const std::string& line : lines_of(root / "proc/self/cgroup")) {
    // "0::/path", or of version 1 "9:memory:/path"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      read_group({.version = 2,
                  .mount = mount,
                  .limit = "memory.max",
                  .used = "memory.current",
                  .idle = "inactive_file"},
                 group, facts);
    } else if (controllers.find(",memory,") != std::string::npos) {
      read_group({.version = 1,
                  .mount = mount / "memory",
                  .limit = "memory.limit_in_bytes",
                  .used = "memory.usage_in_bytes",
                  .idle = "total_inactive_file"},
                 group, facts);
    }
  }
}

void read_network(const fs::path& proc, MachineFacts& facts) {
  const fs::path net = proc / "sys/net";
  facts.connections_waiting_max = number_of(text_of(net / "core/somaxconn"));
  const auto third = [&](const char* name) -> std::optional<Bytes> {
    const auto words = words_of(text_of(net / "ipv4" / name));
    if (words.size() != 3) return std::nullopt;
    const auto number = number_of(words[2]);
    return number ? std::optional(Bytes{*number}) : std::nullopt;
  };
  facts.receive_buffer_max = third("tcp_rmem");
  facts.send_buffer_max = third("tcp_wmem");
  const std::string current = text_of(net / "ipv4/tcp_congestion_control");
  if (!current.empty()) {
    facts.congestion = MachineFacts::CongestionControl{
        .current = current, .available = text_of(net / "ipv4/tcp_available_congestion_control")};
  }
}

void read_verbs(const fs::path& root, MachineFacts& facts) {
  const fs::path devices = root / "sys/class/infiniband";
  for (const std::string& device : names_in(devices)) {
    for (const std::string& port : names_in(devices / device / "ports")) {
      const fs::path files = devices / device / "ports" / port;
      facts.verbs.push_back({.device = device,
                             .port = port,
                             .state = behind_colon(text_of(files / "state")),
                             .link = text_of(files / "link_layer"),
                             .rate = text_of(files / "rate")});
    }
  }
}

std::size_t count_numa_nodes(const fs::path& root) {
  const auto names = names_in(root / "sys/devices/system/node");
  return static_cast<std::size_t>(std::ranges::count_if(names, [](std::string_view name) {
    return name.starts_with("node") && number_of(name.substr(4));
  }));
}

// ---- who listens --------------------------------------------------------------------------------

// By the number of its socket, who holds it: the lowest process id of those that do.
std::map<std::uint64_t, std::string> holders_of(const fs::path& proc,
                                                const std::set<std::uint64_t>& sockets) {
  std::map<std::uint64_t, std::string> holders;
  constexpr std::string_view prefix = "socket:[";
  for (const std::string& process : names_in(proc)) {
    if (!number_of(process)) continue;
    for (const std::string& descriptor : names_in(proc / process / "fd")) {
      std::error_code error;
      const std::string target = fs::read_symlink(proc / process / "fd" / descriptor, error);
      if (error || !target.starts_with(prefix)) continue;
      const auto inode = number_of(std::string_view(target).substr(prefix.size()));
      if (!inode || !sockets.contains(*inode)) continue;
      holders.emplace(*inode,
                      fmt::format("{} (pid {})", text_of(proc / process / "comm"), process));
    }
  }
  return holders;
}

void read_listening(const fs::path& proc, MachineFacts& facts) {
  constexpr std::string_view listens = "0A";
  std::map<std::uint16_t, std::uint64_t> sockets;  // by port
  for (const char* name : {"net/tcp", "net/tcp6"}) {
    for (const std::string& line : lines_of(proc / name)) {
      const auto words = words_of(line);
      if (words.size() < 10 || words[3] != listens) continue;
      const std::size_t colon = words[1].rfind(':');
      if (colon == std::string::npos) continue;
      const auto port = number_of<std::uint16_t>(std::string_view(words[1]).substr(colon + 1), 16);
      const auto inode = number_of(words[9]);
      if (port && inode) sockets.emplace(*port, *inode);
    }
  }
  std::set<std::uint64_t> inodes;
  for (const auto& [port, inode] : sockets) inodes.insert(inode);
  const auto holders = holders_of(proc, inodes);
  for (const auto& [port, inode] : sockets) {
    const auto found = holders.find(inode);
    facts.listening.push_back(
        {.port = port, .holder = found == holders.end() ? "" : found->second});
  }
}

}  // namespace

MachineFacts read_machine_facts(const fs::path& root) {
  const fs::path proc = root / "proc";
  const fs::path sys = root / "sys";
  MachineFacts facts;
  facts.kernel = text_of(proc / "sys/kernel/osrelease");
  facts.version.major = number_of<unsigned>(facts.kernel).value_or(0);
  if (const std::size_t dot = facts.kernel.find('.'); dot != std::string::npos) {
    facts.version.minor =
        number_of<unsigned>(std::string_view(facts.kernel).substr(dot + 1)).value_or(0);
  }
  read_memory(proc, facts);
  read_limits(proc, facts);
  facts.transparent_huge_pages = chosen(text_of(sys / "kernel/mm/transparent_hugepage/enabled"));
  facts.shared_memory = size_of_shared_memory(proc, facts.memory);
  read_groups(root, facts);
  facts.clock_source = text_of(sys / "devices/system/clocksource/clocksource0/current_clocksource");
  read_network(proc, facts);
  read_verbs(root, facts);
  facts.numa_nodes = count_numa_nodes(root);
  facts.ptrace_scope = number_of<unsigned>(text_of(proc / "sys/kernel/yama/ptrace_scope"));
  facts.io_uring_disabled = number_of<unsigned>(text_of(proc / "sys/kernel/io_uring_disabled"));
  read_listening(proc, facts);
  return facts;
}

}  // namespace larder::real
