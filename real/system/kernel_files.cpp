#include "real/system/kernel_files.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace larder::real {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) lines.push_back(std::move(line));
  return lines;
}

std::string text_of(const fs::path& path) {
  const auto lines = lines_of(path);
  return lines.empty() ? "" : lines.front();
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator each(directory, error); !error && each != fs::directory_iterator();
       each.increment(error)) {
    names.push_back(each->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  std::string word;
  while (stream >> word) words.push_back(std::move(word));
  return words;
}

std::string behind_colon(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

}  // namespace larder::real
