#include "core/protocol/owned_request.h"

#include <algorithm>

namespace larder {

OwnedRequest::OwnedRequest(const Request& request) : request_(request) {
  std::size_t total = 0;
  for_each_text(request_, [&](std::string_view& text) { total += text.size(); });
  texts_ = std::make_unique_for_overwrite<char[]>(total);
  char* next = texts_.get();
  for_each_text(request_, [&](std::string_view& text) {
    std::copy(text.begin(), text.end(), next);
    text = std::string_view(next, text.size());
    next += text.size();
  });
}

}  // namespace larder
