#include "sim/explore/stories.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

// The stories stand in ARCHITECTURE.md as they are told. After a change that is meant:
//
//   LARDER_WRITE_STORIES=1 build/release/bin/test_unit_sim_explore --gtest_filter='Stories.*'

namespace larder::sim {
namespace {

constexpr const char* page = "ARCHITECTURE.md";  // tests run in the project's root

std::string read_page() {
  std::ifstream file(page, std::ios::binary);
  EXPECT_TRUE(file) << "run it in the project's root";
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Stories, StandInTheArchitectureAsTheyAreTold) {
  std::string text = read_page();
  for (const Story& story : stories()) {
    const std::string opening = "```\n$ larder-sim story " + std::string(story.name) + "\n";
    const std::size_t begin = text.find(opening);
    ASSERT_NE(begin, std::string::npos) << story.name << " does not stand there";
    const std::size_t told = begin + opening.size();
    const std::size_t end = text.find("```\n", told);
    ASSERT_NE(end, std::string::npos);
    if (std::getenv("LARDER_WRITE_STORIES") != nullptr) {
      text.replace(told, end - told, tell(story));
    } else {
      EXPECT_EQ(text.substr(told, end - told), tell(story));
    }
  }
  if (std::getenv("LARDER_WRITE_STORIES") != nullptr) std::ofstream(page, std::ios::binary) << text;
}

TEST(Stories, NothingIsBrokenInThem) {
  for (const Story& story : stories()) {
    EXPECT_EQ(tell(story).find("broken:"), std::string::npos) << story.name;
  }
}

}  // namespace
}  // namespace larder::sim
