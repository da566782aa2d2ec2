#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace larder::sim {

inline const std::string sample = "workloads/samples/sessions.jsonl";

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline std::size_t lines_of(const std::filesystem::path& path) {
  const std::string text = text_of(path);
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// A small deployment, over the shipped sample; a node holds some of it. What `more` says of a flag
// stands in place of that.
inline std::vector<std::string> small(const std::string& command,
                                      const std::vector<std::string>& more) {
  std::vector<std::string> arguments{command, sample};
  for (const auto& [flag, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"--model", "llama-3.1-8b"},
                                                                  {"--hosts", "2"},
                                                                  {"--engines", "2"},
                                                                  {"--gpus-per-engine", "1"},
                                                                  {"--host-memory", "128GiB"},
                                                                  {"--nodes", "2"},
                                                                  {"--memory-per-node", "8GiB"}}) {
    if (std::ranges::find(more, flag) != more.end()) continue;
    arguments.emplace_back(flag);
    arguments.emplace_back(value);
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace larder::sim
