#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Processes that a benchmark starts.
namespace larder::bench {

// A child process whose output is read line by line. Ends with this one.
class Process {
 public:
  explicit Process(const std::vector<std::string>& command) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    id_ = ::fork();
    if (id_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      std::vector<char*> arguments;
      for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
  }
  ~Process() {
    end(SIGTERM);
    std::fclose(output_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Sends the signal, if it lives, and waits for its end.
  void end(int signal) {
    if (id_ == -1) return;
    ::kill(id_, signal);
    ::waitpid(std::exchange(id_, -1), nullptr, 0);
  }
  std::string line() {
    char text[4096];
    if (std::fgets(text, sizeof(text), output_) == nullptr) {
      throw std::runtime_error("a child process ended without a word");
    }
    return text;
  }
  std::string rest() {
    std::string all;
    for (int c = 0; (c = std::fgetc(output_)) != EOF;) all.push_back(static_cast<char>(c));
    return all;
  }

 private:
  pid_t id_ = -1;
  std::FILE* output_ = nullptr;
};

// The program beside this one.
inline std::string larder() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "larder").string();
}

inline std::string endpoint_of(Process& server) {
  return nlohmann::json::parse(server.line()).at("endpoint").get<std::string>();
}

}  // namespace larder::bench
