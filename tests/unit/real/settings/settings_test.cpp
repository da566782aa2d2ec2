#include "real/settings/settings.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tests/files/temporary.h"

namespace larder::real {
namespace {

using namespace std::chrono_literals;
using nlohmann::ordered_json;

// A program with a setting of every type: `serve` uses the sections cache and log, `ask` only log.
struct Program {
  std::string listen = "here";
  Bytes memory = 1_GiB;
  double watermark = 0.5;
  std::uint64_t seed = 1;
  std::uint16_t small = 2;
  Duration lease = 10s;
  bool strict = false;
  std::optional<std::filesystem::path> directory;
  std::string level = "info";
  std::string other_listen = "there";
  Settings settings;
  CLI::App app;

  explicit Program(std::vector<std::string_view> sections = {"cache", "log"}) {
    settings.section("log", {.flag = "--log-", .variable = "LARDER_LOG_"})
        .add("level", level, choice_value({"info", "warn"}), "What is logged");
    settings.section("cache", {.variable = "LARDER_CACHE_"})
        .add("listen", listen, text_value("NAME", 20), "Where")
        .add("memory", memory, size_value({.min = 1_MiB, .max = 1_TiB}), "How much")
        .add("high-watermark", watermark, decimal_value({.min = 0, .max = 1}), "Share")
        .add("seed", seed, whole_value<std::uint64_t>(), "Seed")
        .add("small", small, whole_value<std::uint16_t>({.min = 1}), "A port")
        .add("lease", lease, duration_value({.min = 1ms, .max = 1h}), "How long")
        .add("strict", strict, boolean_value(), "Whether")
        .add("directory", directory, path_value("DIR"), "Where it lies")
        .check([this]() -> Status {
          if (watermark <= 0.9) return {};
          return failed(ErrorCode::invalid_params, "a watermark above 0.9 is unwise");
        });
    settings.section("other", {}).add("listen", other_listen, text_value("NAME", 20), "Where too");
    settings.add_flags(app, sections);
  }

  Status run(const std::vector<std::string>& flags, const Environment& environment = {}) {
    app.parse(std::vector<std::string>(flags.rbegin(), flags.rend()));
    return settings.load(environment);
  }
};

// What a program says that is given this; empty if it is content.
std::string refusal(const std::vector<std::string>& flags, const Environment& environment = {}) {
  Program program;
  const Status status = program.run(flags, environment);
  if (status) return "";
  EXPECT_EQ(status.error().code(), ErrorCode::invalid_params);
  return status.error().facts().detail;
}

TEST(Settings, AFlagWinsOverTheEnvironmentOverTheFileOverTheDefault) {
  const TemporaryDirectory directory;
  const std::string file =
      directory.file("c.json", R"({"cache": {"listen": "file", "seed": 7, "memory": "2GiB"}})");
  Program program;
  ASSERT_TRUE(program.run({"--config", file, "--listen", "flag"},
                          {{"LARDER_CACHE_LISTEN", "environment"}, {"LARDER_CACHE_SEED", "8"}}));
  EXPECT_EQ(program.listen, "flag");
  EXPECT_EQ(program.seed, 8u);
  EXPECT_EQ(program.memory, 2_GiB);
  EXPECT_EQ(program.small, 2);
  EXPECT_EQ(program.settings.source("cache", "listen"), Settings::Source::flag);
  EXPECT_EQ(program.settings.source("cache", "seed"), Settings::Source::environment);
  EXPECT_EQ(program.settings.source("cache", "memory"), Settings::Source::file);
  EXPECT_EQ(program.settings.source("cache", "small"), Settings::Source::built_in);
}

TEST(Settings, TheEnvironmentNamesTheFileUnlessAFlagDoes) {
  const TemporaryDirectory directory;
  const std::string one = directory.file("1.json", R"({"cache": {"seed": 1001}})");
  const std::string two = directory.file("2.json", R"({"cache": {"seed": 1002}})");
  Program by_variable;
  ASSERT_TRUE(by_variable.run({}, {{"LARDER_CONFIG", one}}));
  EXPECT_EQ(by_variable.seed, 1001u);
  Program by_flag;
  ASSERT_TRUE(by_flag.run({"--config", two}, {{"LARDER_CONFIG", one}}));
  EXPECT_EQ(by_flag.seed, 1002u);
}

TEST(Settings, WhatIsInForceIsAFileThatGivesTheSameAgain) {
  Program first;
  ASSERT_TRUE(
      first.run({"--memory", "1536kb", "--high-watermark", "0.25", "--strict", "--lease", "1.5",
                 "--directory", "/x y"},
                {{"LARDER_LOG_LEVEL", "warn"}, {"LARDER_CACHE_SEED", "18446744073709551615"}}));
  const ordered_json effective = first.settings.effective();
  EXPECT_EQ(
      effective.at("cache").dump(),
      R"({"listen":"here","memory":"1536KiB","high-watermark":0.25,)"
      R"("seed":18446744073709551615,"small":2,"lease":"1500ms","strict":true,"directory":"/x y"})");
  EXPECT_EQ(effective.at("from").dump(),
            R"({"config":null,"flag":["cache.memory","cache.high-watermark","cache.lease",)"
            R"("cache.strict","cache.directory"],"environment":["log.level","cache.seed"],)"
            R"("file":[],"default":["cache.listen","cache.small"]})");
  const TemporaryDirectory directory;
  Program again;
  ASSERT_TRUE(again.run({"--config", directory.file("c.json", effective.dump())}));
  ordered_json second = again.settings.effective();
  EXPECT_EQ(second.at("cache"), effective.at("cache"));
  EXPECT_EQ(second.at("log"), effective.at("log"));
  EXPECT_TRUE(second.at("from").at("default").empty());
}

TEST(Settings, AnOpenValueIsNullAndNullLeavesItOpen) {
  const TemporaryDirectory directory;
  Program program;
  ASSERT_TRUE(program.run(
      {"--config", directory.file("c.json", R"({"cache": {"directory": null, "seed": null}})")}));
  EXPECT_FALSE(program.directory);
  EXPECT_EQ(program.seed, 1u);
  EXPECT_TRUE(program.settings.effective().at("cache").at("directory").is_null());
}

TEST(Settings, ATextThatIsNoUtf8IsRefusedAndAPathMayBeAnyBytes) {
  EXPECT_EQ(refusal({"--listen", "a\xff"}), "--listen: 'a\\xff' is no UTF-8");
  EXPECT_EQ(refusal({}, {{"LARDER_CACHE_LISTEN", "\xc3"}}),
            "LARDER_CACHE_LISTEN: '\\xc3' is no UTF-8");
  EXPECT_EQ(refusal({"--listen", "\xc3\xa9"}), "");

  const TemporaryDirectory temporary;
  const std::string file = temporary.file("\xfe", "{}").string();
  Program program;
  ASSERT_TRUE(program.run({"--config", file, "--directory", "/tmp/x\xff"}));
  EXPECT_EQ(*program.directory, "/tmp/x\xff");
  const ordered_json effective = program.settings.effective();
  EXPECT_EQ(effective["cache"]["directory"], "/tmp/x%FF");
  EXPECT_EQ(effective["from"]["config"], (temporary.path() / "%FE").string());
  EXPECT_FALSE(effective.dump().empty()) << "it can be written";
}

TEST(Settings, ABooleanFlagStandsAloneOrSaysWhich) {
  Program program;
  ASSERT_TRUE(program.run({"--strict"}));
  EXPECT_TRUE(program.strict);
  Program off;
  ASSERT_TRUE(off.run({"--strict", "--strict=false"}));
  EXPECT_FALSE(off.strict);
  for (const char* const text : {"d", "--", "1e99", "99999999999999999999"}) {
    const std::string why = refusal({std::string("--strict=") + text});
    EXPECT_NE(why.find("--strict"), std::string::npos) << why;
    EXPECT_NE(why.find("neither true nor false"), std::string::npos) << why;
  }
}

TEST(Settings, AFlagOfTwoSectionsBearsTheSectionsNameInTheSecond) {
  Program program({"cache", "other"});
  ASSERT_TRUE(program.run({"--listen", "a", "--other-listen", "b"}));
  EXPECT_EQ(program.listen, "a");
  EXPECT_EQ(program.other_listen, "b");
}

TEST(Settings, OfTheEnvironmentOnlyWhatIsUsedCountsOfTheFileAll) {
  const TemporaryDirectory directory;
  Program by_environment({"log"});
  EXPECT_TRUE(by_environment.run({}, {{"LARDER_CACHE_MEMORY", "lots"}}));
  Program by_file({"log"});
  const Status refused =
      by_file.run({"--config", directory.file("c.json", R"({"cache": {"memory": "lots"}})")});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("cache.memory"), std::string::npos);
}

TEST(Settings, EveryRefusalNamesThePlaceAndTheReason) {
  const struct {
    std::vector<std::string> flags;
    Environment environment;
    const char* place;
    const char* reason;
  } cases[] = {
      {{"--memory", "'4gb'"}, {}, "--memory: ", "quotes of '4gb' are part of the value: write 4gb"},
      {{"--memory", "\"4gb"}, {}, "--memory: ", "write 4gb"},
      {{"--listen", "`x`"}, {}, "--listen: ", "write x"},
      {{"--listen", "'"}, {}, "--listen: ", "quotes"},
      {{"--listen", " x"}, {}, "--listen: ", "white space"},
      {{"--listen", "a\nb"}, {}, "--listen: ", "control character"},
      {{"--listen", "123456789012345678901"}, {}, "--listen: ", "21 bytes, 20 are the most"},
      {{"--memory", "4.5GiB"}, {}, "--memory: ", "fractions"},
      {{"--memory", "-1"}, {}, "--memory: ", "sign"},
      {{"--memory", "1e3"}, {}, "--memory: ", "'e3'"},
      {{"--memory", "99999999999GiB"}, {}, "--memory: ", "64 bits"},
      {{"--memory", "2TiB"}, {}, "--memory: ", "2TiB is not from 1MiB to 1TiB"},
      {{"--seed", "18446744073709551616"}, {}, "--seed: ", "whole number"},
      {{"--small", "0"}, {}, "--small: ", "from 1 to 65535"},
      {{"--small", "65536"}, {}, "--small: ", "from 1 to 65535"},
      {{"--high-watermark", "nan"}, {}, "--high-watermark: ", "no number"},
      {{"--high-watermark", "1.1"}, {}, "--high-watermark: ", "from 0 to 1"},
      {{"--high-watermark", "0.95"}, {}, "", "above 0.9 is unwise"},
      {{"--lease", "2h"}, {}, "--lease: ", "2h is not from 1ms to 3600s"},
      {{"--log-level", "loud"}, {}, "--log-level: ", "info, warn"},
      {{}, {{"LARDER_CACHE_MEMORY", ""}}, "LARDER_CACHE_MEMORY: ", "empty"},
      {{}, {{"LARDER_CACHE_MEMORY", "lots"}}, "LARDER_CACHE_MEMORY: ", "'lots'"},
      {{}, {{"LARDER_CACHE_STRICT", "yes"}}, "LARDER_CACHE_STRICT: ", "neither true nor false"},
      {{}, {{"LARDER_CONFIG", ""}}, "LARDER_CONFIG: ", "empty"},
      {{}, {{"LARDER_CONFIG", "/no/such"}}, "/no/such: ", "No such file"},
      {{}, {{"LARDER_CONFIG", "/"}}, "/: ", "Is a directory"},
  };
  for (const auto& [flags, environment, place, reason] : cases) {
    const std::string why = refusal(flags, environment);
    EXPECT_TRUE(why.starts_with(place)) << place << " | " << why;
    EXPECT_NE(why.find(reason), std::string::npos) << reason << " | " << why;
  }
}

TEST(Settings, ABadFileIsRefusedWithThePlaceInIt) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"cache": {"memroy": "4GiB"}})", "cache.memroy is no setting (did you mean memory?)"},
      {R"({"cache": {"high_watermark": 0.5}})", "did you mean high-watermark?"},
      {R"({"log": {"memory": "4GiB"}})", "log.memory is no setting; there is cache.memory"},
      {R"({"cahce": {}})",
       "there is no section cahce (did you mean cache?); there are log, cache, other"},
      {R"({"memory": "4GiB"})", "memory is a section, so its value is an object"},
      {R"({"cache": {"memory": "'4gb'"}})", "cache.memory: the quotes of '4gb' are part"},
      {R"({"cache": {"memory": ""}})", "cache.memory: it is empty"},
      {R"({"cache": {"memory": -1}})", "cache.memory: '-1' is no size"},
      {R"({"cache": {"memory": 1e3}})", "cache.memory: '1e3' is no size"},
      {R"({"cache": {"memory": 4096.5}})", "cache.memory: '4096.5' is no size"},
      {R"({"cache": {"memory": true}})",
       "cache.memory: it takes a number, or a text in quotes, not true"},
      {R"({"cache": {"seed": "7"}})", "cache.seed: it takes a number without quotes, not \"7\""},
      {R"({"cache": {"seed": 99999999999999999999}})", "cache.seed: '99999999999999999999' is not"},
      {R"({"cache": {"strict": "true"}})", "cache.strict: it takes true or false, without quotes"},
      {R"({"cache": {"listen": 5}})", "cache.listen: it takes a text in quotes, not 5"},
      {R"({"cache": {"seed": 1, "seed": 1}})", "cache.seed is there twice"},
      {R"({"cache": {}, "cache": {}})", "the section cache is there twice"},
      {R"({"cache": {"listen": ["a"]}})", "cache.listen has a list as its value"},
      {R"({"cache": {"listen": {"a": 1}}})", "cache.listen has an object as its value"},
      {"{\"cache\": {\n  \"seed\": 07}}", "it is no JSON: line 2, column 1"},
      {"{} {}", "it is no JSON: line 1, column 4"},
      {"", "it is no JSON"},
      {"[]", "it is a list"},
      {"7", "it is not an object of sections"},
  };
  const TemporaryDirectory directory;
  for (const auto& [json, reason] : cases) {
    const std::string file = directory.file("c.json", json);
    const std::string why = refusal({"--config", file});
    EXPECT_TRUE(why.starts_with(file + ": ")) << why;
    EXPECT_NE(why.find(reason), std::string::npos) << reason << " | " << why;
  }
}

TEST(Settings, OriginsInAFileArePassedOverWhateverTheySay) {
  const TemporaryDirectory directory;
  Program program;
  EXPECT_TRUE(program.run(
      {"--config",
       directory.file("c.json",
                      R"({"from": {"flag": ["x"], "y": {"z": {}}}, "cache": {"seed": 3}})")}));
  EXPECT_EQ(program.seed, 3u);
}

TEST(Settings, AVariableThatIsNoSettingIsToldWithTheNearest) {
  const Program program;
  const auto unknown = program.settings.unknown_variables({{"LARDER_CACHE_MEMROY", "1"},
                                                           {"LARDER_CACHE_SEED", "1"},
                                                           {"LARDER_MASTER_PORT", "tcp://"},
                                                           {"LARDER_CONFIG", "x"}});
  ASSERT_EQ(unknown.size(), 2u);
  EXPECT_EQ(unknown[0].name, "LARDER_CACHE_MEMROY");
  EXPECT_EQ(unknown[0].nearest, "LARDER_CACHE_MEMORY");
  EXPECT_EQ(unknown[1].name, "LARDER_MASTER_PORT");
  EXPECT_EQ(unknown[1].nearest, std::nullopt);
}

TEST(Settings, HelpShowsEachWithItsVariableAndDefault) {
  Program program;
  const std::string help = program.app.help();
  for (const char* text : {"--config", "--memory SIZE", "1GiB", "LARDER_CACHE_MEMORY", "--strict",
                           "--lease DURATION", "10s", "LARDER_LOG_LEVEL", "info|warn"}) {
    EXPECT_NE(help.find(text), std::string::npos) << text << "\n" << help;
  }
}

}  // namespace
}  // namespace larder::real
