#include <fuzzer/FuzzedDataProvider.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/assert.h"
#include "real/settings/file.h"
#include "real/settings/settings.h"
#include "tests/fuzzing/checks.h"

// The three places from which settings come: a file, the environment, flags. What is refused is
// refused in one printable line and names the place; what is in force, written as a file, is in
// force again when it is read.

namespace larder::real {
namespace {

using namespace std::chrono_literals;

constexpr std::array<const char*, 9> variables{
    "LARDER_CACHE_LISTEN", "LARDER_CACHE_MEMORY", "LARDER_CACHE_WATERMARK",
    "LARDER_CACHE_SEED",   "LARDER_CACHE_LEASE",  "LARDER_CACHE_STRICT",
    "LARDER_CACHE_DIR",    "LARDER_LOG_LEVEL",    "LARDER_NONE"};

// A program with a setting of every type.
struct Program {
  std::string listen = "here";
  Bytes memory{1 << 30};
  double watermark = 0.5;
  std::uint16_t seed = 2;
  Duration lease = 10s;
  bool strict = false;
  std::optional<std::filesystem::path> directory;
  std::string level = "info";
  Settings settings;

  Program() {
    settings.section("log", {.flag = "--log-", .variable = "LARDER_LOG_"})
        .add("level", level, choice_value({"info", "warn"}), "What is logged");
    settings.section("cache", {.variable = "LARDER_CACHE_"})
        .add("listen", listen, text_value("NAME", 200), "Where")
        .add("memory", memory, size_value({.min = {1}, .max = {1ull << 40}}), "How much")
        .add("watermark", watermark, decimal_value({.min = 0, .max = 1}), "Share")
        .add("seed", seed, whole_value<std::uint16_t>({.min = 1}), "Seed")
        .add("lease", lease, duration_value({.min = 1ms, .max = 1h}), "How long")
        .add("strict", strict, boolean_value(), "Whether")
        .add("dir", directory, path_value("DIR"), "Where it lies");
  }
};

FuzzedFile& file() {
  static FuzzedFile one;
  return one;
}

std::string values_of(const Settings& settings) {
  nlohmann::ordered_json all = settings.effective();
  all.erase("from");
  return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::strict);
}

void check_is_read_again(const Settings& settings) {
  const nlohmann::ordered_json effective = settings.effective();
  using Json = nlohmann::ordered_json;
  // A name that is no UTF-8 has no JSON.
  if (effective.dump(-1, ' ', false, Json::error_handler_t::ignore) !=
      effective.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    return;
  }
  file().fill(effective.dump());
  Program again;
  again.settings.use(again.settings.sections());
  const Status loaded = again.settings.load({{"LARDER_CONFIG", file().path().string()}});
  LARDER_ASSERT(loaded.has_value(), "what is in force is a file of settings");
  LARDER_ASSERT(values_of(again.settings) == values_of(settings), "with the same values");
}

void load(Program& program, const Environment& environment) {
  const Status loaded = program.settings.load(environment);
  (void)program.settings.unknown_variables(environment);
  if (!loaded) return check_refusal(loaded.error(), ErrorCode::invalid_params);
  check_is_read_again(program.settings);
}

void check_file(std::string_view content) {
  file().fill(content);
  Program program;
  program.settings.use(program.settings.sections());
  load(program, {{"LARDER_CONFIG", file().path().string()}});
}

void check_environment(FuzzedDataProvider& input) {
  Environment environment;
  while (input.remaining_bytes() > 0) {
    const char* const name = input.PickValueInArray(variables);
    environment[name] = input.ConsumeRandomLengthString(300);
  }
  Program program;
  program.settings.use(program.settings.sections());
  load(program, environment);
}

// As the program's main does it, in which CLI11 comes first.
void check_flags(FuzzedDataProvider& input) {
  std::vector<std::string> words;
  while (input.remaining_bytes() > 0) words.push_back(input.ConsumeRandomLengthString(300));
  Program program;
  CLI::App app;
  const auto sections = program.settings.sections();
  program.settings.add_flags(app, sections);
  try {
    app.parse(words);
  } catch (const CLI::ParseError&) {
    return;
  }
  if (!app.count("--config")) load(program, {});
}

}  // namespace
}  // namespace larder::real

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  FuzzedDataProvider input(data + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      larder::real::check_file({reinterpret_cast<const char*>(data + 1), size - 1});
      break;
    case 1:
      larder::real::check_environment(input);
      break;
    default:
      larder::real::check_flags(input);
      break;
  }
  return 0;
}
