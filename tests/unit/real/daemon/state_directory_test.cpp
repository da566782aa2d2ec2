#include "real/daemon/state_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/files/temporary.h"

namespace larder::real {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

StateDirectory opened(const std::filesystem::path& path) {
  auto directory = StateDirectory::open(path);
  if (!directory) throw std::runtime_error(directory.error().message());
  return std::move(*directory);
}

ErrorCode refusal(const std::filesystem::path& path) {
  const auto directory = StateDirectory::open(path);
  EXPECT_FALSE(directory);
  if (directory) return ErrorCode(0);
  EXPECT_NE(directory.error().message().find(path.string()), std::string::npos)
      << "the error names no file: " << directory.error().message();
  return directory.error().code();
}

TEST(StateDirectory, FindsAgainWhatWasRecorded) {
  const TemporaryDirectory temporary;
  const auto path = temporary.path() / "master";
  const std::string odd_name = "n\xff\n\"1%";
  {
    StateDirectory directory = opened(path);
    EXPECT_EQ(directory.last_epoch(), Epoch{});
    ASSERT_TRUE(directory.begin_epoch({5 << 16}));
    const StateRecord records[] = {NodeKnown{.incarnation = {1, 2}, .name = odd_name},
                                   NodeKnown{.incarnation = {3, 4}, .name = "b"},
                                   NodeLost{.incarnation = {3, 4}}, RecoveryEnded{{5 << 16}}};
    ASSERT_TRUE(directory.record(records));
  }
  {
    StateDirectory directory = opened(path);
    EXPECT_EQ(directory.last_epoch(), Epoch{5 << 16});
    const MasterState& state = directory.state();
    EXPECT_TRUE(state.durable);
    EXPECT_EQ(state.recovered_epoch, Epoch{5 << 16});
    ASSERT_EQ(state.known.size(), 1u);
    EXPECT_EQ(state.known[0].incarnation, (IncarnationId{1, 2}));
    EXPECT_EQ(state.known[0].name, odd_name);
    EXPECT_EQ(state.lost, (std::vector<IncarnationId>{{3, 4}}));
    const StateRecord newer[] = {NewerEpoch{{9 << 16}}};
    ASSERT_TRUE(directory.record(newer));
  }
  EXPECT_EQ(opened(path).last_epoch(), Epoch{9 << 16});
}

TEST(StateDirectory, BelongsToOneMasterAtATime) {
  const TemporaryDirectory temporary;
  const StateDirectory first = opened(temporary.path());
  EXPECT_EQ(refusal(temporary.path()), ErrorCode::file_open_fail);
}

TEST(StateDirectory, AForeignOrDamagedFileIsNamedAndLeftAlone) {
  const TemporaryDirectory temporary;
  ASSERT_TRUE(opened(temporary.path()).begin_epoch({77}));
  const std::string good = content(temporary.path() / "state");

  std::vector<std::string> bad = {"", "hello\n", "larder-master-state 2 0000000000000000\n{}\n",
                                  good.substr(0, good.size() / 2), good + " "};
  for (std::size_t i = 0; i < good.size(); ++i) {
    bad.push_back(good);
    bad.back()[i] = static_cast<char>(bad.back()[i] ^ 1);
  }
  for (const std::string& text : bad) {
    temporary.file("state", text);
    EXPECT_EQ(refusal(temporary.path()), ErrorCode::bad_file) << text;
    EXPECT_EQ(content(temporary.path() / "state"), text);
  }
}

TEST(StateDirectory, AFileInItsPlaceOrAMissingParentIsAnError) {
  const TemporaryDirectory temporary;
  EXPECT_EQ(refusal(temporary.file("file", "x")), ErrorCode::file_open_fail);
  EXPECT_EQ(refusal(temporary.path() / "no" / "parent"), ErrorCode::file_open_fail);
}

TEST(StateDirectory, OneThatWasRemovedOrReplacedIsNoticedAndItsReplacementLeftAlone) {
  namespace fs = std::filesystem;
  const TemporaryDirectory temporary;
  const auto path = temporary.path() / "master";
  const auto notices = [](StateDirectory& directory) {
    const Status kept = directory.begin_epoch({1});
    return !kept && kept.error().message().contains("was removed or replaced");
  };
  StateDirectory first = opened(path);
  ASSERT_TRUE(first.begin_epoch({77}));
  fs::remove_all(path);
  EXPECT_TRUE(notices(first));
  EXPECT_FALSE(fs::exists(path));

  StateDirectory second = opened(path);
  ASSERT_TRUE(second.begin_epoch({99}));
  const std::string good = content(path / "state");
  EXPECT_TRUE(notices(first));
  EXPECT_EQ(content(path / "state"), good);

  fs::rename(path, temporary.path() / "moved");
  EXPECT_TRUE(notices(second));
  fs::rename(temporary.path() / "moved", path);
  EXPECT_TRUE(second.begin_epoch({100}));
  fs::remove(path / "lock");
  EXPECT_TRUE(notices(second)) << "its lock keeps nobody out any more";
}

TEST(StateDirectory, AStateThatIsNoFileOrTooLargeIsRefusedAtOnce) {
  namespace fs = std::filesystem;
  const TemporaryDirectory temporary;
  const auto path = temporary.path() / "state";
  const auto refused_because = [&](std::string_view why) {
    const auto directory = StateDirectory::open(temporary.path());
    if (directory) return false;
    EXPECT_EQ(directory.error().code(), ErrorCode::bad_file);
    EXPECT_NE(directory.error().message().find(path.string()), std::string::npos);
    fs::remove_all(path);
    return directory.error().message().contains(why);
  };
  fs::create_directory(path);
  EXPECT_TRUE(refused_because("is a directory"));
  fs::create_symlink("/dev/zero", path);
  EXPECT_TRUE(refused_because("is not a regular file"));
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(refused_because("is not a regular file"));
  temporary.file("state", "");
  fs::resize_file(path, std::uint64_t{300} << 20);
  EXPECT_TRUE(refused_because("has 300.00 MiB"));
}

}  // namespace
}  // namespace larder::real
