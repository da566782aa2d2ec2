#include "core/protocol/owned_request.h"

#include <gtest/gtest.h>

#include <string>

namespace larder {
namespace {

TEST(OwnedRequest, KeepsItsTextsWhenTheSendersAreGone) {
  std::string key(1024, 'k');
  std::string group = "page-1";
  Request request{.body = PutStart{.items = {{.key = key, .size = 1_KiB, .group = group}}}};
  OwnedRequest owned(request);
  key.assign(1024, 'x');
  group.assign("------");
  const OwnedRequest moved = std::move(owned);
  const auto& item = std::get<PutStart>(moved.get().body).items.at(0);
  EXPECT_EQ(item.key, std::string(1024, 'k'));
  EXPECT_EQ(item.group, "page-1");
  EXPECT_EQ(item.parent, "");
}

}  // namespace
}  // namespace larder
