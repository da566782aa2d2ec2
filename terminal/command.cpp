#include "terminal/command.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

namespace larder::terminal {
namespace {

std::string first_of(const std::string& names) { return names.substr(0, names.find(',')); }

// As CLI11 is told that a word is wrong.
void throw_unless(const Status& good, const std::string& name) {
  if (!good) throw CLI::ValidationError(name, good.error().facts().detail);
}

}  // namespace

// ---- options ------------------------------------------------------------------------------------

Option Option::required(bool is) const { return Option(option_->required(is)); }

Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }

Option Option::group(const std::string& title) const { return Option(option_->group(title)); }

Option Option::default_str(const std::string& text) const {
  return Option(option_->default_str(text));
}

Option Option::capture_default_str() const { return Option(option_->capture_default_str()); }

Option Option::default_val(const std::string& text) const {
  return Option(option_->default_val(text));
}

Option Option::optional_value() const { return Option(option_->expected(0, 1)); }

Option Option::repeatable() const {
  return Option(option_->expected(1)->allow_extra_args(false)->multi_option_policy(
      CLI::MultiOptionPolicy::TakeAll));
}

Option Option::one_of(std::initializer_list<std::string> words) const {
  return Option(option_->check(CLI::IsMember(std::vector<std::string>(words))));
}

Option Option::in_range(double least, double most) const {
  return Option(option_->check(CLI::Range(least, most)));
}

Option Option::in_range(int least, int most) const {
  return Option(option_->check(CLI::Range(least, most)));
}

Option Option::not_empty() const {
  return Option(option_->check(CLI::Validator(
      [](const std::string& text) {
        return text.empty() ? std::string("must not be empty") : std::string();
      },
      "")));
}

Option Option::excludes(const Option& other) const {
  return Option(option_->excludes(other.option_));
}

std::size_t Option::count() const { return option_->count(); }

// ---- commands -----------------------------------------------------------------------------------

Command Command::add_subcommand(const std::string& name, const std::string& description) const {
  return Command(*app_->add_subcommand(name, description));
}

void Command::require_subcommand() const { app_->require_subcommand(1); }

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::callback(std::function<void()> run) const { app_->callback(std::move(run)); }

void Command::check(std::function<Status()> look) const {
  app_->parse_complete_callback([app = app_, look = std::move(look)] {
    // What is misspelled is named before what is wrong.
    if (app->remaining_size() > 0) return;
    if (const Status good = look(); !good) {
      throw CLI::ValidationError(good.error().facts().detail);
    }
  });
}

template <class Value>
Option Command::add_option(const std::string& names, Value& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

template Option Command::add_option(const std::string&, double&, const std::string&) const;
template Option Command::add_option(const std::string&, std::string&, const std::string&) const;
template Option Command::add_option(const std::string&, std::filesystem::path&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<std::string>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::string>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::filesystem::path>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::uint16_t>&,
                                    const std::string&) const;

Option Command::add_parsed(const std::string& names, std::function<Status(const std::string&)> take,
                           const std::string& help) const {
  return Option(app_->add_option_function<std::string>(
      names,
      [name = first_of(names), take = std::move(take)](const std::string& text) {
        throw_unless(take(text), name);
      },
      help));
}

Option Command::add_parsed_list(const std::string& names,
                                std::function<Status(const std::vector<std::string>&)> take,
                                const std::string& help) const {
  return Option(app_->add_option_function<std::vector<std::string>>(
                    names,
                    [name = first_of(names), take = std::move(take)](
                        const std::vector<std::string>& texts) { throw_unless(take(texts), name); },
                    help))
      .repeatable();
}

Option Command::add_flag(const std::string& names, bool& value, const std::string& help) const {
  return Option(app_->add_flag(names, value, help));
}

Option Command::add_flag(const std::string& names, std::function<void()> given,
                         const std::string& help) const {
  return Option(app_->add_flag_callback(names, std::move(given), help));
}

Option Command::option(const std::string& name) const { return Option(app_->get_option(name)); }

std::size_t Command::count(const std::string& name) const { return app_->count(name); }

void end_with(int exit_code) { throw CLI::RuntimeError(exit_code); }

}  // namespace larder::terminal
