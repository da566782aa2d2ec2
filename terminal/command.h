#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace larder::terminal {

// As much of CLI11 as our commands use, without its header: CLI11 is all inline functions, which
// every source that includes it would compile again, for some ten seconds each.
//
// Both are handles, as cheap as the pointers that they are, and valid as long as the CLI::App of
// the whole command line. What is wrong with a word is said by whoever parses that line, as wrong
// usage.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required(bool is = true) const;
  // What stands for its value in the help, under which heading it stands there, and its default.
  Option type_name(const std::string& name) const;
  Option group(const std::string& title) const;
  Option default_str(const std::string& text) const;
  Option capture_default_str() const;
  // The value that it has where it stands alone, or not at all.
  Option default_val(const std::string& text) const;
  // It may stand without a value.
  Option optional_value() const;
  // It may stand several times, with one value each.
  Option repeatable() const;
  Option one_of(std::initializer_list<std::string> words) const;
  Option in_range(double least, double most) const;
  Option in_range(int least, int most) const;
  // For a text such as a path: '--out ""' is a mistake, and not no --out.
  Option not_empty() const;
  Option excludes(const Option& other) const;

  // How often it stands on the command line that was read.
  std::size_t count() const;

 private:
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  Command add_subcommand(const std::string& name, const std::string& description) const;
  void require_subcommand() const;
  void footer(const std::string& text) const;
  // What it does. Runs when all of the line has been read, unless something is wrong with it.
  void callback(std::function<void()> run) const;
  // Runs when the flags of this command have been read and all are known; its error is wrong usage.
  void check(std::function<Status()> look) const;

  // `names`: "--long,-s", or "NAME" of an argument by its place. A vector takes any number of
  // words. `value` outlives the command line. Value: one of those for which terminal/command.cpp
  // has it (texts, paths, numbers).
  template <class Value>
  Option add_option(const std::string& names, Value& value, const std::string& help) const;
  // `take` says what is wrong with the text.
  Option add_parsed(const std::string& names, std::function<Status(const std::string&)> take,
                    const std::string& help) const;
  // As one list, of an option that may stand several times.
  Option add_parsed_list(const std::string& names,
                         std::function<Status(const std::vector<std::string>&)> take,
                         const std::string& help) const;
  Option add_flag(const std::string& names, bool& value, const std::string& help) const;
  Option add_flag(const std::string& names, std::function<void()> given,
                  const std::string& help) const;

  // One that was added, by its name.
  Option option(const std::string& name) const;
  // How often the option stands on the command line that was read.
  std::size_t count(const std::string& name) const;

  CLI::App& app() const { return *app_; }

 private:
  CLI::App* app_;
};

// From a callback: the process ends with this code, and whoever calls has said why.
[[noreturn]] void end_with(int exit_code);

}  // namespace larder::terminal
