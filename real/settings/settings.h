#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "real/settings/value.h"

namespace CLI {
class App;
}

namespace larder::real {

struct FileEntry;

// The variables of this process's environment whose names begin with LARDER_.
using Environment = std::map<std::string, std::string>;
Environment larder_environment();

// All settings of a program. Each is declared once: a section and a name, a value with its default,
// and a sentence of help. From that follow
//   the flag         --high-watermark                  (--node-listen where a command has two
//   --listen) the variable     LARDER_MASTER_HIGH_WATERMARK the key          {"master":
//   {"high-watermark": 0.9}} of the file that --config or LARDER_CONFIG
//                    names.
// A flag wins over the environment, that over the file, and that over the default.
//
// The whole file is checked, also the sections that a command does not use, so that one file can
// serve all commands; of the environment only what the command uses. A LARDER_ variable that is no
// setting is not refused but told (unknown_variables()), since Kubernetes gives every container
// LARDER_MASTER_PORT and the like for a service called larder-master.
class Settings {
 public:
  enum class Source : std::uint8_t { built_in, file, environment, flag };

  // What begins the flags and the variables of a section.
  struct Prefixes {
    std::string flag = "--";
    std::string variable = "LARDER_";
  };
  class Section {
   public:
    // `target` holds the default, and then what was set. It outlives the settings.
    template <class T>
    Section& add(std::string name, T& target, const Value<T>& value, std::string help) {
      declare({.name = std::move(name),
               .help = std::move(help),
               .type = value.type,
               .form = value.form,
               .read = [&target, read = value.read](std::string_view text) -> Status {
                 LARDER_TRY(target, read(text));
                 return {};
               },
               .write = [&target, write = value.write] { return write(target); }});
      return *this;
    }
    // What is added from now on stands below this title in --help.
    Section& titled(std::string title);
    // What must hold among several values, once all are known.
    Section& check(std::function<Status()> holds);

   private:
    friend class Settings;
    struct Declaration {
      std::string name;
      std::string help;
      std::string type;
      Form form;
      std::function<Status(std::string_view)> read;
      std::function<std::string()> write;
    };
    Section(Settings& settings, std::string name, Prefixes prefixes);
    void declare(Declaration declaration);

    Settings& settings_;
    std::string name_;
    Prefixes prefixes_;
    std::string title_;
  };

  Settings();
  ~Settings();
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  Section section(std::string name, Prefixes prefixes);

  // The command uses these sections, and has a flag for each of their settings. The settings
  // outlive `command`.
  void add_flags(CLI::App& command, std::span<const std::string_view> sections);
  // The same without flags.
  void use(std::span<const std::string_view> sections);

  // All of them, in the order of their declaration.
  std::vector<std::string_view> sections() const;

  // Sets every target, when CLI11 has read the flags. Errors: invalid_params that names the place
  // (flag; variable; file and key) and what is wrong with the text that stands there.
  Status load(const Environment& environment);

  // What is in force: a file of settings for the sections in use, with one more section "from" that
  // names for each value where it came from.
  nlohmann::ordered_json effective() const;

  struct UnknownVariable {
    std::string name;
    std::optional<std::string> nearest;  // that is a setting
  };
  std::vector<UnknownVariable> unknown_variables(const Environment& environment) const;

  // Where the value of a setting came from. Precondition: it is declared.
  Source source(std::string_view section, std::string_view name) const;

 private:
  struct Setting;
  struct Check {
    std::string section;
    std::function<Status()> holds;
  };

  Setting* find(std::string_view section, std::string_view name) const;
  bool in_use(std::string_view section) const;
  Status load_file(const std::string& path);
  Status check_section(std::string_view path, std::string_view section) const;
  std::unexpected<Error> unknown_key(std::string_view path, const FileEntry& entry) const;

  std::vector<std::unique_ptr<Setting>> settings_;  // in the order of their declaration
  std::vector<Check> checks_;
  std::vector<std::string> used_;
  std::string file_;  // empty: none
};

}  // namespace larder::real
