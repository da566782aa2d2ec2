#include "real/calibrate/server_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>
#include <utility>

#include "core/base/printable.h"

namespace larder::real {
namespace {

constexpr int no_process = -1;

// The child's part between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* arguments, int output, int parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it is gone already
  ::dup2(output, STDOUT_FILENO);
  ::execv("/proc/self/exe", arguments);
  ::_exit(127);
}

// Without its end; empty if there is none.
std::string read_line(int descriptor) {
  std::string line;
  for (char c = 0; line.size() < 4096 && ::read(descriptor, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

std::unexpected<Error> not_started(const std::vector<std::string>& arguments,
                                   const std::string& why) {
  return failed(ErrorCode::unavailable_in_current_status,
                "larder " + printable(arguments.front(), 100) + " " + why);
}

}  // namespace

Duration processor_time_of(int process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    return Duration(0);
  }
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, ...
Duration processor_time_of_all() {
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  std::uint64_t ticks = 0;
  for (int field = 0; field < 8; ++field) {
    std::uint64_t count = 0;
    file >> count;
    constexpr int idle = 3;
    constexpr int waiting = 4;
    if (field != idle && field != waiting) ticks += count;
  }
  static const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return Duration(static_cast<std::int64_t>(ticks * (1'000'000'000 / per_second)));
}

Result<ServerProcess> ServerProcess::start(const std::vector<std::string>& arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return not_started(arguments, "has no pipe to be heard by");
  Descriptor output(ends[0]);
  Descriptor input(ends[1]);
  std::vector<std::string> words{"larder"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int parent = ::getpid();
  const int process = ::fork();
  if (process < 0) return not_started(arguments, "could not be started");
  if (process == 0) become(pointers.data(), input.get(), parent);
  ServerProcess server(process, std::move(output));
  input.close();
  server.endpoint_ = read_line(server.output_.get());
  if (server.endpoint_.empty()) return not_started(arguments, "ended before it was ready");
  return server;
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : process_(std::exchange(other.process_, no_process)),
      output_(std::move(other.output_)),
      endpoint_(std::move(other.endpoint_)) {}

ServerProcess& ServerProcess::operator=(ServerProcess&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(output_, other.output_);
  std::swap(endpoint_, other.endpoint_);
  return *this;
}

ServerProcess::~ServerProcess() {
  if (process_ == no_process) return;
  ::kill(process_, SIGTERM);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace larder::real
