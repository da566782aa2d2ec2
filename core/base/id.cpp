#include "core/base/id.h"

#include <array>
#include <cstdio>

namespace larder {

std::string id_text(std::uint64_t high, std::uint64_t low) {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text.data();
}

std::string to_string(PutId id) {
  return std::to_string(id.epoch.value) + "-" + std::to_string(id.counter);
}

}  // namespace larder
