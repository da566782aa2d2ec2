#include "real/system/machine.h"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace larder::real {

Random system_random() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return Random(seed);
}

std::string machine_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == 0) return "localhost";
  return name.data();
}

}  // namespace larder::real
