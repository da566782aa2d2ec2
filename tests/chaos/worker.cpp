// A client for tests/chaos/chaos.py: puts, gets and removes values of a few keys until its standard
// input ends, and writes down what it asked for and what came of it.
//
//   chaos-worker MASTER NAME KEYS VALUE_BYTES_MAX OPERATIONS_PER_SECOND >RECORD
//
// A value says in every eight bytes which put wrote them, so that each byte of each get is checked
// here, alone. Lines of the record, times in nanoseconds of the machine's monotonic clock:
//   put KEY WRITE BEGAN          before a put or upsert begins
//   stored KEY WRITE ENDED KIND  it was acknowledged; KIND: put, upsert
//   removed KEY BEGAN ENDED      a removal was acknowledged
//   got KEY WRITE BEGAN ENDED    a get gave exactly the bytes of this write
//   missed KEY BEGAN ENDED       there was none
//   wrong KEY WHAT BEGAN ENDED   a get gave anything else: must never happen
//   failed WHAT CODE             an operation that ended with an error
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "real/client/pool.h"

namespace larder {
namespace {

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// Whole lines, at once: what is written down has happened before what comes next.
template <class... Facts>
void note(fmt::format_string<Facts...> line, Facts&&... facts) {
  std::fputs((fmt::format(line, std::forward<Facts>(facts)...) + "\n").c_str(), stdout);
  std::fflush(stdout);
}

std::uint64_t hash_of(std::string_view text) { return checksum(std::as_bytes(std::span(text))); }

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

// Eight bytes at `index` of the value that `write` stores under a key of this hash.
std::uint64_t word(std::uint64_t key, std::uint64_t write, std::uint64_t index) {
  std::uint64_t mixed = (key ^ (write * 0x9e3779b97f4a7c15u)) + index * 0xbf58476d1ce4e5b9u;
  mixed ^= mixed >> 31;
  return mixed * 0x94d049bb133111ebu;
}

// The first word is the write, the second the size in bytes; sizes are whole words.
void fill(std::span<std::byte> value, std::uint64_t key, std::uint64_t write) {
  for (std::size_t i = 0; i < value.size() / word_bytes; ++i) {
    const std::uint64_t content = i == 0 ? write : i == 1 ? value.size() : word(key, write, i);
    std::memcpy(value.data() + i * word_bytes, &content, word_bytes);
  }
}

std::uint64_t word_at(std::span<const std::byte> value, std::size_t index) {
  std::uint64_t content = 0;
  std::memcpy(&content, value.data() + index * word_bytes, word_bytes);
  return content;
}

// How many words from the start are those of the write that the first one names.
std::size_t whole_words(std::span<const std::byte> value, std::uint64_t key) {
  const std::size_t words = value.size() / word_bytes;
  const std::uint64_t write = word_at(value, 0);
  if (word_at(value, 1) != value.size()) return 1;
  for (std::size_t i = 2; i < words; ++i) {
    if (word_at(value, i) != word(key, write, i)) return i;
  }
  return words;
}

class Worker {
 public:
  struct Load {
    std::uint64_t keys = 0;
    std::uint64_t value_bytes_max = 0;
  };
  // Each life of a worker numbers its writes from another start.
  Worker(Pool pool, std::string_view name, const Load& load)
      : pool_(std::move(pool)),
        random_(hash_of(name) ^ static_cast<std::uint64_t>(now_ns())),
        next_write_(random_.next() << 24),
        load_(load) {}

  void operate() {
    const double kind = random_.unit();
    if (kind < 0.35) {
      put(random_.chance(0.25));
    } else if (kind < 0.92) {
      get();
    } else {
      remove();
    }
  }

 private:
  std::string draw_key() { return "key" + std::to_string(random_.below(load_.keys)); }

  void put(bool upsert) {
    const std::string key = draw_key();
    const std::uint64_t write = next_write_++;
    const std::uint64_t words = 2 + random_.below(load_.value_bytes_max / word_bytes - 1);
    std::vector<std::byte> value(words * word_bytes);
    fill(value, hash_of(key), write);
    const ConstSlice slice(value);
    const PutItem item{.key = key,
                       .value = {&slice, 1},
                       .replicas = 1 + static_cast<std::uint32_t>(random_.below(2))};
    const char* const kind = upsert ? "upsert" : "put";
    note("put {} {} {}", key, write, now_ns());
    const auto result = pool_.put({&item, 1}, {.upsert = upsert, .preferred = {}}).front();
    if (!result) {
      note("failed {} {}", kind, error_name(result.error().code()));
    } else if (!result->already_stored) {
      note("stored {} {} {} {}", key, write, now_ns(), kind);
    }
  }

  void get() {
    const std::string key = draw_key();
    std::vector<std::byte> into(load_.value_bytes_max);
    const Slice slice(into);
    const GetItem item{.key = key, .into = {&slice, 1}};
    const std::int64_t began = now_ns();
    const auto result = pool_.get({&item, 1}).front();
    const std::int64_t ended = now_ns();
    if (!result) {
      if (result.error().code() == ErrorCode::object_not_found) {
        return note("missed {} {} {}", key, began, ended);
      }
      return note("failed get {}", error_name(result.error().code()));
    }
    const std::span<const std::byte> value(into.data(), result->size.value);
    if (value.size() < 2 * word_bytes || value.size() % word_bytes != 0) {
      return note("wrong {} {}_bytes {} {}", key, value.size(), began, ended);
    }
    const std::size_t words = value.size() / word_bytes;
    const std::size_t right = whole_words(value, hash_of(key));
    if (right != words) {
      return note("wrong {} write_{}_word_{}_of_{} {} {}", key, word_at(value, 0), right, words,
                  began, ended);
    }
    note("got {} {} {} {}", key, word_at(value, 0), began, ended);
  }

  void remove() {
    const std::string key = draw_key();
    const std::string_view view = key;
    const std::int64_t began = now_ns();
    const Status result = pool_.remove({&view, 1}, {.force = random_.chance(0.5)}).front();
    if (result || result.error().code() == ErrorCode::object_not_found) {
      note("removed {} {} {}", key, began, now_ns());
    } else {
      note("failed remove {}", error_name(result.error().code()));
    }
  }

  Pool pool_;
  Random random_;
  std::uint64_t next_write_;
  Load load_;
};

bool input_has_ended() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, 0) > 0;
}

}  // namespace
}  // namespace larder

int main(int argc, char** argv) {
  using namespace larder;
  if (argc != 6) {
    std::cerr << "chaos-worker MASTER NAME KEYS VALUE_BYTES_MAX OPERATIONS_PER_SECOND\n";
    return 2;
  }
  auto pool = Pool::open({.master = argv[1], .name = argv[2], .timeout = std::chrono::seconds(5)});
  if (!pool) {
    std::cerr << pool.error().message() << '\n';
    return 1;
  }
  Worker worker(std::move(*pool), argv[2],
                {.keys = std::stoull(argv[3]), .value_bytes_max = std::stoull(argv[4])});
  const std::chrono::nanoseconds pause(1'000'000'000 / std::stoull(argv[5]));
  while (!input_has_ended()) {
    worker.operate();
    std::this_thread::sleep_for(pause);
  }
  return 0;
}
