#include "real/settings/settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/base/assert.h"
#include "core/base/printable.h"
#include "real/settings/file.h"
#include "real/settings/nearest.h"

extern char** environ;

namespace larder::real {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view variable_prefix = "LARDER_";
constexpr const char* config_variable = "LARDER_CONFIG";

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '-') c = '_';
  }
  return text;
}

std::unexpected<Error> refused(std::string_view place, std::string_view why) {
  return failed(ErrorCode::invalid_params, fmt::format("{}: {}", place, why));
}

// What no value may look like, whatever its type.
Status check_text(std::string_view text) {
  const auto no = [](std::string why) { return failed(ErrorCode::invalid_params, std::move(why)); };
  if (text.empty()) return no("it is empty; leave it out to have the default");
  const auto is_quote = [](char c) { return c == '\'' || c == '"' || c == '`'; };
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  if (is_quote(text.front()) || is_quote(text.back())) {
    const std::size_t begin = is_quote(text.front()) ? 1 : 0;
    const std::size_t end = text.size() - (text.size() > 1 && is_quote(text.back()) ? 1 : 0);
    return no(fmt::format("the quotes of {} are part of the value: write {}", printable(text, 60),
                          printable(text.substr(begin, end - begin), 60)));
  }
  if (is_space(text.front()) || is_space(text.back())) {
    return no(fmt::format("{} has white space at its begin or end", in_quotes(text)));
  }
  return {};
}

std::string_view form_text(Form form) {
  switch (form) {
    case Form::text:
      return "a text in quotes";
    case Form::number:
      return "a number without quotes";
    case Form::text_or_number:
      return "a number, or a text in quotes";
    case Form::boolean:
      return "true or false, without quotes";
  }
  return "";
}

bool takes(Form form, FileEntry::Type type) {
  switch (type) {
    case FileEntry::Type::null:
      return true;
    case FileEntry::Type::boolean:
      return form == Form::boolean;
    case FileEntry::Type::number:
      return form == Form::number || form == Form::text_or_number;
    case FileEntry::Type::text:
      return form == Form::text || form == Form::text_or_number;
  }
  return false;
}

std::string did_you_mean(const std::optional<std::string>& name) {
  return name ? fmt::format(" (did you mean {}?)", *name) : "";
}

}  // namespace

Environment larder_environment() {
  Environment found;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view line = *each;
    const std::size_t equals = line.find('=');
    if (!line.starts_with(variable_prefix) || equals == std::string_view::npos) continue;
    found.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return found;
}

// ---- declarations -------------------------------------------------------------------------------

struct Settings::Setting {
  std::string section;
  std::string title;
  std::string flag;
  std::string variable;
  Section::Declaration what;
  Source source = Source::built_in;
  std::optional<std::string> flag_text;  // what the command line says

  std::string key() const { return section + "." + what.name; }
  Status set(std::string_view place, std::string_view text, Source from) {
    Status read = check_text(text);
    if (read) read = what.read(text);
    if (!read) return refused(place, read.error().facts().detail);
    source = from;
    return {};
  }
};

Settings::Section::Section(Settings& settings, std::string name, Prefixes prefixes)
    : settings_(settings), name_(std::move(name)), prefixes_(std::move(prefixes)) {}

Settings::Section& Settings::Section::titled(std::string title) {
  title_ = std::move(title);
  return *this;
}

Settings::Section& Settings::Section::check(std::function<Status()> holds) {
  settings_.checks_.push_back({.section = name_, .holds = std::move(holds)});
  return *this;
}

void Settings::Section::declare(Declaration declaration) {
  LARDER_ASSERT(settings_.find(name_, declaration.name) == nullptr);
  settings_.settings_.push_back(
      std::make_unique<Setting>(Setting{.section = name_,
                                        .title = title_,
                                        .flag = prefixes_.flag + declaration.name,
                                        .variable = prefixes_.variable + upper(declaration.name),
                                        .what = std::move(declaration),
                                        .flag_text = {}}));
}

Settings::Settings() = default;
Settings::~Settings() = default;

Settings::Section Settings::section(std::string name, Prefixes prefixes) {
  return {*this, std::move(name), std::move(prefixes)};
}

void Settings::use(std::span<const std::string_view> sections) {
  used_.insert(used_.end(), sections.begin(), sections.end());
}

void Settings::add_flags(CLI::App& command, std::span<const std::string_view> sections) {
  use(sections);
  command
      .add_option("--config", file_,
                  fmt::format("Read settings from this JSON file; without it, from the one that "
                              "{} names",
                              config_variable))
      ->type_name("FILE")
      ->check([](const std::string& path) { return path.empty() ? "it is empty" : ""; });
  for (const std::unique_ptr<Setting>& each : settings_) {
    Setting& setting = *each;
    if (!in_use(setting.section)) continue;
    const bool taken = command.get_option_no_throw(setting.flag) != nullptr;
    if (taken) setting.flag = "--" + setting.section + "-" + setting.what.name;
    const std::string help = fmt::format("{} ({})", setting.what.help, setting.variable);
    CLI::Option* option = nullptr;
    if (setting.what.form == Form::boolean) {
      // As text: CLI11 throws what is none of its own errors where a flag's value is no number.
      option = command.add_flag(setting.flag, setting.flag_text, help)->take_last();
    } else {
      option = command.add_option_function<std::string>(
          setting.flag, [&setting](const std::string& text) { setting.flag_text = text; }, help);
      option->type_name(setting.what.type)->default_str(setting.what.write());
    }
    if (!setting.title.empty()) option->group(setting.title);
  }
}

std::vector<std::string_view> Settings::sections() const {
  std::vector<std::string_view> names;
  for (const std::unique_ptr<Setting>& each : settings_) {
    if (std::ranges::count(names, each->section) == 0) names.emplace_back(each->section);
  }
  return names;
}

Settings::Setting* Settings::find(std::string_view section, std::string_view name) const {
  for (const std::unique_ptr<Setting>& each : settings_) {
    if (each->section == section && each->what.name == name) return each.get();
  }
  return nullptr;
}

bool Settings::in_use(std::string_view section) const {
  return std::ranges::count(used_, section) > 0;
}

Settings::Source Settings::source(std::string_view section, std::string_view name) const {
  const Setting* setting = find(section, name);
  LARDER_ASSERT(setting != nullptr);
  return setting->source;
}

// ---- loading ------------------------------------------------------------------------------------

Status Settings::load(const Environment& environment) {
  if (const auto named = environment.find(config_variable);
      file_.empty() && named != environment.end()) {
    if (Status good = check_text(named->second); !good) {
      return refused(config_variable, good.error().facts().detail);
    }
    file_ = named->second;
  }
  if (!file_.empty()) LARDER_CHECK(load_file(file_));
  for (const std::unique_ptr<Setting>& setting : settings_) {
    if (!in_use(setting->section)) continue;
    if (const auto found = environment.find(setting->variable); found != environment.end()) {
      LARDER_CHECK(setting->set(setting->variable, found->second, Source::environment));
    }
    if (setting->flag_text) {
      LARDER_CHECK(setting->set(setting->flag, *setting->flag_text, Source::flag));
    }
  }
  for (const Check& check : checks_) {
    if (in_use(check.section)) LARDER_CHECK(check.holds());
  }
  return {};
}

Status Settings::load_file(const std::string& path) {
  LARDER_TRY(const SettingsFile file, read_settings_file(path));
  for (const std::string& section : file.sections) {
    if (section != origins_section) LARDER_CHECK(check_section(path, section));
  }
  for (const FileEntry& entry : file.entries) {
    Setting* setting = find(entry.section, entry.name);
    if (setting == nullptr) return unknown_key(path, entry);
    const std::string place = fmt::format("{}: {}", path, setting->key());
    if (!takes(setting->what.form, entry.type)) {
      const char* quote = entry.type == FileEntry::Type::text ? "\"" : "";
      return refused(place, fmt::format("it takes {}, not {}{}{}", form_text(setting->what.form),
                                        quote, printable(entry.text, 60), quote));
    }
    if (entry.type == FileEntry::Type::null) continue;  // as if it were not there
    LARDER_CHECK(setting->set(place, entry.text, Source::file));
  }
  return {};
}

Status Settings::check_section(std::string_view path, std::string_view section) const {
  const auto views = this->sections();
  const std::vector<std::string> sections(views.begin(), views.end());
  if (std::ranges::count(sections, section) > 0) return {};
  return refused(path,
                 fmt::format("there is no section {}{}; there are {}", printable(section, 60),
                             did_you_mean(nearest(section, sections)), fmt::join(sections, ", ")));
}

std::unexpected<Error> Settings::unknown_key(std::string_view path, const FileEntry& entry) const {
  std::vector<std::string> names;  // of this section
  std::vector<std::string> homes;  // in other sections, of this name
  for (const std::unique_ptr<Setting>& each : settings_) {
    if (each->section == entry.section) names.push_back(each->what.name);
    if (each->what.name == entry.name) homes.push_back(each->key());
  }
  const std::string hint = homes.empty() ? did_you_mean(nearest(entry.name, names))
                                         : fmt::format("; there is {}", fmt::join(homes, " and "));
  return refused(path, fmt::format("{}.{} is no setting{}", printable(entry.section, 60),
                                   printable(entry.name, 60), hint));
}

// ---- what is in force ---------------------------------------------------------------------------

ordered_json Settings::effective() const {
  ordered_json all = ordered_json::object();
  ordered_json from{{"config", file_.empty() ? ordered_json() : ordered_json(path_text(file_))},
                    {"flag", ordered_json::array()},
                    {"environment", ordered_json::array()},
                    {"file", ordered_json::array()},
                    {"default", ordered_json::array()}};
  for (const std::unique_ptr<Setting>& setting : settings_) {
    if (!in_use(setting->section)) continue;
    const std::string text = setting->what.write();
    const Form form = setting->what.form;
    ordered_json& value = all[setting->section][setting->what.name];
    if (form == Form::number || form == Form::boolean) {
      value = ordered_json::parse(text);
    } else if (!text.empty()) {
      value = text;
    }
    constexpr const char* names[] = {"default", "file", "environment", "flag"};
    from[names[static_cast<std::size_t>(setting->source)]].push_back(setting->key());
  }
  all["from"] = std::move(from);
  return all;
}

std::vector<Settings::UnknownVariable> Settings::unknown_variables(
    const Environment& environment) const {
  // Without what all have in common, which would make any two names alike.
  const auto tail = [](std::string_view name) {
    return std::string(name.substr(variable_prefix.size()));
  };
  std::vector<std::string> known{tail(config_variable)};
  for (const std::unique_ptr<Setting>& setting : settings_)
    known.push_back(tail(setting->variable));
  std::vector<UnknownVariable> unknown;
  for (const auto& [name, value] : environment) {
    if (std::ranges::count(known, tail(name)) > 0) continue;
    UnknownVariable& one = unknown.emplace_back(name, nearest(tail(name), known));
    if (one.nearest) one.nearest->insert(0, variable_prefix);
  }
  return unknown;
}

}  // namespace larder::real
