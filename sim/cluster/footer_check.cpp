#include "sim/cluster/footer_check.h"

#include <algorithm>
#include <optional>

#include "core/base/hash.h"
#include "core/protocol/footer.h"

namespace larder::sim {

void check_footers(const TrackedMemory& memory, const std::string& where,
                   const std::function<void(const std::string&)>& violation) {
  for (Bytes at; at + footer_size <= memory.size(); at += footer_size) {
    FooterBytes bytes;
    std::ranges::copy(memory.bytes(at, footer_size), bytes.begin());
    const std::optional<Footer> footer = decode_footer(bytes);
    if (!footer) continue;
    const auto tell = [&](const char* what) {
      violation("the footer of put " + to_string(footer->put_id) + " at " +
                std::to_string(at.value) + " of " + where + " stands " + what);
    };
    const Bytes before = footer_offset(footer->length);
    if (before > at) {
      tell("before its payload");
      continue;
    }
    const Stamp whole{.at = at - before, .length = footer->length, .put = footer->put_id};
    if (!memory.stamps().holds(whole)) {
      tell("behind bytes of another put");
    } else if (footer->checksum && memory.intact(whole.at, whole.length) &&
               *footer->checksum != checksum(memory.bytes(whole.at, whole.length))) {
      tell("behind other bytes than were put");
    }
  }
}

}  // namespace larder::sim
