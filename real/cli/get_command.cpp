#include <fmt/format.h>

#include <array>
#include <boost/asio/use_future.hpp>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "core/base/size_text.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/pool_options.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"
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

constexpr Bytes window_bytes = 32_MiB;  // two of them are in memory

using Write = std::function<Status(std::string_view)>;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A range of the value, on its way into memory of its own.
struct Window {
  std::vector<std::byte> bytes;
  Slice slice;
  GetItem item;
  std::future<Pool::GetResults> result;

  void begin(Pool& pool, std::string_view key, Bytes offset, Bytes length) {
    bytes.resize(length.value);
    slice = bytes;
    item = {.key = key, .into = {&slice, 1}, .range_offset = offset};
    result = pool.async_get({&item, 1}, boost::asio::use_future, {}, {.looked_up = true});
  }
};

// Reads one window while the one before is written. Ranges are not covered by the pool's own check,
// so all must be of one put, and the checksum over all is compared here.
Result<GetOutcome> copy_windows(Pool& pool, std::string_view key, Bytes size, const Write& write) {
  std::array<Window, 2> windows;
  const auto length_at = [&](Bytes offset) { return std::min(window_bytes, size - offset); };
  terminal::ProgressBar bar({.title = "get"});
  std::optional<GetOutcome> whole;
  ChecksumStream hash;
  std::size_t turn = 0;
  windows[turn].begin(pool, key, 0_B, length_at(0_B));
  for (Bytes done; done < size; turn = 1 - turn) {
    Window& window = windows[turn];
    const Pool::GetResults results = window.result.get();
    LARDER_TRY(const GetOutcome outcome, results.front());
    if (!whole) whole = outcome;
    if (outcome.put_id != whole->put_id) {
      return std::unexpected(
          Error(ErrorCode::replica_is_gone, "the value was replaced while it was read")
              .with_key(key));
    }
    done += {window.bytes.size()};
    if (done < size) windows[1 - turn].begin(pool, key, done, length_at(done));
    hash.update(window.bytes);
    Status written = write(text_of(window.bytes));
    if (!written) {
      if (windows[1 - turn].result.valid()) windows[1 - turn].result.wait();
      return std::unexpected(std::move(written).error());
    }
    bar.show(static_cast<double>(done.value) / static_cast<double>(size.value), size_text(done));
  }
  whole->size = size;
  if (whole->checksum && hash.value() != *whole->checksum) {
    return std::unexpected(
        Error(ErrorCode::checksum_mismatch, "the bytes are not those that were put")
            .with_key(key)
            .with_size(size));
  }
  whole->checksum_verified = whole->checksum.has_value();
  return *whole;
}

Result<GetOutcome> copy_whole(Pool& pool, std::string_view key, Bytes size, const Write& write) {
  std::vector<std::byte> bytes(size.value);
  const Slice slice(bytes);
  const GetItem item{.key = key, .into = {&slice, 1}};
  const Pool::GetResults results = pool.get({&item, 1}, {}, {.looked_up = true});
  LARDER_TRY(const GetOutcome outcome, results.front());
  LARDER_CHECK(write(text_of(std::span(bytes).first(outcome.size.value))));
  return outcome;
}

Result<GetOutcome> copy_value(Pool& pool, std::string_view key, const Write& write) {
  const Pool::LookupResults found = pool.lookup({&key, 1});
  LARDER_TRY(const ObjectSummary summary, found.front());
  return summary.size <= window_bytes ? copy_whole(pool, key, summary.size, write)
                                      : copy_windows(pool, key, summary.size, write);
}

// Whether another attempt may find the value as it is then.
bool was_replaced(const Error& error) {
  return error.code() == ErrorCode::buffer_overflow || error.code() == ErrorCode::replica_is_gone;
}

Result<GetOutcome> copy_to_file(Pool& pool, std::string_view key, const std::string& path) {
  constexpr int tries_max = 4;
  for (int tries = 1;; ++tries) {
    LARDER_TRY(auto file, workloads::OutputFile::create(path));
    Result<GetOutcome> outcome =
        copy_value(pool, key, [&](std::string_view text) { return file.write(text); });
    if (!outcome && was_replaced(outcome.error()) && tries < tries_max) continue;
    if (outcome) LARDER_CHECK(file.commit());
    return outcome;
  }
}

Status copy_to_stdout(Pool& pool, std::string_view key) {
  Bytes written;
  const auto outcome = copy_value(pool, key, [&](std::string_view text) {
    written += {text.size()};
    return terminal::print(text);
  });
  if (outcome) return {};
  const Error& error = outcome.error();
  if (written == 0_B) return std::unexpected(error);
  return std::unexpected(
      Error(error.code(), "the " + std::to_string(written.value) +
                              " bytes that were written must not be used: " +
                              (error.facts().detail.empty() ? "the value is gone or was replaced"
                                                            : error.facts().detail))
          .with_key(key)
          .with_endpoint(error.facts().endpoint));
}

Status run(const GetArguments& arguments) {
  const bool to_stdout = arguments.file == "-";
  if (to_stdout && arguments.json) {
    return failed(ErrorCode::invalid_params,
                  "--json needs a FILE, since the value itself would go to stdout");
  }
  LARDER_TRY(const std::string key, arguments.keys.key(arguments.key));
  LARDER_TRY(Pool pool, arguments.pool.connect());
  if (to_stdout) return copy_to_stdout(pool, key);
  LARDER_TRY(const GetOutcome outcome, copy_to_file(pool, key, arguments.file));
  if (!arguments.json) {
    return terminal::print(fmt::format("got {}: {} to {}\n", percent_escaped(key),
                                       size_text(outcome.size), arguments.file));
  }
  return terminal::print(to_line({{"key", percent_escaped(key)},
                                  {"size", outcome.size.value},
                                  {"file", arguments.file},
                                  {"checksum_verified", outcome.checksum_verified},
                                  {"put_id", to_string(outcome.put_id)}}));
}

}  // namespace

void add_get(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("get", "Writes the value of a key to a file, or to stdout");
  command.footer(
      "FILE appears when the value is whole; a get that fails leaves what was there before. A "
      "value "
      "of\n"
      "any size is copied in windows of 32 MiB; on stdout, only exit code 0 says that all of it "
      "was "
      "right.\n"
      "Examples: larder get page/1 page1.bin\n"
      "          larder get greeting");
  const auto arguments = std::make_shared<GetArguments>();
  command.add_option("KEY", arguments->key, "The key").required();
  command.add_option("FILE", arguments->file, "Where to write; - is stdout").capture_default_str();
  add_key_options(command, arguments->keys);
  add_pool_options(command, arguments->pool);
  command.add_flag("--json", arguments->json,
                   "Print {key, size, file, checksum_verified, put_id}; needs a FILE");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
