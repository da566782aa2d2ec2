#include "real/daemon/data_threads.h"

#include <algorithm>

#include "real/rpc/frame.h"

namespace larder::real {

DataThreads::DataThreads(NodeHost& node, const TcpServerConfig& config, std::size_t count,
                         const std::function<void(Error)>& failed) {
  TcpServerConfig each = config;  // of one thread
  each.unfinished_bytes_max = std::max(config.unfinished_bytes_max / count, frame_body_max);
  for (std::size_t i = 0; i < count; ++i) {
    auto worker = std::make_unique<Worker>();
    worker->server = std::make_unique<TcpServer>(worker->thread.loop(), node, each);
    worker->thread.start("data", failed);
    workers_.push_back(std::move(worker));
  }
}

DataThreads::~DataThreads() {
  for (const auto& worker : workers_) worker->thread.stop();
  for (const auto& worker : workers_) worker->server.reset();
}

std::uint64_t DataThreads::given_up() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->server->given_up();
  return sum;
}

void DataThreads::adopt(Socket socket, Hello hello) {
  Worker& worker = *workers_[next_++ % workers_.size()];
  worker.thread.loop().post(
      [&server = *worker.server, socket = std::move(socket), hello = std::move(hello)]() mutable {
        server.adopt(std::move(socket), std::move(hello));
      });
}

}  // namespace larder::real
