#include <array>
#include <charconv>

#include "core/base/printable.h"
#include "sim/exhaustive/search.h"

namespace larder::sim {
namespace {

constexpr std::array<std::string_view, 29> kind_names{
    "begin",        "request",       "reply",          "reach",        "chunk",     "end",
    "answer",       "broken",        "left",           "give-up",      "verify",    "up",
    "down",         "connect",       "gone",           "tick-master",  "tick-node", "timer",
    "late",         "transfer-late", "start-node",     "turn-client",  "turn-node", "pass",
    "crash-client", "crash-node",    "restart-master", "start-master", "lose"};
constexpr std::string_view twice_name = "twice";

std::string_view name_of(Action::Kind kind) {
  const auto at = static_cast<std::size_t>(kind);
  return at < kind_names.size() ? kind_names[at] : twice_name;
}

Result<Action> parse_action(std::string_view word) {
  const auto wrong = [&] {
    return failed(ErrorCode::invalid_params,
                  in_quotes(word) + " is no action of a way, such as request.0.3");
  };
  std::array<std::uint64_t, 3> numbers{};
  const std::string_view name = word.substr(0, word.find('.'));
  std::string_view rest = word.substr(name.size());
  for (std::uint64_t& number : numbers) {
    if (rest.empty()) break;
    const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
    if (error != std::errc() || number > 0xffff) return wrong();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (!rest.empty() && rest.front() != '.') return wrong();
  }
  if (!rest.empty()) return wrong();
  for (std::size_t kind = 0; kind <= kind_names.size(); ++kind) {
    if (name_of(Action::Kind(kind)) != name) continue;
    return Action{.kind = Action::Kind(kind),
                  .host = static_cast<std::uint8_t>(numbers[0]),
                  .part = static_cast<std::uint8_t>(numbers[2]),
                  .number = static_cast<std::uint16_t>(numbers[1])};
  }
  return wrong();
}

}  // namespace

std::string way_text(const std::vector<Action>& way) {
  std::string text;
  for (const Action& action : way) {
    if (!text.empty()) text += ' ';
    text += name_of(action.kind);
    text += "." + std::to_string(action.host);
    if (action.number != 0 || action.part != 0) text += "." + std::to_string(action.number);
    if (action.part != 0) text += "." + std::to_string(action.part);
  }
  return text;
}

Result<std::vector<Action>> parse_way(std::string_view text) {
  std::vector<Action> way;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \n\r\t");
    if (begin == std::string_view::npos) return way;
    text.remove_prefix(begin);
    const std::size_t length = std::min(text.find_first_of(" \n\r\t"), text.size());
    LARDER_TRY(const Action action, parse_action(text.substr(0, length)));
    way.push_back(action);
    text.remove_prefix(length);
  }
}

}  // namespace larder::sim
