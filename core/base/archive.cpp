#include "core/base/archive.h"

namespace larder {

static_assert(std::endian::native == std::endian::little);

void Archive::fail(std::string_view why) {
  if (!good()) return;
  status_ = failed(ErrorCode::bad_file,
                   std::string(why) + ", at byte " + std::to_string(at_) + " of the state");
}

bool Archive::require(bool holds, std::string_view why) {
  if (!holds) fail(why);
  return good();
}

void Archive::hand_out() {
  sink_(std::as_bytes(std::span(buffer_)));
  buffer_.clear();
}

void Archive::finish() {
  if (!loading_) return hand_out();
  require(at_ == source_.size(), "there is more in the file than in a state");
}

void Archive::text(std::string& value) {
  const std::size_t size = count(value.size());
  if (loading_) value.resize(size);
  if (loading_) {
    take(std::as_writable_bytes(std::span(value)));
  } else {
    put(std::as_bytes(std::span(value)));
  }
}

}  // namespace larder
