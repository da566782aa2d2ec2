#include "terminal/command.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "terminal/arguments.h"

namespace larder::terminal {
namespace {

// A command line with one command, "run", whose options `add` adds. What is wrong with the words
// after it; empty if nothing is.
std::string problem(const std::function<void(Command)>& add, std::vector<std::string> words) {
  CLI::App app;
  const Command run = Command(app).add_subcommand("run", "");
  add(run);
  try {
    words.insert(words.begin(), "run");
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return {};
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
}

TEST(Command, ValuesAreThoseOfTheLine) {
  std::string text;
  double decimal = 0;
  std::optional<std::string> left_out;
  std::vector<std::filesystem::path> paths;
  std::vector<std::string> each;
  bool on = false;
  int given = 0;
  std::size_t counted = 0;
  const auto add = [&](Command run) {
    run.add_option("PATH", paths, "").required();
    run.add_option("--text,-t", text, "");
    run.add_option("--decimal", decimal, "");
    run.add_option("--left-out", left_out, "");
    run.add_option("--each", each, "").repeatable();
    run.add_flag("--on", on, "");
    run.add_flag("--given", [&] { ++given; }, "");
    run.callback([&, run] { counted = run.count("--each"); });
  };
  EXPECT_EQ(problem(add, {"a", "-t", "word", "--decimal", "2.5", "--each", "x", "--each", "y", "b",
                          "--on", "--given"}),
            "");
  EXPECT_EQ(paths, (std::vector<std::filesystem::path>{"a", "b"}));
  EXPECT_EQ(text, "word");
  EXPECT_EQ(decimal, 2.5);
  EXPECT_FALSE(left_out);
  EXPECT_EQ(each, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(on);
  EXPECT_EQ(given, 1);
  EXPECT_EQ(counted, 2u);
  EXPECT_EQ(problem(add, {}), "PATH is required");
}

TEST(Command, WhatIsWrongIsToldWithTheOption) {
  std::string text;
  std::uint32_t number = 7;
  std::vector<std::string> list;
  const auto add = [&](Command run) {
    const Option word = run.add_option("--word", text, "").one_of({"b", "a"});
    run.add_option("--path", text, "").not_empty();
    run.add_option("--other", text, "").excludes(word);
    add_number(run, "--number,-n", number, "");
    run.add_parsed_list(
        "--list",
        [&](const std::vector<std::string>& texts) -> Status {
          list = texts;
          if (texts.size() < 3) return {};
          return failed(ErrorCode::invalid_params, "these are three");
        },
        "");
  };
  EXPECT_EQ(problem(add, {"--word", "a", "--number", "8", "--list", "x", "--list", "y"}), "");
  EXPECT_EQ(number, 8u);
  EXPECT_EQ(list, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(problem(add, {"--word", "c"}), "--word: c not in {b,a}");
  EXPECT_EQ(problem(add, {"--path", ""}), "--path: must not be empty");
  EXPECT_EQ(problem(add, {"--word", "a", "--other", "b"}), "--word excludes --other");
  EXPECT_EQ(problem(add, {"--number", "-1"}),
            "--number: '-1' is not a whole number from 0 to 4294967295");
  EXPECT_EQ(problem(add, {"--list", "x", "--list", "y", "--list", "z"}), "--list: these are three");
}

TEST(Command, AWordThatIsUnknownIsToldBeforeWhatTheCheckSays) {
  const auto add = [](Command run) {
    run.check([] { return Status(failed(ErrorCode::invalid_params, "the file is damaged")); });
  };
  EXPECT_EQ(problem(add, {}), "the file is damaged");
  EXPECT_EQ(problem(add, {"--mispelled"}), "The following argument was not expected: --mispelled");
}

TEST(Command, ACallbackEndsTheProcessWithItsCode) {
  CLI::App app;
  Command(app).add_subcommand("run", "").callback([] { end_with(3); });
  try {
    app.parse("run");
    FAIL();
  } catch (const CLI::RuntimeError& error) {
    EXPECT_EQ(error.get_exit_code(), 3);
  }
}

}  // namespace
}  // namespace larder::terminal
