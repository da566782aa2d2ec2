#include "core/protocol/footer.h"

#include <bit>
#include <cstring>
#include <span>

namespace larder {
namespace {

static_assert(std::endian::native == std::endian::little, "footers are little endian");

constexpr std::uint32_t magic = 0x5244524c;  // "LRDR"
constexpr std::uint16_t version = 1;
constexpr std::uint16_t has_checksum = 1;

struct Layout {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t flags;
  std::uint64_t name_high;
  std::uint64_t name_low;
  std::uint64_t epoch;
  std::uint64_t counter;
  std::uint64_t length;
  std::uint64_t checksum;
  std::uint64_t own_checksum;
};
static_assert(sizeof(Layout) == sizeof(FooterBytes));

std::uint64_t own_checksum(const Layout& layout) {
  return checksum(std::as_bytes(std::span(&layout, 1)).first(offsetof(Layout, own_checksum)));
}

}  // namespace

FooterBytes encode(const Footer& footer) {
  Layout layout{.magic = magic,
                .version = version,
                .flags = footer.checksum ? has_checksum : std::uint16_t{0},
                .name_high = footer.name.high,
                .name_low = footer.name.low,
                .epoch = footer.put_id.epoch.value,
                .counter = footer.put_id.counter,
                .length = footer.length.value,
                .checksum = footer.checksum.value_or(0),
                .own_checksum = 0};
  layout.own_checksum = own_checksum(layout);
  return std::bit_cast<FooterBytes>(layout);
}

std::optional<Footer> decode_footer(const FooterBytes& bytes) {
  const auto layout = std::bit_cast<Layout>(bytes);
  if (layout.magic != magic || layout.version != version ||
      layout.own_checksum != own_checksum(layout)) {
    return std::nullopt;
  }
  Footer footer{.name = {layout.name_high, layout.name_low},
                .put_id = {{layout.epoch}, layout.counter},
                .length = {layout.length},
                .checksum = std::nullopt};
  if ((layout.flags & has_checksum) != 0) footer.checksum = layout.checksum;
  return footer;
}

}  // namespace larder
