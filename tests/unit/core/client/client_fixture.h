#pragma once

#include <gtest/gtest.h>

#include "core/client/client.h"
#include "tests/unit/core/client/fakes.h"

namespace larder {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline ConstSlice bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline Slice bytes_of(std::string& text) { return std::as_writable_bytes(std::span(text)); }

// A client in its world of fakes.
struct Scene {
  Scene() { renew({}); }

  void renew(ClientConfig config) {
    config.session = {1, 2};
    config.tenant = "tenant";
    client = std::make_unique<Client>(
        ClientPorts{.clock = world, .timers = world, .master = master, .transport = nodes},
        std::move(config));
  }

  // Runs it to its end.
  template <class T>
  T run(Task<T> task) {
    task.start();
    for (int steps = 0; !task.done(); ++steps) {
      if (steps > 100'000 || !world.step()) throw std::runtime_error("it hangs");
    }
    return std::move(task.result());
  }
  Result<PutOutcome> put(PutItem item, std::string_view value, PutOptions options = {}) {
    const ConstSlice slice = bytes_of(value);
    item.value = {&slice, 1};
    return run(client->put({&item, 1}, options, world.now() + within)).at(0);
  }
  Result<PutOutcome> put(std::string_view key, std::string_view value) {
    return put(PutItem{.key = key}, value);
  }
  Result<GetOutcome> get(std::string_view key, std::string& into,
                         std::optional<Bytes> range_offset = std::nullopt) {
    const Slice slice = bytes_of(into);
    const GetItem item{.key = key, .into = {&slice, 1}, .range_offset = range_offset};
    return run(client->get({&item, 1}, world.now() + within)).at(0);
  }

  Duration within = seconds(10);
  fakes::World world;
  fakes::Master master{world};
  fakes::Nodes nodes{world};
  std::unique_ptr<Client> client;
};

class ClientTest : public testing::Test, public Scene {};

template <class T>
ErrorCode code_of(const Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorCode(0) : result.error().code();
}

}  // namespace larder
