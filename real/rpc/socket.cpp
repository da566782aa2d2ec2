#include "real/rpc/socket.h"

#include <unistd.h>

namespace larder::real {

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace larder::real
