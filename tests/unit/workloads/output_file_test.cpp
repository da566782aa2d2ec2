#include "workloads/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/files/temporary.h"

namespace larder::workloads {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const fs::path& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), {}));
}

TEST(OutputFile, IsThereOnlyOnceCommitted) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "out";
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(file->write("hello"));
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content(path), "hello");
  EXPECT_EQ(files_in(directory.path()), 1u);
}

TEST(OutputFile, WithoutACommitWhatWasThereStays) {
  const TemporaryDirectory directory;
  const auto path = directory.file("out", "before");
  {
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE(file->write(std::string(1 << 20, 'x')));
  }
  EXPECT_EQ(content(path), "before");
  EXPECT_EQ(files_in(directory.path()), 1u);
}

TEST(OutputFile, ReplacesAFileWholeAndKeepsItsModeAndALinkToIt) {
  const TemporaryDirectory directory;
  const auto path = directory.file("out", "before");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  const auto link = directory.path() / "link";
  fs::create_symlink(path, link);
  auto file = OutputFile::create(link);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(file->write("after"));
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(content(path), "after");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(OutputFile, AFullDiskIsAnError) {
  auto file = OutputFile::create("/dev/full");
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(file->write("hello"));
  const Status committed = file->commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().message(),
            "FILE_WRITE_FAIL (-1103): cannot write /dev/full: No space left on device");
}

TEST(OutputFile, PathsThatCannotBeWrittenAreErrorsThatSayWhy) {
  const TemporaryDirectory directory;
  EXPECT_EQ(OutputFile::create(directory.path()).error().facts().detail,
            "cannot write " + directory.path().string() + ": it is a directory");
  const auto nowhere = directory.path() / "no" / "out";
  EXPECT_EQ(OutputFile::create(nowhere).error().facts().detail,
            "cannot write " + nowhere.string() + ": No such file or directory");
}

}  // namespace
}  // namespace larder::workloads
