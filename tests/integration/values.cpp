// Very many small values for tests/integration, through the library, in calls of many items:
//
//   larder-values put MASTER PREFIX COUNT SIZE         puts them; prints how many are stored
//   larder-values exist MASTER PREFIX COUNT            prints how many there are
//   larder-values read MASTER PREFIX COUNT SIZE STEP   reads each STEPth; prints {right, missed,
//                                                      failed, wrong}
//   larder-values entries MASTER PREFIX COUNT SIZE     reads all in one call, and the first through
//                                                      every other entry of the library; prints how
//                                                      each of them ended, {entry: [outcome ...]}
//   larder-values flood MASTER PREFIX COUNT SIZE       as put, but full pools and faults are no
//                                                      errors; prints how many were stored
//
// The value of a key is made of the key, so that each byte of each read is checked here. Any wrong
// byte ends it with exit code 1, whatever else it prints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/asio/use_future.hpp>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "real/client/pool.h"

namespace larder {
namespace {

constexpr std::size_t keys_per_call = 1024;

struct Job {
  std::string prefix;
  std::uint64_t count = 0;
  std::size_t size = 0;
  std::uint64_t step = 1;
};

std::string key_of(const Job& job, std::uint64_t i) {
  return fmt::format("{}/{:012}", job.prefix, i);
}

void fill(std::span<std::byte> value, std::string_view key) {
  std::uint64_t word = checksum(std::as_bytes(std::span(key)));
  for (std::size_t at = 0; at < value.size(); at += sizeof(word)) {
    std::memcpy(value.data() + at, &word, std::min(sizeof(word), value.size() - at));
    word = word * 0xbf58476d1ce4e5b9u + at;
  }
}

// Calls visit(first, last) for pieces of the numbers, [first, last).
template <class Visit>
void in_calls(std::uint64_t count, Visit visit) {
  for (std::uint64_t i = 0; i < count; i += keys_per_call) {
    visit(i, std::min(count, i + keys_per_call));
  }
}

// Buffers of one call, which the next one uses again.
struct Batch {
  explicit Batch(const Job& job)
      : values(std::min<std::size_t>(job.count, keys_per_call), std::vector<std::byte>(job.size)),
        slices(values.begin(), values.end()) {}
  std::vector<std::vector<std::byte>> values;
  std::vector<Slice> slices;
};

enum class Patience : bool { none, full_pools_and_faults };

int put(Pool& pool, const Job& job, Patience patience) {
  Batch batch(job);
  const std::vector<ConstSlice> from(batch.values.begin(), batch.values.end());
  std::uint64_t stored = 0;
  int code = 0;
  in_calls(job.count, [&](std::uint64_t first, std::uint64_t last) {
    if (code != 0) return;
    std::vector<std::string> keys;
    for (std::uint64_t i = first; i < last; ++i) keys.push_back(key_of(job, i));
    std::vector<PutItem> items;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      fill(batch.slices[i], keys[i]);
      items.push_back({.key = keys[i], .value = {&from[i], 1}});
    }
    for (const Result<PutOutcome>& result : pool.put(items)) {
      if (result) {
        ++stored;
      } else if (patience == Patience::none) {
        std::cerr << result.error().message() << '\n';
        code = 1;
        return;
      }
    }
  });
  std::cout << stored << '\n';
  return code;
}

int exist(Pool& pool, const Job& job) {
  std::uint64_t there = 0;
  int code = 0;
  in_calls(job.count, [&](std::uint64_t first, std::uint64_t last) {
    std::vector<std::string> keys;
    for (std::uint64_t i = first; i < last; ++i) keys.push_back(key_of(job, i));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    for (const Result<Existence>& result : pool.exists(views)) {
      if (!result) {
        std::cerr << result.error().message() << '\n';
        code = 1;
      } else {
        there += result->exists;
      }
    }
  });
  std::cout << there << '\n';
  return code;
}

int read(Pool& pool, const Job& job) {
  Batch batch(job);
  std::vector<std::byte> expected(job.size);
  std::uint64_t right = 0;
  std::uint64_t missed = 0;
  std::uint64_t failed = 0;
  std::uint64_t wrong = 0;
  in_calls(job.count / job.step, [&](std::uint64_t first, std::uint64_t last) {
    std::vector<std::string> keys;
    for (std::uint64_t i = first; i < last; ++i) keys.push_back(key_of(job, i * job.step));
    std::vector<GetItem> items;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      items.push_back({.key = keys[i], .into = {&batch.slices[i], 1}});
    }
    const Pool::GetResults results = pool.get(items);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i]) {
        ++(results[i].error().code() == ErrorCode::object_not_found ? missed : failed);
        continue;
      }
      fill(expected, keys[i]);
      const bool same = results[i]->size.value == job.size &&
                        std::memcmp(batch.values[i].data(), expected.data(), job.size) == 0;
      ++(same ? right : wrong);
    }
  });
  std::cout << fmt::format(R"({{"right": {}, "missed": {}, "failed": {}, "wrong": {}}})", right,
                           missed, failed, wrong)
            << '\n';
  return wrong == 0 ? 0 : 1;
}

// Each entry through which a value can be read, and what it said: OK, or the name of the error.
int entries(Pool& pool, const Job& job) {
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < job.count; ++i) keys.push_back(key_of(job, i));
  std::vector<std::vector<std::byte>> buffers(job.count, std::vector<std::byte>(job.size));
  const std::vector<Slice> slices(buffers.begin(), buffers.end());
  std::vector<GetItem> items;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    items.push_back({.key = keys[i], .into = {&slices[i], 1}});
  }
  const Slice half = slices[0].first(job.size / 2);
  const GetItem ranged{.key = keys[0], .into = {&half, 1}, .range_offset = Bytes{job.size / 4}};
  std::vector<std::string> lines;
  const auto name = [](const auto& result) -> std::string_view {
    return result ? "OK" : error_name(result.error().code());
  };
  const auto note = [&](std::string_view entry, const auto& results) {
    std::string text;
    for (const auto& result : results) {
      text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", name(result));
    }
    lines.push_back(fmt::format("\"{}\": [{}]", entry, text));
  };
  const std::span first(items.data(), 1);
  note("get", std::array{pool.get(keys[0])});
  note("get into", pool.get(first));
  note("get of many", pool.get(items));
  note("get of a range", pool.get({&ranged, 1}));
  note("asynchronous get", pool.async_get(first, boost::asio::use_future).get());
  note("asynchronous get of many", pool.async_get(items, boost::asio::use_future).get());
  std::cout << fmt::format("{{{}}}\n", fmt::join(lines, ", "));
  return 0;
}

int run(std::span<char*> arguments) {
  const std::string_view what = arguments.size() > 1 ? arguments[1] : "";
  const bool sized = what == "put" || what == "flood" || what == "read" || what == "entries";
  const std::size_t expected = what == "read" ? 7 : sized ? 6 : 5;
  if (arguments.size() != expected || (!sized && what != "exist")) {
    std::cerr << "larder-values put|flood|exist|read|entries MASTER PREFIX COUNT [SIZE [STEP]]\n";
    return 2;
  }
  auto pool = Pool::open({.master = arguments[2], .timeout = std::chrono::seconds(300)});
  if (!pool) {
    std::cerr << pool.error().message() << '\n';
    return 1;
  }
  const Job job{.prefix = arguments[3],
                .count = std::stoull(arguments[4]),
                .size = sized ? std::stoull(arguments[5]) : 0,
                .step = what == "read" ? std::stoull(arguments[6]) : 1};
  if (what == "exist") return exist(*pool, job);
  if (what == "read") return read(*pool, job);
  if (what == "entries") return entries(*pool, job);
  return put(*pool, job, what == "put" ? Patience::none : Patience::full_pools_and_faults);
}

}  // namespace
}  // namespace larder

int main(int argc, char** argv) { return larder::run({argv, static_cast<std::size_t>(argc)}); }
