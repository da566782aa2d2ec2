#include "core/pages/page_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace larder {
namespace {

PageSpace llama() {
  return {.tenant = "search",
          .model = "meta-llama/Llama-3.1-8B",
          .revision = "0e9e39f",
          .kv_type = "fp16",
          .page_tokens = 512,
          .layout = "page-first",
          .tp_size = 8};
}

std::string key(const PageSpace& space, PageHash page, std::size_t object = 0) {
  std::string text;
  PageKeys::make(space).value().append_key(page, object, text);
  return text;
}

std::string refused(const PageSpace& space) {
  const auto keys = PageKeys::make(space);
  return keys ? "made" : keys.error().facts().detail;
}

TEST(PageKeys, A16AreTheSameOnEveryHost) {
  const PageHash page{.high = 0x0123456789abcdef, .low = 0xfedcba9876543210};
  const std::string group =
      "kv/search/meta-llama%2FLlama-3.1-8B/0e9e39f/fp16/512/page-first/tp*.8/pp0.1/"
      "0123456789abcdeffedcba9876543210";
  EXPECT_EQ(key(llama(), page, 0), group + "/k");
  EXPECT_EQ(key(llama(), page, 1), group + "/v");
  std::string text;
  PageKeys::make(llama()).value().append_group(page, text);
  EXPECT_EQ(text, group);
}

TEST(PageKeys, APageOfOneObjectHasOneKey) {
  PageSpace latent = llama();
  latent.keys_and_values = false;
  const PageKeys keys = PageKeys::make(latent).value();
  EXPECT_EQ(keys.objects(), 1);
  EXPECT_TRUE(key(latent, {}).ends_with("/00000000000000000000000000000000/kv"));
  EXPECT_EQ(keys.key_bytes(), key(latent, {}).size());
  EXPECT_EQ(PageKeys::make(llama())->key_bytes(), key(llama(), {}, 1).size());
}

TEST(PageKeys, EachDifferenceOfTheSpaceIsOneOfTheKey) {
  const std::vector<std::function<void(PageSpace&)>> changes{
      [](PageSpace&) {},
      [](PageSpace& space) { space.tenant = "mail"; },
      [](PageSpace& space) { space.tenant = ""; },
      [](PageSpace& space) { space.model = "meta-llama/Llama-3.1-70B"; },
      [](PageSpace& space) { space.revision = "0e9e39e"; },
      [](PageSpace& space) { space.kv_type = "fp8"; },
      [](PageSpace& space) { space.page_tokens = 256; },
      [](PageSpace& space) { space.layout = "layer-first"; },
      [](PageSpace& space) { space.tp_size = 4; },
      [](PageSpace& space) { space.tp_rank = 0; },
      [](PageSpace& space) { space.tp_rank = 1; },
      [](PageSpace& space) { space.pp_size = 2; },
      [](PageSpace& space) { space.pp_size = 2, space.pp_rank = 1; },
      [](PageSpace& space) { space.keys_and_values = false; },
      // What would be the same text if names were only written behind each other.
      [](PageSpace& space) { space.tenant = "search/meta-llama", space.model = "Llama-3.1-8B"; },
      [](PageSpace& space) { space.model = "meta-llama%2FLlama-3.1-8B"; },
  };
  std::set<std::string> groups;
  for (const auto& change : changes) {
    PageSpace space = llama();
    change(space);
    groups.insert(key(space, {.low = 7}));
  }
  EXPECT_EQ(groups.size(), changes.size());
}

TEST(PageKeys, WhatNamesNoPagesIsRefused) {
  PageSpace space = llama();
  space.model.clear();
  EXPECT_EQ(refused(space), "pages without a model");
  space = llama();
  space.page_tokens = 0;
  EXPECT_EQ(refused(space), "pages of no tokens");
  space = llama();
  space.tp_rank = 8;
  EXPECT_EQ(refused(space), "TP rank 8 of 8: ranks count from 0 and are below the size");
  space = llama();
  space.pp_size = 0;
  EXPECT_THAT(refused(space), testing::StartsWith("PP rank 0 of 0"));
  space = llama();
  space.model = std::string(1'000, 'm');
  EXPECT_THAT(refused(space), testing::HasSubstr("bytes: at most 1024"));
}

TEST(PageHash, A16StandsForThePageAndForAllBeforeIt) {
  const std::vector<std::uint32_t> first{1, 2};
  const std::vector<std::uint32_t> second{3, 4};
  const PageHash begin = page_hash({}, first);
  // Computed with XXH3_128bits over 16 zero bytes, 01 00 00 00, 02 00 00 00, and so on.
  EXPECT_EQ(begin, (PageHash{.high = 0x68a901b246126501, .low = 0x7087572875a840dd}));
  EXPECT_EQ(page_hash(begin, second),
            (PageHash{.high = 0xd679a5cd49ab954f, .low = 0xb02964184f3a805a}));
  EXPECT_NE(page_hash(begin, second), page_hash({}, second));
}

}  // namespace
}  // namespace larder
