#include "real/calibrate/machine_rates.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "core/base/printable.h"
#include "core/base/size_text.h"
#include "real/daemon/descriptor.h"
#include "real/rpc/loop.h"
#include "real/transport/tcp_options.h"
#include "terminal/version.h"

namespace larder::real {
namespace {

constexpr std::size_t block = std::size_t{64} << 20;  // twice what the largest caches hold
constexpr std::size_t write_bytes = std::size_t{1} << 20;
constexpr std::size_t shown_bytes_max = 190;  // of a text in a file of ours

Bytes per_second(std::uint64_t bytes, Duration time) {
  return {static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 /
                                     static_cast<double>(time.count()))};
}

std::unexpected<Error> socket_error(const char* what) {
  return failed(ErrorCode::unavailable_in_current_status,
                std::string(what) + " over loopback: " + std::strerror(errno));
}

struct Ends {
  Descriptor sender;
  Descriptor receiver;
};

Result<Ends> connected() {
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Ends ends{.sender = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
            .receiver = Descriptor()};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), plain, length) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), plain, &length) != 0 ||
      ::connect(ends.sender.get(), plain, length) != 0) {
    return socket_error("connecting");
  }
  ends.receiver = Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!ends.receiver) return socket_error("accepting");
  for (const int socket : {ends.sender.get(), ends.receiver.get()}) apply(TcpOptions{}, socket);
  return ends;
}

// The first value of a line "NAME : VALUE".
std::string value_in(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : printable(line.substr(begin), shown_bytes_max);
  }
  return "";
}

// As the kernel tells it, such as "32768K".
Bytes last_level_cache() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  std::string text;
  file >> text;
  return parse_size(text).value_or(Bytes{});
}

}  // namespace

Result<Bytes> memory_rate(std::uint32_t cores, Duration time) {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (std::size_t i = 0; i < std::size_t{2} * cores; ++i) {
    blocks.emplace_back(new (std::nothrow) char[block]);
    if (blocks.back() == nullptr) {
      return failed(ErrorCode::no_available_handle, "no memory to measure memory with");
    }
    std::memset(blocks.back().get(), 1, block);  // pages that are there
  }
  const BootClock clock;
  const Time begin = clock.now();
  std::vector<std::uint64_t> rounds(cores);
  std::vector<std::jthread> threads;
  for (std::size_t core = 0; core < cores; ++core) {
    threads.emplace_back([&, core] {
      do {
        std::memcpy(blocks[2 * core].get(), blocks[2 * core + 1].get(), block);
        ++rounds[core];
      } while (clock.now() < begin + time);
    });
  }
  threads.clear();
  const Duration took = clock.now() - begin;
  std::uint64_t copied = 0;
  for (const std::uint64_t each : rounds) copied += each * block;
  return per_second(2 * copied, took);
}

Result<Bytes> loopback_rate(Duration time) {
  LARDER_TRY(Ends ends, connected());
  const BootClock clock;
  std::jthread sending([&] {
    const std::vector<char> from(write_bytes, 'l');
    while (::send(ends.sender.get(), from.data(), from.size(), MSG_NOSIGNAL) > 0) continue;
  });
  std::vector<char> into(write_bytes);
  const Time begin = clock.now();
  std::uint64_t received = 0;
  while (clock.now() < begin + time) {
    const ssize_t count = ::recv(ends.receiver.get(), into.data(), into.size(), 0);
    if (count <= 0) break;
    received += static_cast<std::uint64_t>(count);
  }
  const Duration took = clock.now() - begin;
  ::shutdown(ends.sender.get(), SHUT_RDWR);
  ends.receiver.close();
  sending.join();
  if (received == 0) return socket_error("receiving");
  return per_second(received, took);
}

CalibratedMachine describe_machine() {
  CalibratedMachine machine{.processor = value_in("/proc/cpuinfo", "model name"),
                            .cores = std::max(1u, std::thread::hardware_concurrency()),
                            .memory = {static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))},
                            .cache = last_level_cache(),
                            .kernel = {},
                            .program = terminal::version_text("larder"),
                            .date = {},
                            .others_permille = 0};
  utsname name{};
  if (::uname(&name) == 0) machine.kernel = printable(name.release, shown_bytes_max);
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char date[32];
  if (std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts) > 0) machine.date = date;
  return machine;
}

}  // namespace larder::real
