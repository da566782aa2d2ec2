#include "sim/report/script_page.h"

#include <fmt/format.h>

#include "sim/report/scripts.h"
#include "sim/report/style.h"

namespace larder::sim {
namespace {

// Only its end tag can leave a script element.
std::string held(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string script_page(const ScriptPage& page) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<title>{0}</title>\n<style>{1}</style></head>\n"
      "<body><main>\n<h1>{0}</h1>\n<p class=\"lead\"></p>\n"
      "<noscript><p>A script draws this page, and scripts are switched off.</p></noscript>\n"
      "<footer>{2}</footer>\n</main>\n",
      page.title, page_style(), page.footer);
  for (const PageElement& element : page.elements) {
    html += fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", element.id,
                        held(element.json));
  }
  return html +
         fmt::format("<script>\n'use strict';\n(() => {{{}{}}})();\n</script>\n</body></html>\n",
                     script_tools(), page.script);
}

}  // namespace larder::sim
