#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/time.h"
#include "core/client/items.h"
#include "core/protocol/answer.h"

namespace larder {

// How a pool is reached.
struct PoolConfig {
  std::string master = "127.0.0.1:7700";  // HOST or HOST:PORT; 7700 where no port is given
  std::string tenant = "default";         // whose keys these are; 1 to 256 bytes
  std::string name = {};                  // for people; empty: the process's id
  std::string transport = "tcp";  // how bytes move; or auto, which says in the log what it took
  std::string tcp_congestion = "auto";  // cubic inside one machine, else the system's; or a name
  bool checksum = true;                 // off: no pass over the data, and nothing is verified
  Duration timeout{0};  // of a call; zero: 5 s, and where bytes move 10 s and 1 s for each 50 MB
};

// A pool that lives in this process.
struct EmbeddedConfig {
  Bytes memory = 256_MiB;  // rounded down to pages of 4 KiB
  std::string policy = "leaf-first";
  std::string tenant = "default";
  bool checksum = true;
  Duration timeout{0};
};

class Pool;

// A put whose bytes come in parts, in order, while they are made, or from a file larger than
// memory; core/client/put_writer.h has its rules. Pool::begin_put makes it. Destroying one that has
// not ended gives the put up. Not to be destroyed while a call on it is under way.
class PartedPut {
 public:
  PartedPut(PartedPut&&) noexcept;
  PartedPut& operator=(PartedPut&&) noexcept;
  ~PartedPut();

  // The key is there, whole: there is nothing to write, and end_put says the same.
  bool already_stored() const;

  struct Held;
  explicit PartedPut(std::unique_ptr<Held> held);  // for Pool itself
  const Held& held() const { return *held_; }

 private:
  std::unique_ptr<Held> held_;
};

// The next bytes of one, up to its size in all.
struct PutBytes {
  const PartedPut* put = nullptr;
  std::span<const ConstSlice> bytes;
};

// Puts and gets objects of a pool. From any thread, any number of calls at once. It has one thread
// of its own, which moves the bytes, renews the session and gives leases back while the user's
// threads do other things; nothing is read or written of the user's memory but what calls name, and
// of that nothing once its call has ended.
//
// Each call takes a list and gives one result for each item, in order (core/client/items.h says
// what is in them); one item's failure holds up no other. It ends within its timeout and a tenth of
// it; a timeout of zero is the one of the configuration. What a list points at (items, keys,
// slices, their bytes) must live until then.
//
// An Error carries the code, and as far as they are known key, size, endpoint and how long it took.
// Codes that a caller tells apart: rpc_fail (the master cannot be reached), rpc_timeout (it did not
// answer in time), transfer_fail (a node), invalid_key and invalid_params (the caller's fault,
// found before any I/O), no_available_handle (the pool is full), buffer_overflow (the caller's
// buffer is too small), cancelled (given up by the caller, or the pool was closed).
//
// After fork() the child's pool answers every call with unavailable_in_current_status, and the
// parent's goes on undisturbed.
//
// Each call also has an asynchronous form, which takes an Asio completion token: a callback,
// use_future, use_awaitable, … Its handler runs on the handler's associated executor; on the pool's
// own thread if it has none, where it must not block, not throw, and make no synchronous call
// (which is refused: it would wait for itself). Cancellation slots are obeyed: the results are then
// `cancelled`. Whether a put or removal that was cancelled has happened is not known, so those obey
// no cancellation of type `total` alone.
//
// What it has to say (a master that is not there, a node that is silent) goes to spdlog's default
// logger if the program has set one; else warnings go to stderr.
class Pool {
 public:
  using PutResults = std::vector<Result<PutOutcome>>;
  using BeginResults = std::vector<Result<PartedPut>>;
  using WriteResults = std::vector<Status>;
  using GetResults = std::vector<Result<GetOutcome>>;
  using ExistsResults = std::vector<Result<Existence>>;
  using LookupResults = std::vector<Result<ObjectSummary>>;
  using RemoveResults = std::vector<Status>;
  using DescribeResults = std::vector<Result<ObjectDetails>>;
  using StatusResult = Result<StatusReport>;

  // Does not ask the master yet: the first call does, and a master that is not there yet is that
  // call's error only. Errors: invalid_params, not_supported (the transport; names those there
  // are).
  static Result<Pool> open(PoolConfig config = {});
  // Master, node and client in this process, without sockets. Errors: invalid_params;
  // no_available_handle, if the machine has not so much memory.
  static Result<Pool> embedded(EmbeddedConfig config = {});

  Pool(Pool&&) noexcept = default;
  Pool& operator=(Pool&& other) noexcept;
  ~Pool();

  // Calls under way end as `cancelled`, and so does every later one. Tells the master, if it
  // answers within a moment. Harmless when it is closed already. The destructor closes too.
  void close();

  // ---- synchronous ------------------------------------------------------------------------------
  PutResults put(std::span<const PutItem> items, PutOptions options = {}, Duration timeout = {});
  // The same for values whose bytes come in parts: space first, then any number of writes, then the
  // end, with which they can be read. A part is in the pool's memory when its write has ended.
  BeginResults begin_put(std::span<const PutInParts> items, PutOptions options = {},
                         Duration timeout = {});
  WriteResults write_parts(std::span<const PutBytes> parts, Duration timeout = {});
  PutResults end_put(std::span<const PartedPut* const> puts, Duration timeout = {});
  GetResults get(std::span<const GetItem> items, Duration timeout = {}, GetOptions options = {});
  ExistsResults exists(std::span<const std::string_view> keys, Duration timeout = {});
  // Size and replicas, for callers that must make buffers first; counts as a use, like get, and as
  // a get in the master's figures: tell the get that follows (GetOptions::looked_up).
  LookupResults lookup(std::span<const std::string_view> keys, Duration timeout = {});
  RemoveResults remove(std::span<const std::string_view> keys, RemoveOptions options = {},
                       Duration timeout = {});
  // Everything that is known of each key; no use.
  DescribeResults describe(std::span<const std::string_view> keys, Duration timeout = {});
  // One part of a walk over this tenant's objects, of at most `limit` (0: as many as the master
  // gives); no use. `cursor` is {} for the first part, then the `next` of the part before. A part
  // may be short or empty with more to come. Errors also: invalid_params (the pattern; or the
  // master has changed: begin the walk again).
  Result<ObjectPage> list(ListQuery query, ListCursor cursor = {}, std::uint32_t limit = 0,
                          Duration timeout = {});
  StatusResult status(Duration timeout = {});

  // Of one key; a value that lies in one piece, and one whose size is not known before.
  Result<PutOutcome> put(std::string_view key, ConstSlice value, PutOptions options = {});
  Result<std::vector<std::byte>> get(std::string_view key);

  // ---- asynchronous -----------------------------------------------------------------------------
  template <class Token>
  auto async_put(std::span<const PutItem> items, Token&& token, PutOptions options = {},
                 Duration timeout = {}) {
    return initiate<PutResults>(&start_put, token, items, options, timeout);
  }
  template <class Token>
  auto async_begin_put(std::span<const PutInParts> items, Token&& token, PutOptions options = {},
                       Duration timeout = {}) {
    return initiate<BeginResults>(&start_begin_put, token, items, options, timeout);
  }
  template <class Token>
  auto async_write_parts(std::span<const PutBytes> parts, Token&& token, Duration timeout = {}) {
    return initiate<WriteResults>(&start_write_parts, token, parts, timeout);
  }
  template <class Token>
  auto async_end_put(std::span<const PartedPut* const> puts, Token&& token, Duration timeout = {}) {
    return initiate<PutResults>(&start_end_put, token, puts, timeout);
  }
  template <class Token>
  auto async_get(std::span<const GetItem> items, Token&& token, Duration timeout = {},
                 GetOptions options = {}) {
    return initiate<GetResults>(&start_get, token, items, timeout, options);
  }
  template <class Token>
  auto async_exists(std::span<const std::string_view> keys, Token&& token, Duration timeout = {}) {
    return initiate<ExistsResults>(&start_exists, token, keys, timeout);
  }
  template <class Token>
  auto async_lookup(std::span<const std::string_view> keys, Token&& token, Duration timeout = {}) {
    return initiate<LookupResults>(&start_lookup, token, keys, timeout);
  }
  template <class Token>
  auto async_remove(std::span<const std::string_view> keys, Token&& token,
                    RemoveOptions options = {}, Duration timeout = {}) {
    return initiate<RemoveResults>(&start_remove, token, keys, options, timeout);
  }
  template <class Token>
  auto async_describe(std::span<const std::string_view> keys, Token&& token,
                      Duration timeout = {}) {
    return initiate<DescribeResults>(&start_describe, token, keys, timeout);
  }
  template <class Token>
  auto async_list(ListQuery query, Token&& token, ListCursor cursor = {}, std::uint32_t limit = 0,
                  Duration timeout = {}) {
    return initiate<Result<ObjectPage>>(&start_list, token, query, cursor, limit, timeout);
  }
  template <class Token>
  auto async_status(Token&& token, Duration timeout = {}) {
    return initiate<StatusResult>(&start_status, token, timeout);
  }

  struct State;
  // For the commands of this project that run core's client themselves (real/client/pool_task.h).
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  template <class T>
  using Handler = boost::asio::any_completion_handler<void(T)>;
  using Shared = std::shared_ptr<State>;

  explicit Pool(Shared state) : state_(std::move(state)) {}

  template <class T, class... Arguments, class Token>
  auto initiate(void (*start)(const Shared&, Handler<T>, Arguments...), Token& token,
                const std::type_identity_t<Arguments>&... arguments) {
    return boost::asio::async_initiate<Token, void(T)>(
        [start, state = state_](auto&& handler, const Arguments&... given) {
          start(state, Handler<T>(std::forward<decltype(handler)>(handler)), given...);
        },
        token, arguments...);
  }

  static void start_put(const Shared& state, Handler<PutResults> handler,
                        std::span<const PutItem> items, PutOptions options, Duration timeout);
  static void start_begin_put(const Shared& state, Handler<BeginResults> handler,
                              std::span<const PutInParts> items, PutOptions options,
                              Duration timeout);
  static void start_write_parts(const Shared& state, Handler<WriteResults> handler,
                                std::span<const PutBytes> parts, Duration timeout);
  static void start_end_put(const Shared& state, Handler<PutResults> handler,
                            std::span<const PartedPut* const> puts, Duration timeout);
  static void start_get(const Shared& state, Handler<GetResults> handler,
                        std::span<const GetItem> items, Duration timeout, GetOptions options);
  static void start_exists(const Shared& state, Handler<ExistsResults> handler,
                           std::span<const std::string_view> keys, Duration timeout);
  static void start_lookup(const Shared& state, Handler<LookupResults> handler,
                           std::span<const std::string_view> keys, Duration timeout);
  static void start_remove(const Shared& state, Handler<RemoveResults> handler,
                           std::span<const std::string_view> keys, RemoveOptions options,
                           Duration timeout);
  static void start_describe(const Shared& state, Handler<DescribeResults> handler,
                             std::span<const std::string_view> keys, Duration timeout);
  static void start_list(const Shared& state, Handler<Result<ObjectPage>> handler, ListQuery query,
                         ListCursor cursor, std::uint32_t limit, Duration timeout);
  static void start_status(const Shared& state, Handler<StatusResult> handler, Duration timeout);

  Shared state_;
};

}  // namespace larder
