#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/size_text.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/pool_options.h"
#include "real/cli/value_memory.h"
#include "terminal/arguments.h"
#include "terminal/output.h"

namespace larder::real {
namespace {

struct PutArguments {
  PoolOptions pool;
  KeyOptions keys;
  std::string key;
  std::string file = "-";
  std::uint32_t replicas = 1;
  double time_to_live_s = 0;
  double soft_pin_s = 0;
  bool upsert = false;
  bool json = false;
};

constexpr auto patience_for_nodes = std::chrono::seconds(5);

std::unexpected<Error> read_failure(const std::string& name) {
  return failed(ErrorCode::file_read_fail,
                "cannot read " + name + ": " + std::generic_category().message(errno));
}

// Makes room for more, at least for `size` bytes in all.
Status grow(std::vector<std::byte>& content, const std::string& name, std::size_t size) {
  LARDER_CHECK(check_value_memory(name, {size}));
  content.reserve(size);
  return {};
}

// The size of a file is checked before anything is read.
Result<std::vector<std::byte>> read_all(int descriptor, const std::string& name) {
  std::vector<std::byte> content;
  struct stat about{};
  if (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode)) {
    LARDER_CHECK(grow(content, name, static_cast<std::size_t>(about.st_size) + 1));
  }
  std::size_t filled = 0;  // what lies behind is room, which is zeroed once
  ssize_t n = 1;
  while (n != 0) {
    if (filled == content.size()) {
      LARDER_CHECK(grow(content, name, std::max<std::size_t>(65'536, 2 * filled)));
      content.resize(content.capacity());
    }
    n = ::read(descriptor, content.data() + filled, content.size() - filled);
    if (n < 0 && errno != EINTR) return read_failure(name);
    filled += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  }
  content.resize(filled);
  return content;
}

// All of a file, or of stdin for "-".
Result<std::vector<std::byte>> read_value(const std::string& file) {
  if (file == "-") return read_all(STDIN_FILENO, "stdin");
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return read_failure(file);
  auto content = read_all(descriptor, file);
  ::close(descriptor);
  return content;
}

Result<Duration> duration_of(std::string_view option, double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) {
    return failed(ErrorCode::invalid_params,
                  fmt::format("{} is 0 to 1,000,000,000 seconds, not {}", option, seconds));
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// A pool that was just started: its nodes are still taking their memory.
bool has_no_node(PoolClient& pool) {
  const auto status = pool.run(pool.client().status(pool.client().control_deadline()));
  return status && status->capacity == 0_B;
}

Status run(const PutArguments& arguments) {
  LARDER_TRY(const std::string key, arguments.keys.key(arguments.key));
  LARDER_TRY(const Duration time_to_live, duration_of("--time-to-live", arguments.time_to_live_s));
  LARDER_TRY(const Duration soft_pin, duration_of("--soft-pin", arguments.soft_pin_s));
  LARDER_TRY(const auto pool, arguments.pool.connect());
  LARDER_TRY(const std::vector<std::byte> content, read_value(arguments.file));
  const ConstSlice slice(content);
  const PutItem item{.key = key,
                     .value = {&slice, 1},
                     .replicas = arguments.replicas,
                     .soft_pin = soft_pin,
                     .time_to_live = time_to_live};
  const Bytes size{content.size()};
  const auto put = [&] {
    return pool
        ->run(pool->client().put({&item, 1}, {.upsert = arguments.upsert, .preferred = {}},
                                 arguments.pool.deadline(*pool, size)))
        .front();
  };
  Result<PutOutcome> stored = put();
  const auto patient_until = std::chrono::steady_clock::now() + patience_for_nodes;
  while (!stored && stored.error().code() == ErrorCode::no_available_handle && has_no_node(*pool) &&
         std::chrono::steady_clock::now() < patient_until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stored = put();
  }
  LARDER_TRY(const PutOutcome outcome, std::move(stored));
  if (arguments.json) {
    return terminal::print(to_line({{"key", arguments.key},
                                    {"size", size.value},
                                    {"already_stored", outcome.already_stored},
                                    {"replicas", outcome.replicas},
                                    {"put_id", to_string(outcome.put_id)}}));
  }
  if (outcome.already_stored) {
    return terminal::print(fmt::format(
        "{} was there already and is unchanged (--upsert would replace it)\n", arguments.key));
  }
  return terminal::print(fmt::format("put {}: {}, {} replica{}\n", arguments.key, size_text(size),
                                     outcome.replicas, outcome.replicas == 1 ? "" : "s"));
}

}  // namespace

void add_put(CLI::App& app, Status& outcome) {
  CLI::App* command =
      app.add_subcommand("put", "Stores the content of a file, or of stdin, under a key");
  command->footer(
      "A key that is there already stays as it is, since in this pool the same key means the same\n"
      "content; that counts as done and is said.\n"
      "Examples: larder put page/1 page1.bin\n"
      "          echo hello | larder put greeting");
  const auto arguments = std::make_shared<PutArguments>();
  command->add_option("KEY", arguments->key, "The key, 1 to 1,024 bytes")->required();
  command->add_option("FILE", arguments->file, "What to store; - is stdin")->capture_default_str();
  add_key_options(*command, arguments->keys);
  terminal::add_number(*command, "--replicas", arguments->replicas,
                       "Copies on different segments, 1 to 16; fewer are told, not refused");
  command->add_flag("--upsert", arguments->upsert,
                    "Replace what is there; until the new value is whole, the old one is read");
  terminal::add_number(*command, "--time-to-live", arguments->time_to_live_s,
                       "The pool drops the value after so many seconds; 0: never by itself")
      ->type_name("SECONDS");
  terminal::add_number(*command, "--soft-pin", arguments->soft_pin_s,
                       "For so many seconds it is evicted after everything that has no pin")
      ->type_name("SECONDS");
  add_pool_options(*command, arguments->pool);
  command->add_flag("--json", arguments->json,
                    "Print {key, size, already_stored, replicas, put_id}");
  command->callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
