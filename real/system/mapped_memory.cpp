#include "real/system/mapped_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/size_text.h"

namespace larder::real {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = std::size_t{64} << 20;
constexpr std::size_t page_bytes = 4096;
constexpr unsigned threads_max = 8;
constexpr Bytes no_limit{std::numeric_limits<std::uint64_t>::max()};

// The number in a file such as memory.max; none if it says "max" or is not there.
std::optional<std::uint64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// The number behind `name` in a file of "name number" lines.
std::optional<std::uint64_t> number_named(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(name)) continue;
    const std::size_t digits = line.find_first_of("0123456789", name.size());
    if (digits != std::string::npos) return std::stoull(line.substr(digits));
  }
  return std::nullopt;
}

Bytes left_in_cgroup(const fs::path& directory) {
  const auto limit = number_in(directory / "memory.max");
  const auto used = number_in(directory / "memory.current");
  if (!limit || !used) return no_limit;
  // Pages of files that nobody uses give way.
  const std::uint64_t idle = number_named(directory / "memory.stat", "inactive_file ").value_or(0);
  const std::uint64_t busy = *used - std::min(*used, idle);
  return {*limit - std::min(*limit, busy)};
}

Bytes left_in_cgroups() {
  constexpr std::string_view root = "/sys/fs/cgroup";
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  Bytes left = left_in_cgroup(root);
  while (std::getline(file, line)) {
    if (!line.starts_with("0::/")) continue;
    fs::path directory = std::string(root) + line.substr(3);
    for (; directory.string().size() > root.size(); directory = directory.parent_path()) {
      left = std::min(left, left_in_cgroup(directory));
    }
  }
  return left;
}

// 0, or what errno said.
int populate(std::span<std::byte> piece) {
  while (::madvise(piece.data(), piece.size(), MADV_POPULATE_WRITE) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno != EINVAL) return errno;
    // A kernel before 5.14: touching is all that there is.
    for (std::size_t at = 0; at < piece.size(); at += page_bytes) {
      *static_cast<volatile std::byte*>(piece.data() + at) = std::byte{0};
    }
    return 0;
  }
  return 0;
}

int populate_all(std::span<std::byte> bytes, const MappedMemory::Progress& progress) {
  std::atomic<std::size_t> next{0};
  std::atomic<int> problem{0};
  const auto take_piece = [&] {
    const std::size_t at = next.fetch_add(piece_bytes);
    if (at >= bytes.size() || problem != 0) return false;
    const int failure = populate(bytes.subspan(at, std::min(piece_bytes, bytes.size() - at)));
    if (failure != 0) problem = failure;
    return failure == 0;
  };
  {
    std::vector<std::jthread> helpers;
    const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, threads_max);
    for (unsigned i = 1; i < threads; ++i) {
      try {
        helpers.emplace_back([&] {
          while (take_piece()) {
          }
        });
      } catch (const std::system_error&) {
        break;  // no further thread can be had: it goes without, more slowly
      }
    }
    while (take_piece()) {
      if (progress && !progress({std::min(next.load(), bytes.size())})) problem = ECANCELED;
    }
  }
  return problem;
}

std::unexpected<Error> no_memory(Bytes size, std::string_view why) {
  return std::unexpected(Error(ErrorCode::no_available_handle,
                               fmt::format("cannot have {} of memory: {}", size_text(size), why))
                             .with_size(size));
}

}  // namespace

Bytes available_memory() {
  const auto machine = number_named("/proc/meminfo", "MemAvailable:");
  return std::min(machine ? Bytes{*machine * 1024} : no_limit, left_in_cgroups());
}

Result<MappedMemory> MappedMemory::make(Bytes size, const Progress& progress) {
  if (size == 0_B) return MappedMemory();
  // The kernel would kill a process for what can be known before.
  if (const Bytes available = available_memory(); size > available) {
    return no_memory(size, fmt::format("{} are available here (the machine's free memory and the "
                                       "limits of this process's cgroups)",
                                       size_text(available)));
  }
  void* start = ::mmap(nullptr, size.value, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return no_memory(size, std::generic_category().message(errno));
  MappedMemory memory(std::span(static_cast<std::byte*>(start), size.value));
  // Both are wishes: large pages need fewer entries of the TLB, and a forked child needs no copy.
  ::madvise(start, size.value, MADV_HUGEPAGE);
  ::madvise(start, size.value, MADV_DONTFORK);
  const int problem = populate_all(memory.bytes_, progress);
  if (problem == ECANCELED) return failed(ErrorCode::cancelled, "the mapping was given up");
  if (problem != 0) {
    return no_memory(size, std::generic_category().message(problem));
  }
  return memory;
}

MappedMemory::~MappedMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace larder::real
