#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/time.h"

namespace larder {

// How files of ours that are JSON are read: strictly, and each error (bad_file) begins with the
// place as a JSON pointer, or with line and column where the text is no JSON.

// A text of at most 16 MiB, without keys that stand twice in one object, and no deeper than 64
// lists and objects.
Result<nlohmann::json> parse_json(std::string_view text);

// "PLACE: WHAT" as the error.
std::unexpected<Error> wrong_json(const std::string& place, const std::string& what);

// An object of a file, and where it stands. It points into the JSON, which must outlive it.
class JsonObject {
 public:
  using Names = std::vector<std::string_view>;
  // Those that must be there, and those that may. Any other key is an error.
  struct Keys {
    Names needed;
    Names allowed;
  };

  static Result<JsonObject> make(const nlohmann::json& value, std::string place, const Keys& keys);

  const std::string& place() const { return place_; }
  std::string place(std::string_view key) const { return place_ + "/" + std::string(key); }
  bool has(std::string_view key) const { return value_->contains(key); }
  // Precondition: it has the key.
  const nlohmann::json& at(std::string_view key) const { return (*value_)[std::string(key)]; }

  // Precondition: it has the key.
  Result<std::string> text(std::string_view key) const;

  // Whole numbers, which may be written as 2.5e10. They leave the target alone where the key is
  // missing.
  template <class Number>
  Status number(std::string_view key, Number& number) const {
    if (!has(key)) return {};
    LARDER_TRY(const std::uint64_t whole, whole_number(key));
    number = static_cast<Number>(whole);
    return static_cast<std::uint64_t>(number) == whole ? Status() : not_whole(key);
  }
  Status number(std::string_view key, Bytes& bytes) const { return number(key, bytes.value); }
  Status number(std::string_view key, Duration& duration) const;
  Status flag(std::string_view key, bool& flag) const;
  // Any finite number. Likewise.
  Status decimal(std::string_view key, std::optional<double>& number) const;

  // Calls read(element, its place) for each of a list. Precondition: it has the key.
  template <class Read>
  Status each(std::string_view key, Read read) const {
    if (!at(key).is_array()) return wrong_type(key, "a list");
    std::size_t index = 0;
    for (const nlohmann::json& element : at(key)) {
      LARDER_CHECK(read(element, place(key) + "/" + std::to_string(index++)));
    }
    return {};
  }

 private:
  JsonObject(const nlohmann::json& value, std::string place)
      : value_(&value), place_(std::move(place)) {}

  Result<std::uint64_t> whole_number(std::string_view key) const;
  std::unexpected<Error> wrong_type(std::string_view key, const std::string& wanted) const;
  std::unexpected<Error> not_whole(std::string_view key) const;

  const nlohmann::json* value_;
  std::string place_;
};

}  // namespace larder
