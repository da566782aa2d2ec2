#pragma once

#include <span>
#include <string>
#include <string_view>

namespace larder::sim {

// JSON for a script to read: the text of an element with this id.
struct PageElement {
  std::string_view id;
  std::string_view json;
};

struct ScriptPage {
  std::string_view title;   // until the script knows better
  std::string_view footer;  // both as they are
  std::span<const PageElement> elements;
  std::string_view script;  // runs behind script_tools()
};

// An HTML page that a script draws. It asks no network for anything, and its content security
// policy forbids it to; without scripts it says so. No text of the JSON can end its element.
std::string script_page(const ScriptPage& page);

}  // namespace larder::sim
