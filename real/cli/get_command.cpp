#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/percent.h"
#include "core/base/size_text.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/pool_options.h"
#include "real/cli/value_memory.h"
#include "terminal/output.h"
#include "workloads/output_file.h"

namespace larder::real {
namespace {

struct GetArguments {
  PoolOptions pool;
  KeyOptions keys;
  std::string key;
  std::string file = "-";
  bool json = false;
};

struct Value {
  std::vector<std::byte> bytes;
  GetOutcome outcome;
};

// The size first, then the bytes; once more if the value was replaced by a larger one in between.
Result<Value> read_value(PoolClient& pool, std::string_view key, const PoolOptions& options) {
  constexpr int tries_max = 4;
  for (int tries = 1;; ++tries) {
    const auto found = pool.run(pool.client().lookup({&key, 1}, options.deadline(pool, 0_B)));
    LARDER_TRY(const ObjectSummary summary, found.front());
    LARDER_CHECK(
        check_value_memory("the value of key '" + percent_escaped(key) + "'", summary.size));
    Value value;
    value.bytes.resize(summary.size.value);
    const Slice slice(value.bytes);
    const GetItem item{.key = key, .into = {&slice, 1}};
    const auto read = pool.run(pool.client().get({&item, 1}, options.deadline(pool, summary.size)));
    if (!read.front()) {
      const Error& error = read.front().error();
      if (error.code() == ErrorCode::buffer_overflow && tries < tries_max) continue;
      return std::unexpected(error);
    }
    value.outcome = *read.front();
    value.bytes.resize(value.outcome.size.value);
    return value;
  }
}

Status run(const GetArguments& arguments) {
  const bool to_stdout = arguments.file == "-";
  if (to_stdout && arguments.json) {
    return failed(ErrorCode::invalid_params,
                  "--json needs a FILE, since the value itself would go to stdout");
  }
  LARDER_TRY(const std::string key, arguments.keys.key(arguments.key));
  LARDER_TRY(const auto pool, arguments.pool.connect());
  LARDER_TRY(const Value value, read_value(*pool, key, arguments.pool));
  const std::string_view text(reinterpret_cast<const char*>(value.bytes.data()),
                              value.bytes.size());
  if (to_stdout) return terminal::print(text);
  LARDER_TRY(auto file, workloads::OutputFile::create(arguments.file));
  LARDER_CHECK(file.write(text));
  LARDER_CHECK(file.commit());
  if (!arguments.json) {
    return terminal::print(fmt::format("got {}: {} to {}\n", arguments.key,
                                       size_text(value.outcome.size), arguments.file));
  }
  return terminal::print(to_line({{"key", arguments.key},
                                  {"size", value.outcome.size.value},
                                  {"file", arguments.file},
                                  {"checksum_verified", value.outcome.checksum_verified},
                                  {"put_id", to_string(value.outcome.put_id)}}));
}

}  // namespace

void add_get(CLI::App& app, Status& outcome) {
  CLI::App* command =
      app.add_subcommand("get", "Writes the value of a key to a file, or to stdout");
  command->footer(
      "FILE appears when the value is whole; a get that fails leaves what was there before.\n"
      "Examples: larder get page/1 page1.bin\n"
      "          larder get greeting");
  const auto arguments = std::make_shared<GetArguments>();
  command->add_option("KEY", arguments->key, "The key")->required();
  command->add_option("FILE", arguments->file, "Where to write; - is stdout")
      ->capture_default_str();
  add_key_options(*command, arguments->keys);
  add_pool_options(*command, arguments->pool);
  command->add_flag("--json", arguments->json,
                    "Print {key, size, file, checksum_verified, put_id}; needs a FILE");
  command->callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
