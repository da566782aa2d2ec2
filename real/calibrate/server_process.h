#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/time.h"
#include "real/daemon/descriptor.h"

namespace larder::real {

// The processor time that a process has used so far, its kernel's part included. Zero where it is
// gone.
Duration processor_time_of(int process);
// And all cores together, whoever used them, as far as the kernel counts: in hundredths of a
// second.
Duration processor_time_of_all();

// A server of a pool (larder master, larder node) that this process has started: the same program,
// as a child. It ends with this object, or with this process, however that ends.
class ServerProcess {
 public:
  // With these arguments; waits until it says that it is ready. Errors:
  // unavailable_in_current_status (it could not be started, or ended without a word: what it has to
  // say is on stderr).
  static Result<ServerProcess> start(const std::vector<std::string>& arguments);
  ServerProcess(ServerProcess&& other) noexcept;
  ServerProcess& operator=(ServerProcess&& other) noexcept;
  ~ServerProcess();

  const std::string& endpoint() const { return endpoint_; }
  Duration processor_time() const { return processor_time_of(process_); }

 private:
  ServerProcess(int process, Descriptor output) : process_(process), output_(std::move(output)) {}

  int process_;
  Descriptor output_;
  std::string endpoint_;
};

}  // namespace larder::real
